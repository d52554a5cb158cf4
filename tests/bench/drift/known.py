"""Known answers: streams made of recorded runs, of which it is known whether anything changed.

The corpus is read where it lies, and nothing of it is kept. Runs have no times that would do, so they are put at even
distances, in an order that follows from their names: the reference in 7 days, and what is compared with it in the next.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from overclaim_detectors.drift.budget import Budget, difference, thresholds
from overclaim_detectors.drift.detector import replay
from overclaim_detectors.drift.reference import Policy, Settling, references
from overclaim_detectors.store import Store

MONDAY = 1_767_571_200  # 2026-01-05 00:00:00 UTC
WEEK = 7 * 86_400
COLUMNS = ("Tick", "ServiceName", "Agent", "Signal", "Runs", "Bad", "Values", "Version")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """Runs that are the reference, and runs that come after them."""

    name: str
    before: Sequence[Row]
    after: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found of a pair: signals with an alarm at any time, and the change of the failure rate as seen."""

    name: str
    alarms: tuple[str, ...]
    was: float
    now: float
    interval: tuple[float, float]


def read(path: Path) -> list[Row]:
    """The rows of a file of the corpus."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def report(corpus: Path, store: Store) -> Iterator[str]:
    """The table, a line for each set."""
    yield "| recorded runs | pairs | with an alarm | of the failure rate | others |"
    yield "|---|---|---|---|---|"
    models = _by_model(read(corpus / "mcpmark_runs.jsonl.gz"))
    halves = [Pair(f"{name}, halves", *_halves(runs)) for name, runs in models.items()]
    neighbours = [
        Pair(f"{one} then {two}", _halves(models[one])[0], _halves(models[two])[1]) for one, two in pairwise(models)
    ]
    airline = read(corpus / "tau_airline.jsonl.gz")
    trials = [Pair("tau_airline, trials", *_parted(map(_chat, airline), lambda run: run["trial"] < 2))]
    yield _line("mcpmark_runs: a model, runs 1 and 2, then 3 and 4", answers(store, halves, 100))
    yield _line("mcpmark_runs: another model after it", answers(store, neighbours, 100))
    yield _line("tau_airline: trials 0 and 1, then 2 and 3", answers(store, trials, 40))
    yield ""
    versions = _versions(read(corpus / "tau_retail.jsonl.gz"))
    for one in answers(store, versions, 40):
        low, high = (100 * edge for edge in one.interval)
        yield (
            f"{one.name}: failures {100 * one.was:.0f} % -> {100 * one.now:.0f} %, by {low:+.0f} to {high:+.0f} points;"
            f" {', '.join(one.alarms) or 'no alarm'}"
        )


def _line(name: str, found: Sequence[Answer]) -> str:
    alarmed = [one.alarms for one in found]
    failing = sum("failure" in one for one in alarmed)
    others = sum(bool({*one} - {"failure"}) for one in alarmed)
    return f"| {name} | {len(found)} | {sum(map(bool, alarmed))} | {failing} | {others} |"


def answers(store: Store, pairs: Sequence[Pair], least_runs: int) -> list[Answer]:
    """What the detector says of pairs, with a budget of one false alarm a week for all of them together."""
    for pair in pairs:
        rows = [*_rows(pair.name, pair.before, 0), *_rows(pair.name, pair.after, 1)]
        store.insert("overclaim_behaviour", COLUMNS, rows)
    end = MONDAY + 2 * WEEK
    Settling(store, Policy(least_runs=least_runs)).settle([], [], MONDAY, end, 1)
    names = {pair.name for pair in pairs}
    known = {stream: one for stream, one in references(store).items() if one.key.service in names}
    log_a = thresholds({stream: one.key for stream, one in known.items()}, Budget())
    alarms = {
        (known[one.stream].key.service, known[one.stream].key.signal)
        for one in replay(store, list(known), end, every=4)
        if one.log_e >= log_a[one.stream, one.direction]
    }
    return [_answer(pair, sorted(signal for name, signal in alarms if name == pair.name)) for pair in pairs]


def _answer(pair: Pair, alarms: Sequence[str]) -> Answer:
    bad = [sum(run["failed"] for run in runs) for runs in (pair.before, pair.after)]
    runs = [len(pair.before), len(pair.after)]
    return Answer(pair.name, tuple(alarms), bad[0] / runs[0], bad[1] / runs[1], difference(bad, runs))


def _rows(name: str, runs: Sequence[Row], week: int) -> Iterator[tuple[object, ...]]:
    """The rows of behaviour that these runs make, a quarter of an hour and signal each."""
    ordered = sorted(runs, key=lambda run: hashlib.sha256(run["id"].encode()).digest())
    ticks: dict[int, list[Row]] = {}
    for place, run in enumerate(ordered):
        ticks.setdefault(MONDAY + week * WEEK + place * WEEK // len(ordered) // 900 * 900, []).append(run)
    for at, those in ticks.items():
        yield (at, name, "agent", "failure", len(those), sum(run["failed"] for run in those), {}, 1)
        for signal in those[0]["values"]:
            bins = Counter(bin_of(run["values"][signal]) for run in those)
            yield (at, name, "agent", signal, len(those), 0, dict(bins), 1)


def bin_of(value: float) -> int:
    """The bin of a value, as queries/drift/behaviour.sql has it."""
    return math.floor(8 * math.log2(value)) if value else -1000


def _by_model(rows: Iterable[Row]) -> dict[str, list[Row]]:
    models: dict[str, list[Row]] = {}
    for row in rows:
        run = {
            "id": row["id"], "run": row["run"], "failed": not row["success"],
            "values": {"steps": row["turns"], "run_time": 1000 * row["seconds"]},
        }  # fmt: skip
        models.setdefault(row["model"], []).append(run)
    return {name: runs for name, runs in sorted(models.items()) if len({run["run"] for run in runs}) == 4}


def _halves(runs: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    return _parted(runs, lambda run: run["run"] in ("run-1", "run-2"))


def _parted(runs: Iterable[Row], first: Any) -> tuple[list[Row], list[Row]]:
    parts: tuple[list[Row], list[Row]] = ([], [])
    for run in runs:
        parts[not first(run)].append(run)
    return parts


def _chat(row: Row) -> Row:
    steps = sum(message["role"] == "tool" for message in row["messages"])
    trial = row["meta"].get("trial", 0)
    return {"id": row["id"], "failed": not row["reward"], "trial": trial, "values": {"steps": steps}}


def _versions(rows: Sequence[Row]) -> list[Pair]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(_chat(row))
    return [Pair(name, groups["tool-calling"], runs) for name, runs in groups.items() if name != "tool-calling"]
