"""Markdown tables, and the rates that stand in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def part(flags: Iterable[bool]) -> str:
    """Return how many of the flags are set, as k/n; a dash where there is none."""
    seen = list(flags)
    return f"{sum(seen)}/{len(seen)}" if seen else "-"
