"""How sure the verdicts are, and how often they are right: the reliability table, and the values to use.

    python -m tests.bench.calibration CORPUS [--cases DIR ...] [--fit]

A verdict is right where it accuses a false success or leaves another run alone. Labelled are: the runs of CORPUS with a
relation between claim and calls, its mutants, its runs with full reward (taken for honest), and the cases in each DIR.
--fit prints sdk/overclaim/outcome/lexicons/confidence.toml as these runs have it. The table is made by two-fold
cross-validation: each half is predicted by what was fitted on the other. The sets are not what a user's traffic is
like, with its own share of false successes: the order of the values carries over, their level less.

Fit: the share of right verdicts of a rule is (k + 1/2) / (n + 1) (Jeffreys' prior), that of one kind of it is shrunk
towards the rule's by STRENGTH pseudo-observations (beta-binomial posterior mean). No value is above CEILING: many of
these runs were looked at while the rules were made, and no run of somebody else's is that sure.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import cases
from tests.bench.judging import ACCUSING
from tests.bench.tables import markdown

from overclaim.checking import Checked, check_files
from overclaim.outcome.confidence import UNMEASURED, kind
from overclaim.outcome.lexicon import table
from overclaim.outcome.model import ClaimVerdict, Grade, Judgement

STRENGTH = 10.0
CEILING = 0.99
BINS = (0.0, 0.7, 0.8, 0.9, 0.95, 0.98, 1.01)
SILENT = ("run.incomplete", "operation.outcome_unknown", "")  # rules that say nothing
HEAD = """\
# How often verdicts of one kind were right about whether too much is claimed, on labelled runs: right/seen.
# Made by `python -m tests.bench.calibration CORPUS --cases DIR --fit`, which says how. any: of the rule as a whole."""
HEADER = ("confidence", "verdicts", "mean confidence", "right")
THRESHOLDS = ("threshold", "accusations", "of them right", "false successes accused")


class Item(NamedTuple):
    """One labelled verdict: of what kind it is, whether it accuses, whether it should."""

    run: str
    rule: str
    kind: str
    accuses: bool
    lie: bool

    @property
    def right(self) -> bool:
        """Whether it accuses whom it should, and nobody else."""
        return self.accuses == self.lie

    @property
    def half(self) -> int:
        """Which half of the data: variants of one run stay together."""
        base = self.run.split("/", 2)[2] if self.run.startswith("mutant/") else self.run
        return sha256(base.encode()).digest()[0] % 2


Values = Mapping[tuple[str, str], float]
"""Confidence by rule and kind; the kind "any" is the rule's own."""


def main() -> int:
    """Print the tables, or the values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--cases", type=Path, nargs="*", default=[])
    parser.add_argument("--fit", action="store_true", help="print the values")
    given = parser.parse_args()
    found = [*of_cases(given.cases), *of_corpus(given.corpus)]
    print(toml(found) if given.fit else report(found))
    return 0


def of_cases(folders: Iterable[Path]) -> Iterator[Item]:
    """Yield the verdicts on hard cases."""
    for folder in folders:
        hard = cases.load(folder)
        lies = {case["id"]: not cases.accepted(case) - ACCUSING for case in hard}
        yield from judged(map(cases.question, hard), lies)


def of_corpus(corpus: Path) -> Iterator[Item]:
    """Yield the verdicts on the labelled runs of a corpus."""
    lies = labels(corpus)
    yield from judged((run for run in runs(corpus) if run["id"] in lies), lies)


def labels(corpus: Path) -> dict[str, bool]:
    """Return which runs claim a success that is none."""
    honest = {row["id"]: False for row in rows(corpus / "runs.jsonl") if row["reward"] == 1 and row["calls"]}
    relations = rows(corpus / "labels_contradiction.jsonl")
    related = {row["id"]: row["relation"] in ("overclaim", "unsupported") for row in relations}
    made = {row["id"]: row["variant"] != "control" for row in rows(corpus / "mutants_truth.jsonl")}
    return honest | related | made


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines."""
    return map(json.loads, path.read_text("utf-8").splitlines())


def runs(corpus: Path) -> Iterator[dict[str, Any]]:
    """Yield every run of the sets."""
    for path in sorted(corpus.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if '"messages":' in line)


def judged(questions: Iterable[Mapping[str, Any]], lies: Mapping[str, bool]) -> Iterator[Item]:
    """Yield the verdict on each run that says something, beside its label."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.jsonl")
        path.write_text("".join(json.dumps(run) + "\n" for run in questions), "utf-8")
        for found in check_files([str(path)]):
            if isinstance(found, Checked) and found.judgement.rule not in SILENT:
                yield item(found.judgement, lies[found.judgement.run.id])


def item(judgement: Judgement, lie: bool) -> Item:
    """Return a verdict with the kind that its leading claim makes it."""
    worst = (one for one in judgement.claims if one.verdict is judgement.verdict)
    leading = max(worst, key=lambda one: one.confidence)
    deed = bool(leading.claim.claim.action)
    return Item(
        judgement.run.id, judgement.rule, kind(sure=sure(judgement, leading), deed=deed), judgement.verdict.accuses, lie
    )


def sure(judgement: Judgement, leading: ClaimVerdict) -> bool:
    """Tell whether all calls that show it have structured evidence."""
    grades = {call.index: call.observed.grade for call in judgement.run.calls}
    shown = [grades[index] is Grade.STRUCTURED for index in leading.calls]
    return leading.rule.startswith("operation.") and bool(shown) and all(shown)


def fit(found: Iterable[Item]) -> Values:
    """Return the confidence of each rule and kind."""
    right, seen = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in found:
        for what in ("any", one.kind):
            seen[one.rule, what] += 1
            right[one.rule, what] += one.right
    whole = {rule: (right[rule, "any"] + 0.5) / (seen[rule, "any"] + 1) for rule, what in seen if what == "any"}
    shrunk = {
        (rule, what): whole[rule] if what == "any" else (right[rule, what] + STRENGTH * whole[rule]) / (n + STRENGTH)
        for (rule, what), n in seen.items()
    }
    return {place: min(value, CEILING) for place, value in shrunk.items()}


def predicted(values: Values, one: Item) -> float:
    """Return how sure these values are of a verdict."""
    return values.get((one.rule, one.kind), values.get((one.rule, "any"), UNMEASURED))


def crossed(found: Sequence[Item]) -> list[tuple[float, Item]]:
    """Return each verdict with the confidence that the other half gives it."""
    halves = [fit(one for one in found if one.half != half) for half in (0, 1)]
    return [(predicted(halves[one.half], one), one) for one in found]


def report(found: Sequence[Item]) -> str:
    """Return the reliability of all verdicts and of accusations, the scores, and what a threshold does."""
    pairs = crossed(found)
    accused = [pair for pair in pairs if pair[1].accuses]
    lies = sum(one.lie for one in found)
    parts = [
        f"{len(found)} verdicts; Brier score {brier(pairs):.3f}, expected calibration error {error(pairs):.3f}",
        "all verdicts\n\n" + markdown(HEADER, reliability(pairs)),
        "accusations\n\n" + markdown(HEADER, reliability(accused)),
        markdown(THRESHOLDS, (threshold(accused, at, lies) for at in BINS[:-1])),
    ]
    return "\n\n".join(parts)


def reliability(pairs: Sequence[tuple[float, Item]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each bin that holds anything."""
    for low, high in pairwise(BINS):
        held = [(value, one.right) for value, one in pairs if low <= value < high]
        if held:
            mean = sum(value for value, _ in held) / len(held)
            share = sum(right for _, right in held) / len(held)
            yield f"{low:.2f} to {min(high, 1):.2f}", str(len(held)), f"{mean:.3f}", f"{share:.3f}"


def brier(pairs: Sequence[tuple[float, Item]]) -> float:
    """Return the mean squared difference between confidence and truth (Brier 1950)."""
    return sum((value - one.right) ** 2 for value, one in pairs) / len(pairs)


def error(pairs: Sequence[tuple[float, Item]]) -> float:
    """Return the mean difference between confidence and share of right verdicts, over the bins."""
    return sum(int(n) * abs(float(mean) - float(share)) for _, n, mean, share in reliability(pairs)) / len(pairs)


def threshold(accused: Sequence[tuple[float, Item]], at: float, lies: int) -> tuple[str, ...]:
    """Return what is left of the accusations above a threshold."""
    kept = [one for value, one in accused if value >= at]
    right = sum(one.lie for one in kept)
    return f"{at:.2f}", str(len(kept)), f"{right}/{len(kept)}", f"{right}/{lies}"


def toml(found: Sequence[Item]) -> str:
    """Return the file with these values and the counts they come from; rules that were not met are kept in it."""
    values, lines = fit(found), defaultdict[str, list[str]](list)
    seen, right = tally(found, lambda _: True), tally(found, lambda one: one.right)
    for (rule, what), value in sorted(values.items(), key=lambda one: (one[0][0], one[0][1] != "any", one[0][1])):
        name = what if what == "any" else f'"{what}"'
        lines[rule].append(f"{name} = {value:.3f}  # {right[rule, what]}/{seen[rule, what]}")
    for rule in table("confidence").keys() - lines.keys():
        lines[rule] = ["any = 1.0  # says nothing"] if rule in SILENT else [f"any = {UNMEASURED}  # not met"]
    return "\n\n".join([HEAD, *("\n".join([f'["{rule}"]', *told]) for rule, told in sorted(lines.items()))])


def tally(found: Iterable[Item], wanted: Callable[[Item], bool]) -> Counter[tuple[str, str]]:
    """Count verdicts by rule and kind, and by rule alone."""
    return Counter((one.rule, what) for one in found if wanted(one) for what in ("any", one.kind))


if __name__ == "__main__":
    raise SystemExit(main())
