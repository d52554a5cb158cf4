"""Spans to runs that can be judged: from OTLP files, from a store, from any instrumentor.

The runs are the same for any order and any duplication of the spans.
"""

from __future__ import annotations

from collections.abc import Iterable

from overclaim import _attributes as names
from overclaim._json import text, whole
from overclaim.outcome.model import Run
from overclaim.outcome.tool_rules import NO_RULES, ToolRules
from overclaim.reading.dialects import WATCHING_SCOPES, Role, agent_name
from overclaim.reading.message_events import lifted
from overclaim.reading.span_calls import calls_of
from overclaim.reading.span_claims import Claimed, claims_of
from overclaim.reading.span_tree import Group, Tree
from overclaim.reading.spans import Event, Link, Span

__all__ = ["Event", "Link", "Span", "runs"]


def runs(spans: Iterable[Span], rules: ToolRules = NO_RULES) -> list[Run]:
    """Build the runs that the spans of any number of traces hold, by trace and then by start.

    rules: what is expected of tools. It holds for the spans of other instrumentors; ours were labelled where they
    were made, with the expectations that were in force there.
    """
    traces: dict[str, dict[str, Span]] = {}
    for span in spans:
        seen = traces.setdefault(span.trace_id, {})
        known = seen.get(span.span_id)
        seen[span.span_id] = span if known is None else max(known, span, key=_fullness)
    return [run for _, found in sorted(traces.items()) for run in _trace(Tree(map(lifted, found.values())), rules)]


def _fullness(span: Span) -> tuple[int, int, str]:
    """Order copies of one span that differ; the fullest is taken, whichever came first."""
    return span.end_ns, len(span.attributes) + len(span.events), repr(span)


def _trace(tree: Tree, rules: ToolRules) -> list[Run]:
    return [_run(tree, group, rules) for group in tree.groups()]


def _run(tree: Tree, group: Group, rules: ToolRules) -> Run:
    calls = calls_of(tree, group, rules)
    claimed = claims_of(tree, group, calls)
    gaps = [*_lost(tree, group), *_unsaid(claimed)]
    trace_id = group.spans[0].trace_id
    return Run(
        id=_run_id(group) or f"{trace_id}/{group.id}",
        calls=tuple(made.call for made in calls),
        claims=claimed.claims,
        claimed=claimed.outcome,
        captured=_watched(tree, group),
        complete=not gaps,
        agent=_agent(group),
        trace_id=trace_id,
        span_id=group.id,
        gaps=tuple(gaps),
        service=(group.root or group.spans[0]).service,
    )


def _unsaid(claimed: Claimed) -> list[str]:
    """Name what is not known of what was said."""
    raced = ["claimed_during_a_call"] if claimed.raced else []
    return raced if claimed.known else [*raced, "no_final_message"]


def _run_id(group: Group) -> str:
    return next((id for span in group.spans if (id := text(span.attributes.get(names.RUN_ID)))), "")


def _agent(group: Group) -> str:
    return agent_name(group.root) if group.root else ""


def _watched(tree: Tree, group: Group) -> bool:
    """Whether a tool call of this run would have shown: a tool span did, or its instrumentor makes one for each.

    Where our SDK made or labelled the agent span it knows: it counts the calls, or leaves the count off.
    """
    if _concluded(group):
        return group.root is not None and names.RUN_CALLS in group.root.attributes
    if any(tree.role(span) is Role.TOOL or names.RUN_SPAN_ID in span.attributes for span in group.spans):
        return True
    return group.root is not None and group.root.scope.startswith(WATCHING_SCOPES)


def _lost(tree: Tree, group: Group) -> list[str]:
    """Name what of the run did not arrive."""
    gaps: list[str] = []
    if group.root is None:
        gaps.append("agent_span_missing")
    else:
        declared = whole(group.root.attributes.get(names.RUN_SPANS))
        if declared is None and _concluded(group):
            gaps.append("spans_not_counted")
        if declared is not None and _received(group) < declared:
            gaps.append("spans_missing")
    if _orphaned(tree, group):
        gaps.append("parent_missing")
    if _unlinked(tree, group):
        gaps.append("linked_span_missing")
    if any(span.dropped for span in group.spans):
        gaps.append("data_dropped")
    return gaps


def _concluded(group: Group) -> bool:
    """Whether our SDK saw the agent span end: it rolls the run up on it."""
    root = group.root.attributes if group.root else {}
    return names.RUN_ID in root and (names.CLAIMED_OUTCOME in root or names.RUN_SPANS in root)


def _received(group: Group) -> int:
    """Count what the run's own process made; spans of remote services carry no mark of the run."""
    return sum(span.attributes.get(names.RUN_SPAN_ID) == group.id or span is group.root for span in group.spans)


def _orphaned(tree: Tree, group: Group) -> bool:
    """Whether a parent is missing other than the caller of the whole trace, which may be recorded elsewhere."""
    inside = {span.span_id for span in group.spans}
    top = next(reversed([*tree.above(group.root)]), group.root) if group.root else None
    caller = top.parent_span_id if top else group.id
    return any(
        parent != caller and any(span.span_id in inside for span in children)
        for parent, children in tree.orphans().items()
    )


def _unlinked(tree: Tree, group: Group) -> bool:
    """Whether a claim is about a span that did not arrive."""
    linked = {
        link.span_id
        for span in group.spans
        if tree.role(span) is Role.CLAIM
        for link in span.links
        if link.trace_id == span.trace_id
    }
    return not linked <= tree.by_id.keys()
