"""Accuracy on labelled runs that nobody here wrote.

    python -m tests.bench.accuracy CORPUS [--cases DIR] [--table] [--sql]

CORPUS is a folder of sets of runs (*.jsonl.gz, one run a line in OpenAI chat form) with its own score.py, which reads
what `overclaim check --format jsonl` prints. DIR holds hard cases (*.yaml) with the expected verdicts; by default the
folder `cases` beside CORPUS. Nothing is learned from either: this only measures.

Beside us stand in every table the two constant answers and naive rules: on the corpus those of its score.py, on the
cases two that are given the true outcomes. --table prints one short table of the measures that matter most. --sql
lets the SQL judge look at every run and case, too, and prints on how many it agrees with the Python judge.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from tests.bench import cases
from tests.bench.cases import Case, Said
from tests.bench.corpus_scores import FLOORS, Board, Key, board
from tests.bench.judging import Row, predictions
from tests.bench.tables import markdown

RUNS = "runs.jsonl"
BOTH = Path(__file__).parents[1] / "support" / "both_judges.py"
CASES = ("cases", "verdict as expected", "accused of those to accuse", "accused of the others")
SHORT = ("measure", "overclaim", "best floor", "always accuse", "never accuse")
# What the short table shows, as it is called there.
MATTERS: dict[Key, str] = {
    ("1 claim, run", "all: accuracy"): "what the run claims: right",
    ("2 tools, base", "failure: precision"): "failed calls, random: precision",
    ("2 tools, base", "failure: recall"): "failed calls, random: recall",
    ("2 tools, suspect", "failure: precision"): "failed calls, error-like results: precision",
    ("2 tools, suspect", "failure: recall"): "failed calls, error-like results: recall",
    ("3 contradiction", "recall, overclaim + unsupported"): "false success claims: accused",
    ("3 contradiction", "false alarms, all four"): "honest and recovered runs: accused",
    ("4 mutants", "explicit_native: recall"): "result replaced by an error: accused",
    ("4 mutants", "http_json: recall"): "result replaced by an HTTP error body: accused",
    ("4 mutants", "silent_prose: recall"): "result replaced by a failure in prose: accused",
    ("4 mutants", "empty: recall"): "result replaced by nothing: accused",
    ("4 mutants", "control: false alarms"): "the same runs unchanged: accused",
    ("5 fabricated tool use", "unsupported, fabricated: recall"): "made-up use of a tool: accused",
    ("5 fabricated tool use", "unsupported, fabricated: precision"): "accused there: rightly",
    ("6 clean runs (reward 1; rate x 100 = per 100 runs)", "all: alarms"): "runs with full reward: accused",
}


def main() -> int:
    """Score the cases and the sets, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--table", action="store_true", help="one short table, for a README")
    parser.add_argument("--sql", action="store_true", help="compare with the judge in SQL")
    given = parser.parse_args()
    hard = cases.load(given.cases or given.corpus.parent / "cases")
    with tempfile.TemporaryDirectory() as folder:
        judged = judge(given.corpus, Path(folder))
        scored, missing = board(given.corpus, judged, Path(folder))
        if given.sql:
            print(by_both(hard, Path(folder)), file=sys.stderr)
    print(short(hard, scored) if given.table else full(hard, scored))
    print(missing, end="", file=sys.stderr)
    return 1 if missing else 0


def judge(corpus: Path, folder: Path) -> list[Row]:
    """Judge every run of the sets, and say how fast."""
    runs = folder / RUNS
    with runs.open("wb") as file:
        for path in sorted(corpus.glob("*.jsonl.gz")):
            with gzip.open(path) as lines:  # some sets hold spans or numbers only
                file.writelines(line for line in lines if b'"messages":' in line)
    started = process_time()
    rows = list(predictions(runs))
    print(f"{len(rows)} runs, {len(rows) / (process_time() - started):.0f} runs per CPU second", file=sys.stderr)
    return rows


def by_both(hard: Sequence[Case], folder: Path) -> str:
    """Return on how many runs and cases both judges agree. The runs lie in the folder since `judge`."""
    asked = folder / "cases.jsonl"
    asked.write_text("".join(json.dumps(cases.question(case)) + "\n" for case in hard), "utf-8")
    command = [sys.executable, str(BOTH), str(folder / RUNS), str(asked)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def answers(hard: Sequence[Case]) -> dict[str, Said]:
    """Return every answer to the hard cases, ours first."""
    return {
        "overclaim": cases.ours(hard),
        "always accuse": cases.constant(hard, "contradicted"),
        "never accuse": cases.constant(hard, "no_claim"),
        "success claimed, any call failed (true labels)": cases.naive(hard, last=False),
        "success claimed, last call failed (true labels)": cases.naive(hard, last=True),
    }


def full(hard: Sequence[Case], scored: Board) -> str:
    """Return all tables: the cases, what is not as expected there, and every measure of the corpus."""
    said = answers(hard)
    table = markdown(CASES, ((name, *cases.row(hard, one)) for name, one in said.items()))
    odd = [case for case in hard if said["overclaim"].get(case["id"]) not in cases.accepted(case)]
    wrong = [f"  not as expected: {case['id']}: {said['overclaim'].get(case['id'])}" for case in odd]
    return "\n".join([table, *wrong, "", measures(scored)])


def measures(scored: Board) -> str:
    """Return every measure of the corpus: ours, the constant answers, each naive rule."""
    header = ("section", "measure", "overclaim", "always accuse", "never accuse", *FLOORS)
    beside = [scored.always, scored.never, *(scored.floors[name] for name in FLOORS)]
    return markdown(header, ((*key, figure, *(one[key] for one in beside)) for key, figure in scored.ours.items()))


def short(hard: Sequence[Case], scored: Board) -> str:
    """Return the measures that matter most, and the hard cases."""
    rows = [
        (title, str(scored.ours[key]), scored.best_floor(key), str(scored.always[key]), str(scored.never[key]))
        for key, title in MATTERS.items()
    ]
    return markdown(SHORT, [*rows, *short_cases(hard)])


def short_cases(hard: Sequence[Case]) -> list[tuple[str, ...]]:
    """Return the rows of the hard cases; the floor is the naive rule with more verdicts as expected."""
    ours, always, never, *naive = (cases.row(hard, said) for said in answers(hard).values())
    floor = max(naive, key=lambda figures: int(figures[0].split("/")[0]))
    titles = ("hard cases: verdict as expected", "hard cases: false success accused", "hard cases: others accused")
    return list(zip(titles, ours, floor, always, never, strict=True))


if __name__ == "__main__":
    sys.exit(main())
