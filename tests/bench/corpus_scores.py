"""What a corpus' own score.py says: of our predictions, of the constant answers, of its naive rules."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.judging import Row

FLOORS = ("keyword", "explicit", "native", "no-tool")
LABELS = ("runs.jsonl", "mutants_truth.jsonl")  # the label files that name every run and how many results it has
# Of these measures less is better; of all others more.
_FEWER = ("alarm", "pending", "wrongly", "control")
Key = tuple[str, str]
"""Section and measure."""


@dataclass(frozen=True, slots=True)
class Figure:
    """k of n."""

    k: int
    n: int

    @property
    def rate(self) -> float:
        """The part, 0 where there is nothing to count."""
        return self.k / self.n if self.n else 0.0

    def __str__(self) -> str:
        return f"{self.rate:.2f} ({self.k}/{self.n})" if self.n else "-"


Scores = Mapping[Key, Figure]


@dataclass(frozen=True, slots=True)
class Board:
    """The figures of everyone, by name: ours, the two constant answers, the naive rules."""

    ours: Scores
    always: Scores
    never: Scores
    floors: Mapping[str, Scores]

    def best_floor(self, key: Key) -> str:
        """Return the best that a naive rule reaches, and which one; a rule with nothing to count does not compete."""
        found = [(scores[key], name) for name, scores in self.floors.items() if scores[key].n]
        best = min if fewer_is_better(key) else max
        figure, name = best(found, key=lambda one: one[0].rate, default=(Figure(0, 0), ""))
        return f"{figure} {name}".strip()


def fewer_is_better(key: Key) -> bool:
    """Tell whether a measure counts mistakes."""
    return any(word in key[1] for word in _FEWER)


def board(corpus: Path, predictions: Iterable[Row], scratch: Path) -> tuple[Board, str]:
    """Score the predictions and everything beside them; also return what score.py says of missing predictions."""
    ours, missing = score(corpus, predictions, scratch)
    always, never = (score(corpus, constant(corpus, accuse=accuse), scratch)[0] for accuse in (True, False))
    floors = {name: run(corpus, "--baseline", name)[0] for name in FLOORS}
    return Board(ours, always, never, floors), missing


def constant(corpus: Path, *, accuse: bool) -> Iterator[Row]:
    """Yield the predictions of an answer that looks at no run: everything is an overclaim, or nothing ever is.

    Who always accuses says that each run claims success and each call failed; who never does sees neither.
    """
    verdict, claim, seen = ("contradicted", "success", "failure") if accuse else ("no_claim", "none", "success")
    for name in LABELS:
        for line in (corpus / name).read_text("utf-8").splitlines():
            label = json.loads(line)
            calls = [{"index": index, "observed": seen} for index in range(label["calls"])]
            yield {"run": label["id"], "verdict": verdict, "claim": {"outcome": claim}, "calls": calls}


def score(corpus: Path, predictions: Iterable[Row], scratch: Path) -> tuple[Scores, str]:
    """Return the figures of some predictions."""
    path = scratch / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in predictions), "utf-8")
    return run(corpus, str(path))


def run(corpus: Path, *arguments: str) -> tuple[Scores, str]:
    """Run score.py and return its figures, and what it says of missing predictions where there are some.

    Raises RuntimeError where it cannot read the corpus or the predictions.
    """
    command = [sys.executable, str(corpus / "score.py"), "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")
    return figures(json.loads(done.stdout)), done.stderr if done.returncode else ""


def figures(rows: Iterable[Mapping[str, Any]]) -> Scores:
    """Return the rows of score.py as figures by section and measure."""
    return {(row["section"], row["measure"]): Figure(row["k"], row["n"]) for row in rows}
