"""False alarms and delays of other detectors beside ours, on the same made-up streams.

Each peer gets an environment of its own, with its defaults; one that cannot be had keeps its row, with the reason.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tests.bench.drift.streams import Kind, Stream, make
from tests.bench.drift.twin import alarms, prior
from tests.bench.peers.environment import ASKING, Environment, PeerError, why

WORKER = Path(__file__).with_name("peer_worker.py")
SEED, STREAMS = 77, 6
LOG_A = math.log(24 * 100)  # of one false alarm in 100 days of a stream
COOL = 24  # hours in which further alarms belong to the same one
QUIET = {"200 runs a day": Kind(), "20 runs a day": Kind(volume=20)}
CHANGES = {"5 -> 20 %": Kind(after=0.2, days=17), "5 -> 10 %": Kind(after=0.1, days=17)}
Answers = Mapping[str, list[list[int]]]


class Peer(NamedTuple):
    """A peer: its requirements, in the order in which they are installed, and how it is asked.

    streams: of how many of each kind, where it takes long; 0: all.
    """

    name: str
    requirements: tuple[str, ...]
    asks: str
    streams: int = 0


PEERS = (
    Peer("Evidently, DataDriftPreset, once a day", ("pandas<3", "evidently==0.7.23"), "evidently"),
    Peer("NannyML, univariate drift, chunks of a day", ("statsmodels", "nannyml==0.13.1"), "nannyml"),
    Peer("river, ADWIN", ("river==0.26.1",), "adwin"),
    Peer("river, PageHinkley", ("river==0.26.1",), "page_hinkley"),
    Peer("river, KSWIN", ("river==0.26.1",), "kswin", 1),
    Peer("alibi-detect, FETDriftOnline", ("alibi-detect==0.13.0",), "fet", 1),
    Peer("tokenjam, each session", ("tokenjam==0.7.0",), "tokenjam"),
    Peer("agent-strace, overall score, once a day", ("agent-strace==0.103.0",), "strace"),
    Peer("driftbase, epochs of 20 runs", ("driftbase==0.15.1",), "driftbase"),
)


def table(folder: Path) -> Iterator[str]:
    """The rows of the table, one after the other. folder: where the environments are, or come to be."""
    made = {name: _made(kind) for name, kind in (QUIET | CHANGES).items()}
    heads = [*(f"false alarms, {name}" for name in QUIET), *(f"{name}: found, hours" for name in CHANGES)]
    yield f"| | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    for name, answer in (("overclaim", _ours), ("always", _always), ("never", lambda _: list[int]())):
        yield _row(name, _of_each(made, answer))
    for peer in PEERS:
        try:
            yield _row(peer.name, _asked(folder, peer, made))
        except PeerError as error:
            yield f"| {peer.name} | not run: {error} |{' |' * (len(heads) - 1)}"


def _made(kind: Kind) -> list[Stream]:
    dice = np.random.default_rng(SEED)
    return [make(kind, dice) for _ in range(STREAMS)]


def _ours(stream: Stream) -> list[int]:
    return alarms(stream, prior(stream), LOG_A)


def _always(stream: Stream) -> list[int]:
    return list(range(stream.kind.days * 24))


def _of_each(made: Mapping[str, Sequence[Stream]], answer: Callable[[Stream], list[int]]) -> Answers:
    return {name: [answer(stream) for stream in streams] for name, streams in made.items()}


def _asked(folder: Path, peer: Peer, made: Mapping[str, Sequence[Stream]]) -> Answers:
    """What a peer says of the streams. Raises PeerError where it cannot be installed or asked."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = Environment(folder / peer.requirements[-1].partition("=")[0])
    for requirement in peer.requirements:
        environment.install(requirement)
    asked = [(name, stream) for name, streams in made.items() for stream in streams[: peer.streams or None]]
    given = [
        {"runs": one.runs.tolist(), "bad": one.bad.tolist(), "reference_days": one.kind.reference_days}
        for _, one in asked
    ]
    command = [str(environment.python), str(WORKER), peer.asks]
    try:
        done = subprocess.run(
            command, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=ASKING,
            env=environment.variables(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PeerError(f"no answer within {ASKING} s") from None
    if done.returncode:
        raise PeerError(why(done.stderr))
    found: dict[str, list[list[int]]] = {name: [] for name in made}
    for (name, _), hours in zip(asked, json.loads(done.stdout), strict=True):
        found[name].append(hours)
    return found


def _row(name: str, said: Answers) -> str:
    quiet = [f"{_rate(said[one], kind.days):.1f}" for one, kind in QUIET.items()]
    return f"| {name} | {' | '.join([*quiet, *(_delay(said[one], kind) for one, kind in CHANGES.items())])} |"


def _rate(said: Sequence[Sequence[int]], days: int) -> float:
    """Alarms in 100 days of a stream; those within a day of the last are the same one."""
    return 100 * sum(len(_apart(hours)) for hours in said) / (len(said) * days)


def _apart(hours: Sequence[int]) -> list[int]:
    found = list[int]()
    for hour in sorted(hours):
        if not found or hour - found[-1] >= COOL:
            found.append(hour)
    return found


def _delay(said: Sequence[Sequence[int]], kind: Kind) -> str:
    """How often the change is found within two weeks, and after how many hours (median)."""
    change = kind.change_day * 24
    found = [min((hour + 1 - change for hour in hours if hour >= change), default=math.inf) for hours in said]
    part, middle = sum(map(math.isfinite, found)) / len(found), float(np.median(found))
    return f"{100 * part:.0f} %, {f'{middle:.0f}' if math.isfinite(middle) else '-'}"
