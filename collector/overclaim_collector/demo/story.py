"""What the store knows about the demo's runs: verdicts and calls with their evidence, beside the agents' words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from overclaim.outcome.model import Verdict
from overclaim_detectors.sql import load
from overclaim_detectors.store import Store


@dataclass(frozen=True, slots=True)
class Told:
    """What an agent told its user, handed over by its process, and the trace of the run (32 hex digits)."""

    agent: str
    said: str
    trace_id: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One piece of evidence. request: such as "POST /v1/refunds", "" where no HTTP span shows it."""

    rule: str
    value: str
    outcome: str
    request: str


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: what the tool told the agent, what was observed, and the evidence."""

    span_id: str
    tool: str
    operation: str
    claimed: str
    observed: str
    evidence: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """One run: the agent's words, the verdict, and the calls that show it, oldest first.

    action: what was claimed, such as "verify", where it is known. red: how many of its spans have the status Error.
    shown: the calls that the verdict rests on, and earlier attempts at the same; empty where no call shows the claim.
    """

    told: Told
    verdict: Verdict
    rule: str
    action: str
    red: int
    calls: tuple[Call, ...]
    shown: tuple[Call, ...]


def waiting(store: Store, told: Sequence[Told]) -> int:
    """How many of those runs have no verdict yet that rests on all their spans."""
    if store.query(load("doctor/lag")).dicts()[0]["Arrivals"]:
        return len(told)
    return len(told) - len(_rows(store, "report/demo_runs", told))


def read(store: Store, told: Sequence[Told]) -> list[Story]:
    """The stories of all runs that have a verdict, in the order in which the agents worked."""
    runs = {row["trace_id"]: row for row in _rows(store, "report/demo_runs", told)}
    calls = _calls(_rows(store, "report/demo_calls", told))
    return [_story(one, runs[one.trace_id], calls.get(one.trace_id, ())) for one in told if one.trace_id in runs]


def _rows(store: Store, query: str, told: Sequence[Told]) -> list[dict[str, Any]]:
    return store.query(load(query), {"traces": [one.trace_id for one in told]}).dicts()


def _calls(rows: list[dict[str, Any]]) -> dict[str, tuple[Call, ...]]:
    by_trace = groupby(rows, key=lambda row: row["trace_id"])
    return {trace: tuple(_call(list(facts)) for _, facts in groupby(found, _place)) for trace, found in by_trace}


def _place(row: dict[str, Any]) -> tuple[int, str]:
    return row["position"], row["span_id"]


def _call(rows: list[dict[str, Any]]) -> Call:
    first = rows[0]
    facts = tuple(Fact(row["rule"], row["value"], row["outcome"], _request(row)) for row in rows if row["rule"])
    return Call(first["span_id"], first["tool"], first["operation"], first["claimed"], first["observed"], facts)


def _request(row: dict[str, Any]) -> str:
    return f"{row['method']} {row['path']}" if row["method"] else ""


def _story(told: Told, run: dict[str, Any], calls: tuple[Call, ...]) -> Story:
    operations = {call.operation for call in calls if call.span_id in run["call_span_ids"]}
    shown = tuple(call for call in calls if call.operation in operations)
    return Story(told, Verdict(run["verdict"]), run["rule"], run["claimed_action"], run["red"], calls, shown)
