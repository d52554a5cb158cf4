"""The spans of one trace as a tree, cut into the runs of agents.

Nothing here depends on the order in which the spans came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from overclaim import _attributes as names
from overclaim.reading.dialects import Role, role_of
from overclaim.reading.spans import Span

_WORK = (Role.TOOL, Role.CLAIM)


@dataclass(slots=True)
class Group:
    """The spans of one run, by end time. root: its agent span, or else the outermost span that arrived."""

    id: str
    root: Span | None
    spans: list[Span] = field(default_factory=list[Span])


class Tree:
    """Parents, children and roles of the spans of one trace, each span once."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = sorted(spans, key=lambda span: (span.end_ns, span.start_ns, span.span_id))
        self.by_id = {span.span_id: span for span in self.spans}
        self.roles = {span.span_id: role_of(span) for span in self.spans}
        self.children: dict[str, list[Span]] = {}
        for span in self.spans:
            self.children.setdefault(span.parent_span_id, []).append(span)

    def role(self, span: Span) -> Role:
        """Return what the span stands for."""
        return self.roles[span.span_id]

    def above(self, span: Span) -> Iterator[Span]:
        """Yield the ancestors of a span that arrived, nearest first."""
        seen = {span.span_id}
        parent = self.by_id.get(span.parent_span_id)
        while parent is not None and parent.span_id not in seen:
            seen.add(parent.span_id)
            yield parent
            parent = self.by_id.get(parent.parent_span_id)

    def orphans(self) -> dict[str, list[Span]]:
        """Return the spans whose parent did not arrive, by that parent's id."""
        return {parent: children for parent, children in self.children.items() if parent and parent not in self.by_id}

    def groups(self) -> list[Group]:
        """Cut the trace into runs: one for each outermost agent span, or else for each top that calls tools."""
        owners = self._owners()
        roots = {owner for owner in owners.values() if owner}
        if len(roots) == 1:  # what stands beside the only run is taken for a part of it
            owners = dict.fromkeys(owners, *roots)
        tops = self._tops() if len(roots) != 1 else {}
        groups: dict[str, Group] = {}
        for span in self.spans:
            id = owners[span.span_id] or tops[span.span_id]
            groups.setdefault(id, Group(id, self.by_id.get(id))).spans.append(span)
        kept = (group for group in groups.values() if group.id in roots or self._works(group))
        return sorted(kept, key=lambda group: (group.spans[0].start_ns, group.id))

    def _works(self, group: Group) -> bool:
        return any(self.role(span) in _WORK for span in group.spans)

    def _owners(self) -> dict[str, str]:
        """Return for each span the id of its run: as labelled, or its outermost agent span, or ""."""
        owners: dict[str, str] = {}
        for span in self._from_the_top():
            labelled = str(span.attributes.get(names.RUN_SPAN_ID) or "")
            inherited = owners.get(span.parent_span_id, "")
            own = span.span_id if self.role(span) is Role.AGENT else ""
            owners[span.span_id] = labelled or inherited or own
        return owners

    def _tops(self) -> dict[str, str]:
        """Return for each span its outermost ancestor: the missing parent where that had several children."""
        tops: dict[str, str] = {}
        for span in self._from_the_top():
            siblings = self.children[span.parent_span_id]
            lost = span.parent_span_id not in self.by_id and span.parent_span_id and len(siblings) > 1
            own = span.parent_span_id if lost else span.span_id
            tops[span.span_id] = tops.get(span.parent_span_id, own)
        return tops

    def _from_the_top(self) -> Iterator[Span]:
        """Yield parents before children; a ring of parents is cut at its first span."""
        seen: set[str] = set()
        tops = [span for span in self.spans if span.parent_span_id not in self.by_id]
        for start in (*tops, *self.spans):
            waiting = [start]
            while waiting:
                span = waiting.pop()
                if span.span_id not in seen:
                    seen.add(span.span_id)
                    yield span
                    waiting += self.children.get(span.span_id, ())
