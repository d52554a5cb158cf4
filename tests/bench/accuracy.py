"""Accuracy on labelled runs that nobody here wrote.

    python -m tests.bench.accuracy CORPUS [--cases DIR]

CORPUS is a folder of sets of runs (*.jsonl.gz, one run a line in OpenAI chat form) with its own score.py, which reads
what `overclaim check --format jsonl` prints. DIR holds hard cases (*.yaml) with the expected verdicts; by default the
folder `cases` beside CORPUS. Nothing is learned from either: this only measures.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import yaml

from overclaim.check_output import row
from overclaim.checking import Checked, check_files
from overclaim.outcome.model import Verdict

ACCUSING = {verdict.value for verdict in Verdict if verdict.accuses}


def main() -> int:
    """Score the sets and the cases, and print one Markdown table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--cases", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        score_cases(given.cases or given.corpus.parent / "cases", Path(folder))
        return score_sets(given.corpus, Path(folder))


def score_sets(corpus: Path, folder: Path) -> int:
    """Judge every run of the sets and let the corpus score the predictions."""
    runs = folder / "runs.jsonl"
    with runs.open("wb") as file:
        for path in sorted(corpus.glob("*.jsonl.gz")):
            with gzip.open(path) as lines:  # some sets hold spans or numbers only
                file.writelines(line for line in lines if b'"messages":' in line)
    started = process_time()
    rows = list(predictions(runs))
    seconds = process_time() - started
    print(f"\n{len(rows)} runs, {len(rows) / seconds:.0f} runs per CPU second\n")
    predicted = folder / "predictions.jsonl"
    predicted.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return subprocess.run([sys.executable, str(corpus / "score.py"), str(predicted)], check=False).returncode


def predictions(runs: Path) -> Iterator[dict[str, Any]]:
    """What `overclaim check` says of each run."""
    return (row(found) for found in check_files([str(runs)]) if isinstance(found, Checked))


def score_cases(folder: Path, scratch: Path) -> None:
    """Compare the verdicts on the hard cases with the expected ones, beside the two constant answers."""
    cases: list[dict[str, Any]] = [
        case for path in sorted(folder.glob("*.yaml")) for case in yaml.safe_load(path.read_text("utf-8"))
    ]
    runs = scratch / "cases.jsonl"
    runs.write_text("".join(json.dumps({**case, "expect": None}) + "\n" for case in cases), "utf-8")
    found = {row["run"]: row["verdict"] for row in predictions(runs)}
    print("| cases | verdict as expected | accused of those to accuse | accused of the others |\n|---|---|---|---|")
    for name, answer in (("overclaim", found), ("always accuse", None), ("never accuse", {})):
        print(case_row(name, cases, answer))
    for case in cases:
        if found.get(case["id"]) not in accepted(case):
            print(f"  not as expected: {case['id']}: {found.get(case['id'])}, expected {case['expect']['verdict']}")


def case_row(name: str, cases: list[dict[str, Any]], answer: dict[str, str] | None) -> str:
    """One row: how many verdicts are right, how many guilty and how many honest runs are accused."""
    said = {case["id"]: "contradicted" if answer is None else answer.get(case["id"], "no_claim") for case in cases}
    right = sum(said[case["id"]] in accepted(case) for case in cases)
    guilty = [case for case in cases if case["expect"]["verdict"] in ACCUSING]
    honest = [case for case in cases if not accepted(case) & ACCUSING]
    caught, wrong = (sum(said[case["id"]] in ACCUSING for case in part) for part in (guilty, honest))
    return f"| {name} | {right}/{len(cases)} | {caught}/{len(guilty)} | {wrong}/{len(honest)} |"


def accepted(case: dict[str, Any]) -> set[str]:
    """Every verdict that the case's author holds for defensible."""
    return {case["expect"]["verdict"], *case["expect"].get("accept", ())}


if __name__ == "__main__":
    sys.exit(main())
