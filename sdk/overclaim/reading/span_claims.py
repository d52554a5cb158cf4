"""What the agent of a run claimed: its `overclaim.claim` spans, or else its final message on any span."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from overclaim import _attributes as names
from overclaim._json import strings, text
from overclaim._known_tools import lacks_call
from overclaim.outcome.binding.binder import bind
from overclaim.outcome.binding.voice import wanted
from overclaim.outcome.claims.asked_states import as_asked
from overclaim.outcome.claims.reading import read as read_claims
from overclaim.outcome.model import BoundClaim, Call, Claim, Evidence, Grade, Outcome, Quantity, Reading
from overclaim.outcome.unread import Late, Unread
from overclaim.reading.dialects import TASK_ANSWER, Role, answer_of, asked_by_user
from overclaim.reading.span_calls import TraceCall
from overclaim.reading.span_tree import Group, Tree
from overclaim.reading.spans import Span

_COUNTS = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claims of a run and their roll-up. known: whether anything said what the agent told its user.

    raced: whether a claim without a call was bound while calls were open, none of which it is plainly about.
    """

    claims: tuple[BoundClaim, ...] = ()
    outcome: Outcome = Outcome.NONE
    known: bool = False
    raced: bool = False


def claims_of(tree: Tree, group: Group, calls: Sequence[TraceCall]) -> Claimed:
    """Read the claims of a run and say which calls each is about."""
    spans = [span for span in group.spans if tree.role(span) is Role.CLAIM]
    root = group.root.attributes if group.root else {}
    label = root.get(names.CLAIMED_OUTCOME)
    if spans or (label and names.CLAIMED_SOURCE in root):  # without a source the SDK has seen no answer
        places = {id: made.call.index for made in calls for id in made.span_ids}
        ordered = sorted(spans, key=lambda span: (span.start_ns, span.span_id))
        claims = tuple(_from_span(span, places) for span in ordered)
        starts = {span.span_id: span.start_ns for span in ordered}
        claims, raced = _rebound(tree, claims, starts, calls)
        said = {bound.claim.outcome for bound in claims}
        rolled = said.pop() if len(said) == 1 else Outcome.PARTIAL if said else Outcome.NONE
        return Claimed(claims, _outcome(label) if label else rolled, known=True, raced=raced)
    return _from_text(tree, group, calls)


def _from_span(span: Span, places: Mapping[str, int]) -> BoundClaim:
    """Read a claim. places: the numbers of the calls by the ids of the spans that stand for them."""
    about = tuple(sorted({places[link.span_id] for link in span.links if link.span_id in places}))
    attributes = span.attributes
    action, targets = text(attributes.get(names.CLAIM_ACTION)), strings(attributes.get(names.CLAIM_TARGETS))
    claim = Claim(
        outcome=_outcome(attributes.get(names.CLAIM_OUTCOME)),
        action=action,
        targets=targets,
        quantity=_quantity(attributes.get(names.CLAIM_QUANTITY)),
        generic=not action and not targets,
        text=text(attributes.get(names.CLAIM_TEXT)),
        source=text(attributes.get(names.CLAIMED_SOURCE)) or "final_message",
    )
    return BoundClaim(claim, about, _mismatch(span), span.span_id)


def _rebound(
    tree: Tree, claims: Sequence[BoundClaim], starts: Mapping[str, int], calls: Sequence[TraceCall]
) -> tuple[tuple[BoundClaim, ...], bool]:
    """Bind claims without a call to calls that ended after them and that no claim is about: they were still open.

    Also says whether such a claim found none while a call was open, so that its lack of one means nothing.
    """
    taken = {index for bound in claims for index in bound.about}
    late = [made for made in calls if made.call.index not in taken]
    found: list[BoundClaim] = []
    raced = False
    for bound in claims:
        after = [made for made in late if _end(tree, made) > starts[bound.span_id]] if lacks_call(bound) else []
        about = _about(bound.claim, [made.compared for made in after])
        raced = raced or (not about and any(_start(tree, made) < starts[bound.span_id] for made in after))
        found.append(replace(bound, about=about) if about else bound)
    return tuple(found), raced


def _about(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    return bind(Reading(claim.outcome, (claim,)), calls)[0].about if calls else ()


def _start(tree: Tree, made: TraceCall) -> int:
    return tree.by_id[made.call.span_id].start_ns


def _end(tree: Tree, made: TraceCall) -> int:
    return tree.by_id[made.call.span_id].end_ns


def _mismatch(span: Span) -> Evidence | None:
    kinds, rules, values, ids = (
        strings(span.attributes.get(name))
        for name in (names.EVIDENCE_KIND, names.EVIDENCE_RULE, names.EVIDENCE_VALUE, names.EVIDENCE_SPAN_IDS)
    )
    for place, kind in enumerate(kinds):
        if kind == "mismatch":
            rule, value, id = (column[place] if place < len(column) else "" for column in (rules, values, ids))
            return Evidence(kind, rule, Outcome.FAILURE, Grade.INFERRED, value, span_id=id)
    return None


def _quantity(value: object) -> Quantity | None:
    """Read "3", "3/5" or "all"."""
    said = str(value or "")
    counts = [int(count) for count in _COUNTS.findall(said)[:2]]
    if not said:
        return None
    count, total = [*counts, None, None][:2]
    return Quantity(count, total, everything="all" in said.lower())


def _outcome(value: object) -> Outcome:
    try:
        return Outcome(text(value))
    except ValueError:
        return Outcome.NONE


def _from_text(tree: Tree, group: Group, calls: Sequence[TraceCall]) -> Claimed:
    answer = _answer(tree, group)
    if not answer:
        return Claimed()
    texts = asked_by_user(group.root.attributes) if group.root else ()
    wants = Late(lambda: wanted(texts))
    reading = as_asked(read_claims([answer]), wants)
    if not reading.claims:
        return Claimed((), reading.outcome, known=True)
    readable = [replace(made.call, operation=made.readable, mentions=made.mentions) for made in calls]
    bound = bind(reading, readable, asked=Unread(*texts), wants=wants)
    return Claimed(bound, reading.outcome, known=True)


def _answer(tree: Tree, group: Group) -> str:
    """Return the final message: from the agent span, from the last model call outside any tool, or the last step."""
    if group.root and (said := answer_of(group.root.attributes)):
        return said
    models = [span for span in group.spans if tree.role(span) is Role.MODEL and not _inside_tool(tree, span)]
    said = answer_of(models[-1].attributes) if models else ""
    return said or _last_step(tree, group)


def _last_step(tree: Tree, group: Group) -> str:
    """Return what the last agent inside came to, or else the last step of an agent whose instrumentor has such."""
    outside = [span for span in reversed(group.spans) if not _inside_tool(tree, span)]
    agents = [span for span in outside if tree.role(span) is Role.AGENT]
    around = {span.span_id for span in agents}
    steps = (span for span in outside if tree.role(span) is Role.OTHER and span.parent_span_id in around)
    told = (
        *(answer_of(span.attributes) for span in agents),
        *(answer_of(span.attributes, TASK_ANSWER) for span in steps),
    )
    return next(filter(None, told), "")


def _inside_tool(tree: Tree, span: Span) -> bool:
    return any(tree.role(outer) is Role.TOOL for outer in tree.above(span))
