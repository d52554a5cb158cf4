"""The spans of a trace in the order of a tree, each with its place in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

WIDTH: Final = 1000  # of the time of all spans, in units of the drawing
_NARROWEST: Final = 2.0  # so that what took no time can be seen
_DEEPEST: Final = 12  # levels that are drawn further to the right

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bar:
    """A span as it is drawn. x, width: of WIDTH. depth: below how many others. call: its row, of a tool call."""

    span: Row
    depth: int
    x: float
    width: float
    call: Row | None = None


def bars(spans: Sequence[Row], calls: Mapping[str, Row]) -> list[Bar]:
    """The spans, each below its parent, siblings in the order of their start. calls: tool calls by their span."""
    if not spans:
        return []
    first = min(span["Start"] for span in spans)
    whole = max(1, max(span["Start"] + span["Duration"] for span in spans) - first)
    return [_bar(span, depth, first, whole, calls) for span, depth in _in_order(spans)]


def _bar(span: Row, depth: int, first: int, whole: int, calls: Mapping[str, Row]) -> Bar:
    width = max(_NARROWEST, WIDTH * span["Duration"] / whole)
    x = min(WIDTH * (span["Start"] - first) / whole, WIDTH - width)
    return Bar(span, min(depth, _DEEPEST), round(max(0.0, x), 1), round(width, 1), calls.get(span["SpanId"]))


def _in_order(spans: Sequence[Row]) -> Iterator[tuple[Row, int]]:
    """Each span once, with its depth; those in a circle of parents begin trees of their own."""
    ordered = sorted(spans, key=lambda span: (span["Start"], span["SpanId"]))
    known = {span["SpanId"] for span in ordered}
    below: defaultdict[str, list[Row]] = defaultdict(list)
    for span in ordered:
        below[span["ParentSpanId"]].append(span)
    done = set[str]()
    roots = [span for span in ordered if span["ParentSpanId"] not in known]
    for root in [*roots, *ordered]:
        waiting = [(root, 0)]
        while waiting:
            span, depth = waiting.pop()
            if span["SpanId"] not in done:
                done.add(span["SpanId"])
                yield span, depth
                waiting += [(child, depth + 1) for child in reversed(below[span["SpanId"]])]
