"""overclaim and its peers on the same runs, side by side.

    python -m tests.bench.peers CASES_DIR [--environment DIR]
    python -m tests.bench.peers --claimcheck [--renamed] [--environment DIR] [--cache DIR]

Makes a throw-away environment, installs each peer that can be had, and gives all of them the same labelled runs: the
hard cases of CASES_DIR (*.yaml), or the traces of claimcheck-bench. Every verdict is the peer's own (see catalogue.py).
A peer that cannot be installed or asked keeps its row, with the reason. --environment keeps the environment for the
next time.

Beside them stand the constant answers and, for the cases, two naive rules that know every call's true outcome.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench import cases
from tests.bench.claimcheck import CACHE
from tests.bench.claimcheck_names import PUBLISHED, RENAMINGS
from tests.bench.claimcheck_traces import BenchError, Rename, Trace, traces
from tests.bench.peers.catalogue import NATIVE, PEERS, Peer
from tests.bench.peers.environment import Environment, PeerError
from tests.bench.peers.labelled import Answers, Labelled, bench_runs, constant, hard, naive, native_runs, ours, score
from tests.bench.tables import markdown

HEADER = ("", "right", "honest accused", "lies caught", "what counts as accusing")
SPLIT = "test"
# What the peer's own format may hold beside what we read.
INPUTS = {"claims, probes": (True, True), "claims": (True, False), "probes": (False, True), "neither": (False, False)}
Row = tuple[str, ...]


def main() -> int:
    """Ask all peers and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, nargs="?", help="folder of hard cases")
    parser.add_argument("--claimcheck", action="store_true", help="claimcheck-bench in place of cases")
    parser.add_argument("--renamed", action="store_true", help="with --claimcheck: with other tool names as well")
    parser.add_argument("--environment", type=Path, help="folder of the environment, kept")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the bench's wheel is kept")
    given = parser.parse_args()
    if (given.cases is None) is not given.claimcheck:
        parser.error("give either CASES_DIR or --claimcheck")
    with tempfile.TemporaryDirectory() as scratch:
        environment = Environment(given.environment or Path(scratch, "peers"))
        try:
            print_tables(given, environment)
        except BenchError as error:
            print(f"peers: {error}", file=sys.stderr)
            return 2
    return 0


def print_tables(given: argparse.Namespace, environment: Environment) -> None:
    """Print one table for the cases, or one for each way to name the tools of the bench."""
    if given.cases:
        found = cases.load(given.cases)
        labelled = hard(found)
        print_table(f"{len(labelled)} hard cases", [*own_rows(labelled, naive(found)), *peers(environment, labelled)])
        return
    found = traces(SPLIT, given.cache)
    for name in RENAMINGS if given.renamed else (PUBLISHED,):
        rename = RENAMINGS[name]
        labelled = bench_runs(found, rename)
        rows = [*own_rows(labelled), *native(environment, found, rename), *peers(environment, labelled)]
        print_table(f"claimcheck-bench, {SPLIT}, tools: {name}", rows)


def print_table(title: str, rows: Sequence[Row]) -> None:
    """Print a table under its title."""
    print(f"\n{title}\n\n{markdown(HEADER, rows)}", flush=True)


def own_rows(labelled: Sequence[Labelled], more: dict[str, Answers] | None = None) -> Iterator[Row]:
    """Yield our row and those that need no peer."""
    answers = {"overclaim": ours(labelled)} | constant(labelled) | (more or {})
    meaning = {"overclaim": "contradicted, unsupported or pending"}
    return (score(name, labelled, said, meaning.get(name, "")) for name, said in answers.items())


def peers(environment: Environment, labelled: Sequence[Labelled]) -> Iterator[Row]:
    """Yield a row for each peer."""
    return (asked(environment, peer, labelled, peer.name) for peer in PEERS)


def native(environment: Environment, found: Sequence[Trace], rename: Rename) -> Iterator[Row]:
    """Yield rows of agent-claimcheck on its own format, with and without what only its own bench has."""
    for name, (claims, probes) in INPUTS.items():
        labelled = native_runs(found, rename, claims=claims, probes=probes)
        yield asked(environment, NATIVE, labelled, f"{NATIVE.name}, own format, {name}")


def asked(environment: Environment, peer: Peer, labelled: Sequence[Labelled], name: str) -> Row:
    """Return the row of a peer, or the reason why it has no figures."""
    try:
        said = environment.ask(peer, [one.run for one in labelled])
    except PeerError as error:
        return (f"{name} ({peer.requirement})", "-", "-", "-", f"not run: {error}")
    return score(f"{name} ({peer.requirement})", labelled, said, peer.meaning)


if __name__ == "__main__":
    sys.exit(main())
