"""What detection costs: passes over nothing, over little and over much, and judging all there is again.

    python -m tests.bench.detect [--spans 130000]
    python -m tests.bench.detect --rejudge [--spans 5000000]

CPU seconds are those of this whole process, the engine in it included, so that they mean much the same on a busy
machine; a store of its own is made in a temporary directory and removed.

Without --rejudge: runs of 13 spans (an agent; four times a model call, a tool call and a request below it) are put in,
one run, 10 and 100 at a time, and then all that are left at once; each time a pass labels and judges them. An idle pass
is one over a store in which nothing arrived; the lowest of many.

--rejudge: runs with four labelled calls and one claim each are put in, by 14.5 spans a run, without their spans, and
judged again as `overclaim detect --again` does. The bare GROUP BY is one question over the same calls, by run and
operation: their number, and what was observed last.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from tests.bench.detect.filling import LABELLED_SPANS, SPANS, group_by, labelled, spans
from tests.bench.tables import markdown

from overclaim_detectors.again import judge_again
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.runner import Detection
from overclaim_detectors.store import Store

IDLE_PASSES = 50
FEW = (1, 10, 100)  # runs
EACH = 3  # times
ROUNDS = 3


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, help="how many (default: 130000, with --rejudge 5000000)")
    parser.add_argument("--rejudge", action="store_true", help="judge all again instead")
    asked = parser.parse_args()
    with _store() as store:
        if asked.rejudge:
            rejudge(store, int((asked.spans or 5_000_000) / LABELLED_SPANS))
        else:
            passes(store, (asked.spans or 130_000) // SPANS)


@contextmanager
def _store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"chdb://{Path(folder, 'store')}")
        try:
            migrate(store)
            yield store
        finally:
            store.close()


def cpu(work: Callable[[], object]) -> float:
    """The CPU seconds that this process takes for some work."""
    before = getrusage(RUSAGE_SELF)
    work()
    after = getrusage(RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def passes(store: Store, runs: int) -> None:
    """Print what passes cost."""
    detection = Detection(store)
    idle = min(cpu(detection.once) for _ in range(IDLE_PASSES))
    rows: list[tuple[object, ...]] = [("nothing new", f"{idle * 1000:.1f} ms", "")]
    put = 0
    for few in FEW:
        took: list[float] = []
        for _ in range(EACH):
            spans(store, put, few)
            put += few
            took.append(cpu(detection.once))
        rows.append(_row(f"{few} runs", few, min(took)))
    spans(store, put, max(1, runs - put))
    rows.append(_row(f"{max(1, runs - put)} runs", max(1, runs - put), cpu(detection.once)))
    print(markdown(("a pass over", "CPU", "CPU s per 1000 runs"), rows))


def _row(what: str, runs: int, seconds: float) -> tuple[object, ...]:
    return what, f"{seconds:.2f} s", f"{seconds / runs * 1000:.2f}"


def rejudge(store: Store, runs: int) -> None:
    """Print what judging all again costs, beside a bare GROUP BY of the same calls."""
    labelled(store, runs)
    bare = min(cpu(lambda: group_by(store)) for _ in range(ROUNDS))
    took = cpu(lambda: judge_again(store))
    rows = [
        ("GROUP BY of the calls", f"{bare:.2f}", f"{bare / runs * 1000:.4f}", "1"),
        ("judged again", f"{took:.2f}", f"{took / runs * 1000:.4f}", f"{took / bare:.1f}"),
    ]
    print(markdown((f"{runs} runs", "CPU s", "per 1000 runs", "ratio"), rows))


if __name__ == "__main__":
    main()
