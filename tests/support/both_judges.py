"""The two judges side by side: what Python says of runs, and what SQL says of the same runs in a store.

    python tests/support/both_judges.py FILE...

judges the runs in files that `overclaim check` can read by both, prints on how many they agree, and where they do not.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from generated_runs import NOON
from stores import put_labelled

from overclaim.checking import Checked, check_files
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Judgement, Run
from overclaim.reading.spans import Span
from overclaim_detectors import judging
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

TOGETHER = 2_000  # runs judged in one pass
_VERDICTS = """
SELECT TraceId, RunSpanId, Claim, Label, Rule, Calls, round(Confidence, 3) AS Confidence FROM overclaim_verdicts FINAL
WHERE TraceId IN {traces:Array(String)}
"""
_RECOVERED = "SELECT TraceId, SpanId FROM overclaim_failures FINAL WHERE Mended AND TraceId IN {traces:Array(String)}"

Said = dict[int, tuple[Any, ...]]
"""By claim (-1: the run): verdict, rule, the calls that show it, confidence."""


@dataclass(slots=True)
class Agreement:
    """On how many runs both judges say the same, and what they say of the others."""

    runs: int = 0
    agreed: int = 0
    differences: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return f"SQL agrees with Python on {self.agreed} of {self.runs} runs"


def agreement_on_files(paths: Iterable[str], folder: Path) -> Agreement:
    """Judge all runs of some files (as `overclaim check` reads them) by both judges, in a new store in `folder`."""
    found = [one.judgement for one in check_files(paths) if isinstance(one, Checked)]
    store = open_store(f"chdb://{folder}")
    try:
        migrate(store)
        return agreement(store, found)
    finally:
        store.close()


def agreement(store: Store, judgements: Iterable[Judgement]) -> Agreement:
    """Let SQL judge the runs of these judgements anew, and compare. The store must hold no other runs."""
    total = Agreement()
    made = (as_trace(one.run, number) for number, one in enumerate(judgements))
    while some := list(islice(made, TOGETHER)):
        _compare(store, some, version=1, total=total)
    return total


def as_trace(run: Run, number: int) -> tuple[Run, list[Span]]:
    """A run with ids of a trace of its own, and the bare spans of that trace."""
    trace_id, root = f"{number + 1:032x}", f"{number + 1:08x}{0:08x}"
    calls = tuple(replace(one, span_id=f"{number + 1:08x}{place:08x}") for place, one in enumerate(run.calls, 1))
    known = replace(run, trace_id=trace_id, span_id=root, calls=calls)
    start = NOON + number * 1_000_000
    spans = [Span(trace_id, root, service="shop", start_ns=start, end_ns=start + 9)]
    spans += [Span(trace_id, one.span_id, root, service="shop", start_ns=start, end_ns=start + 1) for one in calls]
    return known, spans


def by_python(judgement: Judgement) -> Said:
    """The verdicts of the Python judge, with the spans of the calls."""
    span_of = {one.index: one.span_id for one in judgement.run.calls}
    said: Said = {
        place: (one.verdict.value, one.rule, [span_of[index] for index in one.calls], one.confidence)
        for place, one in enumerate(judgement.claims)
    }
    worst = [said[at] for at, one in enumerate(judgement.claims) if one.verdict is judgement.verdict]
    shown = max(worst, key=lambda one: one[3])[2] if worst else []  # the surest of the worst leads
    return said | {-1: (judgement.verdict.value, judgement.rule, shown, judgement.confidence)}


def by_sql(store: Store, traces: Sequence[str]) -> dict[str, Said]:
    """The verdicts in the store, by trace."""
    said: dict[str, Said] = {}
    for row in store.query(_VERDICTS, {"traces": list(traces)}).dicts():
        found = (row["Label"], row["Rule"], row["Calls"], round(float(row["Confidence"]), 3))
        said.setdefault(row["TraceId"], {})[row["Claim"]] = found
    return said


def _compare(store: Store, made: list[tuple[Run, list[Span]]], version: int, total: Agreement) -> None:
    dice = random.Random(len(made))
    twice = [*made, *dice.sample(made, len(made) // 2)]  # what is labelled again must count once, wherever it stands
    batch = put_labelled(store, dice.sample(twice, len(twice)), version)
    judging.judge(store, batch, version)
    seen = by_sql(store, batch.traces)
    mended = {(trace, span) for trace, span in store.query(_RECOVERED, {"traces": list(batch.traces)}).rows}
    for run, _ in made:
        wrong = list(differences(judge(run), seen.get(run.trace_id, {}), mended))
        total.runs += 1
        total.agreed += not wrong
        total.differences += wrong


def differences(judgement: Judgement, seen: Said, mended: set[tuple[str, str]]) -> Iterator[str]:
    """What SQL says of a run other than Python, in words. mended: by trace and span, what it holds for mended."""
    run, said = judgement.run, by_python(judgement)
    for claim in sorted(said.keys() | seen.keys()):
        if said.get(claim) != seen.get(claim):
            yield f"{run.id} claim {claim}: Python {said.get(claim)}, SQL {seen.get(claim)}"
    recovered = {call.span_id for call in run.calls if call.index in judgement.recovered}
    found = {span for trace, span in mended if trace == run.trace_id}
    if recovered != found:
        yield f"{run.id}: mended for Python {sorted(recovered)}, for SQL {sorted(found)}"


def main(paths: Sequence[str]) -> int:
    """Print the agreement on some files, and the first differences."""
    with tempfile.TemporaryDirectory() as folder:
        found = agreement_on_files(paths, Path(folder, "store"))
    print(found, *found.differences[:20], sep="\n")
    return int(bool(found.differences))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
