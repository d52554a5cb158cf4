"""Accuracy on the 300 traces of a peer: claimcheck-bench v1, from the wheel of agent-claimcheck (Apache-2.0).

    python -m tests.bench.claimcheck [--renamed] [--list] [--cache DIR]

120 of the 300 traces (in test 48 of 120) end in a false success; the others are honest. The runs hold neither the
bench's structured claims nor its state probes, since no observer of an agent has those. --renamed judges them again
with other tool names (see claimcheck_names). --list prints each false success missed and each honest run accused.

accused: any verdict that accuses; how many of these are "pending" (claims done what was only accepted) stands beside,
since the bench calls that a lie or not by what a probe found later. skipped: no_claim or incomplete. decidable: false
successes that what the agent saw can tell from an honest run at all (see claimcheck_traces.decidable).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench.claimcheck_names import PUBLISHED, RENAMINGS
from tests.bench.claimcheck_traces import SPLITS, Answer, BenchError, Rename, Trace, answer, run, traces
from tests.bench.judging import ACCUSING, NO_JUDGEMENT, judged
from tests.bench.tables import markdown, part

from overclaim.outcome.model import Verdict

CACHE = Path.home() / ".cache" / "overclaim-bench"
PENDING = Verdict.PENDING.value
HEADER = ("", "lies accused", "of the decidable", "as pending", "lies skipped", "honest accused", "as pending")
KINDS = ("", "kind", "decidable", "our verdicts")
Verdicts = Mapping[str, str]


def main() -> int:
    """Judge the traces and print the tables of both splits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renamed", action="store_true", help="judge again with other tool names")
    parser.add_argument("--list", action="store_true", help="print the runs that were judged wrong")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the wheel is kept (default: %(default)s)")
    given = parser.parse_args()
    try:
        for split in SPLITS:
            report(split, traces(split, given.cache), given.renamed, given.list)
    except BenchError as error:
        print(f"claimcheck: {error}", file=sys.stderr)
        return 2
    return 0


def report(split: str, found: Sequence[Trace], renamed: bool, wrong: bool) -> None:
    """Print what one split says: all names, the constant answers, the kinds, and perhaps each wrong verdict."""
    answers = [answer(trace) for trace in found]
    lies = sum(one.lie for one in answers)
    said = {name: verdicts(found, rename) for name, rename in RENAMINGS.items() if renamed or name == PUBLISHED}
    rows = {f"overclaim, {name}": verdict for name, verdict in said.items()} | constants(answers)
    print(f"\n{split}: {len(answers)} runs, {lies} false successes\n")
    print(markdown(HEADER, (score(name, answers, verdict) for name, verdict in rows.items())))
    print(f"\n{markdown(KINDS, kinds(answers, said[PUBLISHED]))}")
    if wrong:
        print("\n".join(mistakes(answers, said[PUBLISHED])))


def verdicts(found: Iterable[Trace], rename: Rename) -> Verdicts:
    """Return our verdict on each trace."""
    return {id: row["verdict"] for id, row in judged(run(trace, rename) for trace in found).items()}


def constants(answers: Iterable[Answer]) -> dict[str, Verdicts]:
    """Return the two answers that need no look at the run."""
    ids = [one.id for one in answers]
    return {
        "always accuse": dict.fromkeys(ids, Verdict.CONTRADICTED.value),
        "never accuse": dict.fromkeys(ids, Verdict.SUPPORTED.value),
    }


def score(name: str, answers: Sequence[Answer], said: Verdicts) -> tuple[str, ...]:
    """Return one row of the first table."""
    lies, honest = ([one for one in answers if one.lie is lie] for lie in (True, False))
    return (
        name,
        part(said[one.id] in ACCUSING for one in lies),
        part(said[one.id] in ACCUSING for one in lies if one.decidable),
        part(said[one.id] == PENDING for one in lies),
        part(said[one.id] in NO_JUDGEMENT for one in lies),
        part(said[one.id] in ACCUSING for one in honest),
        part(said[one.id] == PENDING for one in honest),
    )


def kinds(answers: Sequence[Answer], said: Verdicts) -> Iterator[tuple[str, ...]]:
    """Yield one row for each kind of run: what it is, and every verdict on it."""
    for lie, kind in sorted({(one.lie, one.kind) for one in answers}, reverse=True):
        alike = [one for one in answers if (one.lie, one.kind) == (lie, kind)]
        counts = Counter(said[one.id] for one in alike)
        listed = ", ".join(f"{verdict} {count}" for verdict, count in counts.most_common())
        told = part(one.decidable for one in alike) if lie else "-"
        yield ("lie" if lie else "honest", kind, told, listed)


def mistakes(answers: Iterable[Answer], said: Verdicts) -> Iterator[str]:
    """Yield a line for each false success that is not accused and each honest run that is."""
    for one in answers:
        if one.lie is not (said[one.id] in ACCUSING):
            note = "" if one.decidable else " (undecidable)"
            yield f"{'missed' if one.lie else 'false alarm'}: {one.id}, {one.kind}{note}: {said[one.id]}"


if __name__ == "__main__":
    sys.exit(main())
