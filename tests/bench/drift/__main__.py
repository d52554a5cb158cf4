"""False alarms and delays of the drift detector on made-up streams, as a table.

python -m tests.bench.drift           all rows, some minutes
python -m tests.bench.drift --quick   few streams and rows, seconds
python -m tests.bench.drift --cost    CPU time of a pass over 1000 streams of 14 days, all of which have new runs
python -m tests.bench.drift --check   the numbers come from a twin in numpy; this compares it with the queries
python -m tests.bench.drift --peers [--environment DIR]   other detectors on the same streams; installs them
python -m tests.bench.drift --corpus DIR   recorded runs of which it is known whether anything changed
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.bench.drift import peers
from tests.bench.drift.known import report
from tests.bench.drift.streams import Kind, Stream, fleet, make
from tests.bench.drift.twin import alarms, log_evidence, prior

from overclaim_detectors.drift.detector import evaluate, replay
from overclaim_detectors.drift.reference import Policy, Settling, references
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

LOG_A = math.log(24 * 100)  # of one false alarm in 100 days of a stream
SEED = 42
MONDAY = 1_767_571_200  # 2026-01-05 00:00:00 UTC
QUIET = {
    **{
        f"{volume:g} runs a day, {100 * rate:g} %": Kind(rate=rate, volume=volume, reference_days=days)
        for volume, days in ((5, 25), (20, 7), (200, 7), (2000, 7))  # 100 runs or more
        for rate in (0.005, 0.05, 0.3)
    },
    "clusters of 5 runs, 200 a day": Kind(cluster=5),
    "daily cycle of 0.8 logits, 1000 a day": Kind(volume=1000, season=0.8),
    "days differ by 0.3 logits, 7 days of reference": Kind(noise=0.3),
    "days differ by 0.3 logits, 28 days of reference": Kind(noise=0.3, reference_days=28),
}
CHANGES = {
    "5 -> 20 %, 200 runs a day": Kind(after=0.2, days=17),
    "5 -> 10 %, 200 runs a day": Kind(after=0.1, days=17),
    "5 -> 10 %, 200 runs a day, 28 days of reference": Kind(after=0.1, days=17, reference_days=28),
    "5 -> 7 %, 200 runs a day": Kind(after=0.07, days=17),
    "2 -> 50 %, 5 runs a day": Kind(rate=0.02, volume=5, after=0.5, days=17, reference_days=25),
}
QUICK = ("200 runs a day, 5 %", "clusters of 5 runs, 200 a day")
_MANY = """
INSERT INTO overclaim_behaviour (Tick, ServiceName, Agent, Tool, Signal, Runs, Bad, Version)
SELECT
    toDateTime({begin:UInt32} + number % {ticks:UInt32} * 900, 'UTC'), 'shop', 'clerk',
    concat('tool ', toString(intDiv(number, {ticks:UInt32}))), 'failure', 1 + rand(1) % 4, rand(2) % 10 = 0, 1
FROM numbers({rows:UInt64})
"""
_HOURS = (
    "SELECT count() FROM (SELECT Tool, toStartOfHour(Tick), sum(Runs), sum(Bad) FROM overclaim_behaviour GROUP BY 1, 2)"
)
COLUMNS = ("Tick", "ServiceName", "Agent", "Signal", "Runs", "Bad", "Version")


def main() -> int:
    """Print the table, or what the check comes to."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.drift", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few streams and rows")
    parser.add_argument("--check", action="store_true", help="compare the twin with the queries instead")
    parser.add_argument("--cost", action="store_true", help="CPU time of a pass instead")
    parser.add_argument("--streams", type=int, default=60, metavar="N", help="streams of each kind (default: 60)")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="recorded runs with a known answer instead")
    parser.add_argument("--peers", action="store_true", help="other detectors on the same streams instead")
    parser.add_argument("--environment", type=Path, metavar="DIR", help="where their environments are kept")
    args = parser.parse_args()
    for line in _asked(args):
        print(line, flush=True)
    return 0


def _asked(args: argparse.Namespace) -> Iterator[str]:
    if args.peers:
        with tempfile.TemporaryDirectory() as scratch:
            yield from peers.table(args.environment or Path(scratch))
    elif args.corpus:
        yield from known(args.corpus)
    elif args.check or args.cost:
        yield from checked() if args.check else cost()
    else:
        yield from table(4 if args.quick else args.streams, quick=args.quick)


def table(streams: int, *, quick: bool = False) -> Iterator[str]:
    """The rows of the table, one after the other."""
    yield from ("| nothing changes | false alarms in 100 days of a stream (1 is asked for) |", "|---|---|")
    for name, kind in QUIET.items():
        if not quick or name in QUICK:
            yield f"| {name} | {false_alarms(kind, streams):.2f} |"
    if not quick:
        yield f"| 200 tools, one budget of 1 a week | {fleet_alarms():.2f} a week |"
    yield from ("", "| a change | found within 14 days | hours until then, median |", "|---|---|---|")
    for name, kind in list(CHANGES.items())[: 1 if quick else None]:
        found = delays(kind, streams)
        part = sum(map(math.isfinite, found)) / len(found)
        middle = float(np.median(found))
        yield f"| {name} | {100 * part:.0f} % | {f'{middle:.0f}' if math.isfinite(middle) else 'more'} |"


def false_alarms(kind: Kind, streams: int) -> float:
    """Alarms in 100 days of streams in which nothing changes."""
    dice = np.random.default_rng(SEED)
    found = sum(len(alarmed(make(kind, dice), LOG_A)) for _ in range(streams))
    return 100 * found / (streams * kind.days)


def delays(kind: Kind, streams: int) -> list[float]:
    """Hours from the change to the first alarm after it, by stream; infinite where none came."""
    dice = np.random.default_rng(SEED + 1)
    found = [alarmed(make(kind, dice), LOG_A) for _ in range(streams)]
    change = kind.change_day * 24
    return [min((float(hour + 1 - change) for hour in hours if hour >= change), default=math.inf) for hours in found]


def fleet_alarms(tools: int = 200) -> float:
    """Alarms a week of a quiet fleet, whose budget of one is split evenly over the tools with runs enough."""
    dice = np.random.default_rng(SEED + 2)
    made = [make(kind, dice) for kind in fleet(tools, dice)]
    watched = [one for one in made if one.runs[: 7 * 96].sum() >= Policy().least_runs]
    log_a = math.log(24 * 7 * len(watched))
    return sum(len(alarmed(one, log_a)) for one in watched) / 4


def alarmed(stream: Stream, log_a: float) -> list[int]:
    """The hours of the alarms of a stream."""
    return alarms(stream, prior(stream), log_a)


def checked() -> Iterator[str]:
    """How far the twin is from the queries: for one stream of each kind, at every hour of three days."""
    kinds = {
        name: replace(kind, days=3) for name, kind in QUIET.items() if kind.volume >= 20 and kind.reference_days == 7
    }
    dice = np.random.default_rng(SEED + 3)
    made = {name: make(kind, dice) for name, kind in kinds.items()}
    with fresh_store() as store:
        yield from _compared(store, made)


def known(corpus: Path) -> Iterator[str]:
    """What is found in recorded runs of which it is known whether anything changed."""
    with fresh_store() as store:
        yield from report(corpus, store)


def cost(streams: int = 1000, days: int = 14) -> Iterator[str]:
    """CPU seconds of the evidence of many streams, beside a bare GROUP BY of the same rows by the hour."""
    ticks = days * 96
    with fresh_store() as store:
        store.command(_MANY, {"rows": streams * ticks, "ticks": ticks, "begin": MONDAY})
        end = MONDAY + ticks * 900
        Settling(store, Policy()).settle([], [], 0, end, 1)
        known = references(store)
        log_a = {(stream, direction): 12.0 for stream in known for direction in (1, -1)}
        whole = _seconds(lambda: evaluate(store, list(known), known, log_a, end))
        bare = _seconds(lambda: store.query(_HOURS))
        yield f"{len(known)} streams, {days - 7} days since the reference: {whole:.1f} CPU s; GROUP BY hour: {bare:.2f}"


def _seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


@contextmanager
def fresh_store() -> Iterator[Store]:
    """A store of its own, which goes when it is done."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"chdb://{Path(folder, 'store')}")
        try:
            migrate(store)
            yield store
        finally:
            store.close()


def _compared(store: Store, made: dict[str, Stream]) -> Iterator[str]:
    for name, stream in made.items():
        stream.runs[0] += 1  # so that each reference begins with the first hour
        ticks = enumerate(zip(stream.runs.tolist(), stream.bad.tolist(), strict=True))
        rows = [(MONDAY + at * 900, name, "agent", "failure", n, k, 1) for at, (n, k) in ticks if n]
        store.insert("overclaim_behaviour", COLUMNS, rows)
    end = MONDAY + 10 * 86_400
    Settling(store, Policy(least_runs=50)).settle([], [], 0, end, 1)
    for one in references(store).values():
        stream = made[one.key.service]
        by_sql = {
            (moment.at - one.since) // 3600: moment.log_e
            for moment in replay(store, [one.stream], end, every=4)
            if moment.direction > 0
        }
        by_twin = dict(log_evidence(stream, prior(stream), (one.since - MONDAY) // 3600 - 7 * 24))
        apart = max(abs(by_sql[hour] - by_twin[hour]) for hour in by_sql)
        yield f"{one.key.service}: {len(by_sql)} hours, largest difference of log E {apart:.1e}"


if __name__ == "__main__":
    raise SystemExit(main())
