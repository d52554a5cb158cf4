"""What detection costs: judging all there is again, and passes over nothing, over little and over much.

    python -m tests.bench.detect [--spans 1000000] [--rejudge | --passes]

CPU seconds are those of this whole process, the engine in it included, so that they mean much the same on a busy
machine; a store of its own is made in a temporary directory and removed. It takes about 60 bytes a span on the disk.

First runs of the last seven days are put in, of 14.5 spans each, with what labelling makes of them: four calls and one
claim a run. They are judged, and then judged again as `overclaim detect --again` does, and merges that this brings are
waited for and counted. Beside it stand two bare questions: a GROUP BY of all rows of spans, by trace, tool and
arguments, and one of the labelled calls, by run and operation, each the best of three.

Then runs of 13 spans arrive (an agent; four times a model call, a tool call and a request below it), one run, 10, 100
and 1000 at a time; each time a pass labels and judges them, and the best of some counts. What such a pass costs should
not depend on how much is in the store. An idle pass is one over a store in which nothing arrived; the lowest of many.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from tests.bench.detect.filling import KEPT_SPANS, group_calls, group_spans, kept, settle, spans
from tests.bench.tables import markdown

from overclaim_detectors.again import judge_again
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.runner import Detection
from overclaim_detectors.store import Store

IDLE_PASSES = 50
FEW = (1, 10, 100, 1000)  # runs
EACH = (7, 7, 5, 3)  # times; the best counts
ROUNDS = 3


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=1_000_000, help="how many are in the store (default: 1000000)")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--rejudge", action="store_true", help="only judge all again")
    only.add_argument("--passes", action="store_true", help="only passes, in a store that is not judged")
    asked = parser.parse_args()
    runs = int(asked.spans / KEPT_SPANS)
    with _store() as store:
        kept(store, runs)
        settle(store)
        if not asked.passes:
            rejudge(store, runs)
        if not asked.rejudge:
            passes(store)


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


def rejudge(store: Store, runs: int) -> None:
    """Print what judging all costs, beside bare GROUP BYs of the spans and of the labelled calls."""
    of_spans, of_calls = (
        min(cpu(lambda ask=ask: ask(store)) for _ in range(ROUNDS)) for ask in (group_spans, group_calls)
    )
    rows = [("GROUP BY of the spans", of_spans), ("GROUP BY of the labelled calls", of_calls)]
    for what in ("judged for the first time", "judged again"):
        rows += [(what, cpu(lambda: judge_again(store))), ("merges after that", cpu(lambda: settle(store)))]
    of_each = [
        (what, f"{took:.2f}", f"{took / runs * 1000:.4f}", f"{took / of_spans:.1f}", f"{took / of_calls:.1f}")
        for what, took in rows
    ]
    head = (f"{runs} runs, {runs * KEPT_SPANS:.0f} spans", "CPU s", "per 1000 runs")
    print(markdown((*head, "to GROUP BY of spans", "to GROUP BY of calls"), of_each))
    print(f"most memory so far: {getrusage(RUSAGE_SELF).ru_maxrss >> 10} MB", flush=True)


def passes(store: Store) -> None:
    """Print what passes cost."""
    detection = Detection(store)
    detection.once()
    idle = min(cpu(detection.once) for _ in range(IDLE_PASSES))
    rows: list[tuple[object, ...]] = [("nothing new", f"{idle * 1000:.1f} ms", "")]
    put = 0
    for few, times in zip(FEW, EACH, strict=True):
        took: list[float] = []
        for _ in range(times):
            spans(store, put, few)
            put += few
            took.append(cpu(detection.once))
        rows.append((f"{few} runs", f"{min(took):.2f} s", f"{min(took) / few * 1000:.2f}"))
    print(markdown(("a pass over", "CPU", "CPU s per 1000 runs"), rows))


if __name__ == "__main__":
    main()
