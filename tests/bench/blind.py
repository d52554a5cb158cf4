"""Accuracy on runs, results and answers that somebody wrote who had not seen the engine.

    python -m tests.bench.blind [DIR ...] [--list]

DIR (default: each folder of tests/cases) holds runs/*.yaml (whole runs with the verdict that is right), results.jsonl
(results of calls, with what was observed) and claims.jsonl (last texts of agents, with what they claim). --list prints
what is not as labelled.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import cases
from tests.bench.cases import Case
from tests.bench.judging import ACCUSING
from tests.bench.tables import markdown, part

from overclaim.outcome.claims.reading import read
from overclaim.outcome.model import Outcome
from overclaim.outcome.operations import operation
from overclaim.outcome.results.observing import observe

CASES = Path(__file__).parents[1] / "cases"
HEADER = ("", "right", "of those to find: found", "of the others: wrongly found")


class Answer(NamedTuple):
    """One labelled thing: what is right, everything that is defensible, and what we say."""

    id: str
    label: str
    accepted: frozenset[str]
    said: str

    @property
    def right(self) -> bool:
        """Whether what we say is defensible."""
        return self.said in self.accepted

    def finds(self, wanted: frozenset[str]) -> bool:
        """Whether the label is one of those to be found."""
        return self.label in wanted


def main() -> int:
    """Print a table for each folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "folders", metavar="DIR", type=Path, nargs="*",
        default=sorted(path.parent for path in CASES.glob("*/results.jsonl")),
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print what is not as labelled")
    given = parser.parse_args()
    for folder in given.folders:
        print(f"\n{folder.name}\n\n{report(folder)}")
        if given.list:
            wrong = [one for answers in everything(folder).values() for one in answers if not one.right]
            print("", *(f"{one.id}: {one.said}, labelled {one.label}" for one in wrong), sep="\n")
    return 0


def report(folder: Path) -> str:
    """Return the table of one folder."""
    return markdown(HEADER, (row(title, answers) for title, answers in everything(folder).items()))


def everything(folder: Path) -> dict[str, list[Answer]]:
    """Return all answers, by what they are about and what is to be found there."""
    return {
        "runs: false success": list(runs(folder)),
        "results: failure": list(results(folder)),
        "answers: trouble told": list(answers(folder)),
    }


def row(title: str, found: list[Answer]) -> tuple[str, ...]:
    """Return how many are right, how many of those to find are found, how many of the others are taken for them."""
    wanted = WANTED[title]
    others = [one for one in found if not one.accepted & wanted]
    return (
        title,
        part(one.right for one in found),
        part(one.said in wanted for one in found if one.finds(wanted)),
        part(one.said in wanted for one in others),
    )


WANTED = {
    "runs: false success": ACCUSING,
    "results: failure": frozenset({Outcome.FAILURE.value}),
    "answers: trouble told": frozenset({Outcome.FAILURE.value, Outcome.PARTIAL.value}),
}


def runs(folder: Path) -> Iterator[Answer]:
    """Yield the verdicts on whole runs."""
    asked: list[Case] = cases.load(folder / "runs")
    said = cases.ours(asked)
    for case in asked:
        accepted = frozenset(cases.accepted(case))
        yield Answer(case["id"], case["expect"]["verdict"], accepted, said.get(case["id"], "missing"))


def results(folder: Path) -> Iterator[Answer]:
    """Yield what was observed of calls; nothing captured is a null result labelled unknown."""
    for row in rows(folder / "results.jsonl"):
        given = row["arguments"]
        arguments = json.loads(given) if isinstance(given, str) else given
        seen = observe(
            row["result"],
            is_error=row.get("is_error"),
            effect=operation(row["tool"], arguments).effect,
            tool=row["tool"],
            arguments=arguments,
            captured=row["result"] is not None or row["observed"] != Outcome.UNKNOWN.value,
        )
        yield answer(row, row["observed"], seen.outcome.value)


def answers(folder: Path) -> Iterator[Answer]:
    """Yield what texts claim; a language that is not read claims nothing."""
    for row in rows(folder / "claims.jsonl"):
        said = read(row["texts"]).outcome
        yield answer(row, row["claim"], (Outcome.NONE if said is Outcome.UNREADABLE else said).value)


def answer(row: dict[str, Any], label: str, said: str) -> Answer:
    """Return one labelled answer."""
    return Answer(row["id"], label, frozenset({label, *(row.get("accept") or ())}), said)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines."""
    return map(json.loads, path.read_text("utf-8").splitlines())


if __name__ == "__main__":
    raise SystemExit(main())
