"""Fleets made up for the drift tests: judged runs at any time, each of a known kind, put in as a pass leaves them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from overclaim_detectors.store import Store

MONDAY = 1_767_571_200  # 2026-01-05 00:00:00 UTC
HOUR, DAY = 3_600, 86_400
OPENS, OPEN = 6 * HOUR, 6 * HOUR  # when the shop opens, and for how long

RUNS = (
    "TraceId", "SpanId", "ServiceName", "Agent", "AgentVersion", "Model", "Started", "Ended", "Claimed", "Calls",
    "Complete", "Version", "Deleted",
)  # fmt: skip
CALLS = (
    "TraceId", "SpanId", "RunSpanId", "Position", "ServiceName", "Agent", "Tool", "Effect", "Targets", "Observed",
    "Grade", "EvidenceKind", "EvidenceValue", "EvidenceOutcome", "EvidenceGrade", "Started", "Duration", "Version",
    "Deleted",
)  # fmt: skip
VERDICTS = ("TraceId", "RunSpanId", "Claim", "ServiceName", "Agent", "Label", "Started", "Version", "Deleted")
FAILURES = (
    "TraceId", "RunSpanId", "SpanId", "ServiceName", "Agent", "Tool", "Observed", "Accused", "Started", "Version",
    "Deleted",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A run: when (Unix seconds), who, with which model, what it claimed, its verdict, and whether its write failed.

    looked: whether it read afterwards what it wrote. complete: whether all of its spans arrived. also: further tools
    that it called, each once. took: milliseconds of the run and of each of its calls; 0: it cannot be told. status:
    with which its write failed.
    """

    number: int
    at: int
    agent: str = "clerk"
    model: str = "m-1"
    claimed: str = "success"
    label: str = "supported"
    failed: bool = False
    looked: bool = True
    complete: bool = True
    tool: str = "create_refund"
    service: str = "shop"
    also: tuple[str, ...] = ()
    took: int = 0
    status: str = "500"

    @property
    def trace(self) -> str:
        """The id of its trace."""
        return f"{self.number:032x}"


def put(store: Store, made: Iterable[Made], version: int = 0, gone: Sequence[Made] = ()) -> None:
    """Put runs in as a pass of this number leaves them, and take others back; 0: each as a pass at its time does."""
    kept = [(one, 0) for one in made] + [(one, 1) for one in gone]
    store.insert("overclaim_runs", RUNS, [_run(one, version or one.at * 1000, deleted) for one, deleted in kept])
    store.insert(
        "overclaim_verdicts", VERDICTS, [_verdict(one, version or one.at * 1000, deleted) for one, deleted in kept]
    )
    store.insert(
        "overclaim_calls",
        CALLS,
        [row for one, deleted in kept for row in _calls(one, version or one.at * 1000, deleted)],
    )
    store.insert(
        "overclaim_failures", FAILURES, [_failure(one, version or one.at * 1000, deleted) for one, deleted in kept]
    )


def _nanoseconds(one: Made) -> int:
    return one.at * 1_000_000_000


def _run(one: Made, version: int, deleted: int) -> Sequence[Any]:
    start = _nanoseconds(one)
    return (
        one.trace, "run", one.service, one.agent, "1", one.model, start, start + 5 + one.took * 1_000_000, one.claimed,
        1 + one.looked + len(one.also), int(one.complete), version, deleted,
    )  # fmt: skip


def _verdict(one: Made, version: int, deleted: int) -> Sequence[Any]:
    label = one.label if one.complete else "incomplete"
    return (one.trace, "run", -1, one.service, one.agent, label, _nanoseconds(one), version, deleted)


def _calls(one: Made, version: int, deleted: int) -> Iterable[Sequence[Any]]:
    observed = "failure" if one.failed else "success"
    steps = [
        ("write", "write", one.tool, observed, 0),
        ("look", "read", "get_refund", "success", 0 if one.looked else 1),
        *((f"also {place}", "unknown", tool, "success", 0) for place, tool in enumerate(one.also)),
    ]
    for place, (span, effect, tool, seen, missing) in enumerate(steps):
        yield (
            one.trace, span, "run", place, one.service, one.agent, tool, effect, ["r-1"], seen, "structured",
            *([word] if seen == "failure" else [] for word in ("http_status", one.status, "failure", "structured")),
            _nanoseconds(one) + place, one.took * 1_000_000, version, int(deleted or missing),
        )  # fmt: skip


def _failure(one: Made, version: int, deleted: int) -> Sequence[Any]:
    missing = int(deleted or not one.failed)
    accused = int(one.label == "contradicted")
    return (
        one.trace, "run", "write", one.service, one.agent, one.tool, "failure", accused, _nanoseconds(one), version,
        missing,
    )  # fmt: skip


def fleet(
    days: int,
    a_day: int,
    seed: int,
    change_day: float = 1e9,
    model: str = "m-2",
    bad: tuple[float, float] = (0.02, 0.2),
) -> list[Made]:
    """Runs of one agent over some days, in the mornings; from change_day on another model overclaims more often.

    bad: the rate of overclaiming before and after.
    """
    dice, made = random.Random(seed), list[Made]()
    for number in range(days * a_day):
        day, place = divmod(number, a_day)
        at = MONDAY + day * DAY + OPENS + place * OPEN // a_day
        after = at >= MONDAY + change_day * DAY
        wrong = dice.random() < bad[after]
        failed = wrong or dice.random() < 0.03
        label = "contradicted" if wrong else "recovered" if failed else "supported"
        looked = dice.random() < 0.9
        made.append(Made(number + 1, at, model=model if after else "m-1", label=label, failed=failed, looked=looked))
    return made
