"""What a report says in words below its rows: what it leaves out, and what its rows stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overclaim_detectors.store import Rows


def noticed(counts: Mapping[str, int], every: bool = False) -> str:
    """How many failures somebody noticed, so that report/silent leaves them out."""
    one, many = "failure that somebody noticed is", "failures that somebody noticed are"
    number = 0 if every else counts["Noticed"]
    return f"{count(number, one, many)} left out: --all." if number else ""


def unpaired(counts: Mapping[str, int], every: bool = False) -> str:
    """What only one of two windows has, so that report/compare leaves it out."""
    new = _agents_and_tools(counts["NewAgents"], counts["NewTools"])
    lost = _agents_and_tools(counts["LostAgents"], counts["LostTools"])
    parts = [f"New, with nothing to compare with yet: {new}."] if new else []
    parts += [f"No longer seen: {lost}."] if lost else []
    return " ".join([*parts, "All rows: --all."]) if parts and not every else ""


def quiet(counts: Mapping[str, Any], every: bool = False) -> str:
    """What of behaviour is quiet, how much would have been seen, and what could not be judged yet, in words.

    every: the drifts that are too small, or part of another, stand above.
    """
    left = 0 if every else counts["Parts"] + counts["Small"]
    if not any((counts["Quiet"], counts["NotYet"], left)):
        return ""
    parts = [f"Quiet: {count(counts['Quiet'], 'stream', 'streams')} of behaviour."]
    if counts["Quiet"] > counts["Blind"]:
        low, high = counts["Smallest"], counts["Largest"]
        parts.append(f"Within a week they show changes from {low} to {high} points on.")
    if blind := counts["Blind"]:
        parts.append(f"Too few runs in a week to show any change: {blind}.")
    if not_yet := counts["NotYet"]:
        more = ", ..." if not_yet > len(counts["Lacking"]) else ""
        parts.append(f"Not judged yet: {not_yet} ({', '.join(counts['Lacking'])}{more}).")
    if left:
        parts.append(f"{count(left, 'drift', 'drifts')} too small to matter, or part of another: --all.")
    return " ".join(parts)


def shared_ground(rows: Rows) -> str:
    """How many claims the rows of report/claims stand for, where that is more: detect counts claims."""
    claims = sum(row["Claims"] for row in rows.dicts())
    if claims == len(rows.rows):
        return ""
    shown = count(len(rows.rows), "row", "rows")
    return f"{shown} for {claims} claims: those of a run that are accused on the same ground share one."


def cut(found: int, shown: int, most: int) -> str:
    """How many rows are not shown. most: so many were looked for beyond those shown."""
    more = found - shown
    if more <= 0:
        return ""
    known = f"{more} more" if more < most else f"{most} more, at least,"
    return f"{known} {'row is' if more == 1 else 'rows are'} left out: --rows {found}."


def count(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"


def _agents_and_tools(agents: int, tools: int) -> str:
    parts = [count(agents, "agent", "agents")] if agents else []
    return " and ".join([*parts, *([count(tools, "tool", "tools")] if tools else [])])
