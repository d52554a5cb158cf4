"""Tool spans to calls. Several spans that stand for one call (client, transport, server) become one."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile

from overclaim import _attributes as names
from overclaim._hashing import labelled_action
from overclaim._json import strings, text, whole
from overclaim.outcome.expected import said
from overclaim.outcome.model import NO_FACTS, Call, Effect, Evidence, Grade, Observation, Operation, Outcome, ToolFacts
from overclaim.outcome.operations import operation
from overclaim.outcome.pending import settled
from overclaim.outcome.results.observing import decide, exit_evidence, observe
from overclaim.outcome.rule_outcomes import grade_of_fact, outcome_of_fact
from overclaim.outcome.tool_rules import NO_RULES, ToolRules
from overclaim.outcome.unread import Unread
from overclaim.reading.chat_messages import is_withheld
from overclaim.reading.dialects import (
    CALL_ID,
    MCP_METHOD,
    RESULT,
    TOOL_DESCRIPTION,
    Role,
    arguments_of,
    first,
    has,
    marked_failed,
    result_of,
    tool_name,
)
from overclaim.reading.span_evidence import below, error_shown, error_type, evidence_below, exception_shown, noted
from overclaim.reading.span_tree import Group, Tree
from overclaim.reading.spans import Span, kind_name

_BESIDE = "swallowed_exception"
_GRADES = {grade.label: grade for grade in Grade}


@dataclass(frozen=True, slots=True)
class TraceCall:
    """A call, its operation in readable form (the call's own may be hashes), and all spans that stand for it.

    mentions: of its arguments and its result.
    """

    call: Call
    readable: Operation
    span_ids: frozenset[str] = frozenset()
    mentions: Set[str] = frozenset()

    @property
    def compared(self) -> Call:
        """The call with what it mentions, to be compared with others and with claims."""
        return replace(self.call, mentions=self.mentions)


def calls_of(tree: Tree, group: Group, rules: ToolRules = NO_RULES) -> list[TraceCall]:
    """Return the calls of a run, numbered in the order in which they ended."""
    made = [_call(tree, index, members, rules) for index, members in enumerate(_one_per_call(tree, group))]
    if all(one.call.observed.outcome is not Outcome.PENDING for one in made):
        return made
    calls = settled(one.compared for one in made)
    return [replace(one, call=replace(call, mentions=frozenset())) for one, call in zip(made, calls, strict=True)]


def _one_per_call(tree: Tree, group: Group) -> list[list[Span]]:
    """Return the spans of each call, the one that stands for it first; calls by the end of that one."""
    heads: dict[str, Span] = {}
    members: dict[str, list[Span]] = {}
    by_id: dict[str, deque[Span]] = {}
    tools = [span for span in group.spans if tree.role(span) is Role.TOOL]
    for span in sorted(tools, key=lambda span: (_again(span), span.start_ns, -span.end_ns, span.span_id)):
        # Clocks of two machines differ: a parent that seems to start later has no head yet.
        inside = takewhile(lambda one: tree.role(one) is not Role.AGENT, tree.above(span))  # a sub-agent calls anew
        outer = next((one for one in inside if one.span_id in heads or _again(one)), None)
        head = _head(outer, heads) if outer and _same(outer, span) else None
        head = head or heads.get(text(span.attributes.get(names.CALL_SPAN_ID))) or _twin(span, by_id)
        head = heads[span.span_id] = head or span
        members.setdefault(head.span_id, []).append(span)
        known = by_id.setdefault(_call_id(span), deque())
        if not known or known[-1] is not head:
            known.append(head)
    grouped = [_labelled_first(spans) for spans in members.values()]
    return sorted(grouped, key=lambda spans: (spans[0].end_ns, spans[0].start_ns, spans[0].span_id))


def _labelled_first(spans: list[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: names.OBSERVED_OUTCOME not in span.attributes)


def _head(span: Span, heads: Mapping[str, Span]) -> Span | None:
    """Return the span that stands for the call of this one, which may still be to come where our SDK named it."""
    return heads.get(span.span_id) or heads.get(text(span.attributes.get(names.CALL_SPAN_ID)))


def _again(span: Span) -> bool:
    """Whether our SDK saw that another span stands for the same call; those come last."""
    return names.CALL_SPAN_ID in span.attributes


def _call_id(span: Span) -> str:
    return text(first(span.attributes, CALL_ID))


def _same(outer: Span, span: Span) -> bool:
    """Whether a tool span under another one is the same call seen again."""
    around, name = tool_name(outer), tool_name(span)
    prefixed = MCP_METHOD in span.attributes and around.endswith(f"_{name}")  # as frameworks name the tools of servers
    return around == name or prefixed or bool(_call_id(span) and _call_id(outer) == _call_id(span))


def _twin(span: Span, by_id: Mapping[str, deque[Span]]) -> Span | None:
    """Return the call that another instrumentor recorded beside this span: same id, same tool, at the same time."""
    known = by_id.get(_call_id(span)) if _call_id(span) else None
    while known and known[0].end_ns <= span.start_ns:  # spans come by their start, so this one is over for all others
        known.popleft()
    known = known or ()
    return next((head for head in known if _same(head, span) and head.end_ns > span.start_ns), None)


def _call(tree: Tree, index: int, members: list[Span], rules: ToolRules) -> TraceCall:
    head, name = members[0], tool_name(members[0])
    facts = rules.facts(name) if rules else NO_FACTS
    arguments = next((found for span in members if (found := arguments_of(span.attributes)) is not None), None)
    result, dumped_error = _result(members)
    description = text(first(head.attributes, TOOL_DESCRIPTION))
    readable = operation(name, arguments, facts=facts, description=description)
    labelled = names.OBSERVED_OUTCOME in head.attributes
    inside = below(tree, members)
    if labelled:
        observed = _labelled(head, _remote(tree, head, inside))
        told = _outcome(head, names.CLAIMED_OUTCOME)
    else:
        children = [*noted(tree, [*members, *inside]), *evidence_below(tree, inside, facts)]
        observed = _observe(members, result, dumped_error, readable, children, arguments, facts)
        told = _told(observed, head)
    call = Call(
        index=index,
        tool=name,
        operation=_hashed(head, readable) if labelled else readable,
        observed=observed,
        claimed=told,
        id=_call_id(head) or None,
        span_id=head.span_id,
    )
    return TraceCall(call, readable, frozenset(span.span_id for span in members), Unread(arguments, result))


def _result(members: Sequence[Span]) -> tuple[object, bool | None]:
    holder = next((span for span in members if has(span.attributes, RESULT)), None)
    return result_of(holder.attributes) if holder else (None, None)


def _observe(
    members: Sequence[Span],
    result: object,
    dumped_error: bool | None,
    what: Operation,
    children: list[Evidence],
    arguments: object,
    facts: ToolFacts,
) -> Observation:
    head, *inner = members
    failed = _failed(head)
    observed = observe(
        result,
        is_error=True if failed or dumped_error else None,
        facts=facts,
        error_text=_error_text(head) if failed else None,
        effect=what.effect,
        extra=[*children, *_own_evidence(head, failed, facts), *_inner_failures(inner)],
        captured=any(has(span.attributes, RESULT) for span in members) and not is_withheld(result),
        tool=tool_name(head),
        arguments=arguments,
    )
    if all(one.span_id for one in observed.evidence):
        return observed
    evidence = (one if one.span_id else replace(one, span_id=head.span_id) for one in observed.evidence)
    return replace(observed, evidence=tuple(evidence))


def _failed(span: Span) -> bool:
    """A deferred call waits for somebody's approval; its error is only how it left the loop."""
    if "pydantic_ai.tool.deferral.name" in span.attributes:
        return False
    return span.failed or bool(span.attributes.get(names.ERROR_TYPE)) or marked_failed(span.attributes)


def _error_text(span: Span) -> str | None:
    return (span.exception[1] if span.exception else "") or span.status_message or None


def _own_evidence(head: Span, failed: bool, facts: ToolFacts) -> list[Evidence]:
    code = whole(head.attributes.get("process.exit.code"))
    found = [] if code is None else [exit_evidence(code, span_id=head.span_id, facts=facts)]
    if failed and error_type(head):
        found.append(exception_shown(head))
    return found


def _inner_failures(inner: Sequence[Span]) -> list[Evidence]:
    """Return the failures that a nested span of the same call saw, unless a later attempt went well."""
    last = {kind_name(span.kind): span for span in sorted(inner, key=lambda span: (span.end_ns, span.span_id))}
    return [
        Evidence(
            "span_status", "span.status_error", Outcome.FAILURE, Grade.STRUCTURED,
            error_shown(span), tool_name(span), span.span_id,
        )
        for span in last.values()
        if _failed(span)
    ]  # fmt: skip


def _told(observed: Observation, head: Span) -> Outcome:
    if (read := said(observed)) is not None:
        return read
    own = [one.outcome for one in observed.evidence if one.span_id == head.span_id and one.kind != "declared"]
    return next((told for told in (Outcome.FAILURE, Outcome.PENDING) if told in own), Outcome.SUCCESS)


def _remote(tree: Tree, head: Span, inside: Sequence[Span]) -> list[Evidence]:
    """Return what other services saw: our SDK in the agent's process cannot have known it.

    What they saw in a request that failed beside the tool's work, as the SDK found, was beside the work as well.
    """
    elsewhere = [span for span in inside if span.service != head.service or span.serves]
    if not elsewhere:
        return []
    shown = zip(
        strings(head.attributes.get(names.EVIDENCE_KIND)), strings(head.attributes.get(names.EVIDENCE_SPAN_IDS)),
        strict=False,
    )  # fmt: skip
    beside = {span_id for kind, span_id in shown if kind == _BESIDE} - {head.span_id, ""}
    return evidence_below(
        tree, [span for span in elsewhere if not any(outer.span_id in beside for outer in tree.above(span))]
    )


def _labelled(head: Span, remote: list[Evidence]) -> Observation:
    """Take the SDK's own labels, and let what other services saw speak beside them."""
    attributes = head.attributes
    outcome = _outcome(head, names.OBSERVED_OUTCOME)
    grade = _GRADES.get(text(attributes.get(names.OBSERVED_GRADE)), Grade.SUSPECT)
    columns = [strings(attributes.get(name)) for name in (names.EVIDENCE_KIND, names.EVIDENCE_RULE)]
    values = strings(attributes.get(names.EVIDENCE_VALUE))
    ids = strings(attributes.get(names.EVIDENCE_SPAN_IDS))
    observed = Observation(outcome, grade)
    evidence = [
        _fact(kind, rule, observed, _at(values, n), _at(ids, n) or head.span_id)
        for n, (kind, rule) in enumerate(zip(*columns, strict=False))
    ]
    if evidence and evidence[0].kind == "exception":  # what left the tool decided, not what the tool had declared
        evidence[1:] = [_undecided(one) if one.kind == "declared" else one for one in evidence[1:]]
    own = replace(observed, evidence=tuple(evidence))
    bad = [one for one in remote if one.outcome is Outcome.FAILURE and one.grade is Grade.STRUCTURED]
    if not bad or outcome is Outcome.FAILURE:
        return own
    return decide([*evidence, *bad], captured=outcome is not Outcome.UNKNOWN)


def _fact(kind: str, rule: str, observed: Observation, value: str, span_id: str) -> Evidence:
    """Return one fact of a label. Its outcome and grade are not on the span but follow from its rule and kind."""
    outcome = outcome_of_fact(kind, rule, observed.outcome)
    grade = grade_of_fact(kind, rule) or observed.grade
    if outcome is Outcome.FAILURE and observed.outcome is not Outcome.FAILURE:
        grade = Grade.SUSPECT  # it did not decide
    return Evidence(kind, rule, outcome, grade, value, "", span_id)


def _undecided(one: Evidence) -> Evidence:
    return replace(one, outcome=Outcome.UNKNOWN, grade=Grade.SUSPECT)


def _at(values: Sequence[str], place: int) -> str:
    return values[place] if place < len(values) else ""


def _outcome(span: Span, name: str) -> Outcome:
    try:
        return Outcome(text(span.attributes.get(name)))
    except ValueError:
        return Outcome.UNKNOWN


def _hashed(head: Span, readable: Operation) -> Operation:
    """Return the operation as the SDK labelled it: key and targets are hashes, the action stands before the key.

    The SDK has seen the arguments; the tool's name alone would often give another action.
    """
    effect, label = (text(head.attributes.get(name)) for name in (names.CALL_EFFECT, names.CALL_OPERATION))
    return replace(
        readable,
        action=labelled_action(label) if label else readable.action,
        key=label or readable.key,
        targets=strings(head.attributes.get(names.CALL_TARGETS)),
        effect=Effect(effect) if effect in set(Effect) else readable.effect,
    )
