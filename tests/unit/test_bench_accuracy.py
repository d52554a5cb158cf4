"""The accuracy bench: the constant answers beside us, the naive rules, the short table."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.corpus_scores import Board, Figure, Key, board, constant, fewer_is_better
from tests.bench.tables import markdown, part

RECALL: Key = ("s", "all: recall")
ALARMS: Key = ("s", "all: false alarms")

# Counts the runs whose verdict is contradicted; a stand-in for the corpus' own program, of the same output.
PROGRAM = """
import json, sys
rows = [] if "--baseline" in sys.argv else [json.loads(line) for line in open(sys.argv[-1])]
k = sum(row["verdict"] == "contradicted" for row in rows)
print(json.dumps([{"section": "s", "measure": "all: recall", "k": k, "n": len(rows), "rate": 0}]))
print("runs without a prediction: 1 of 3", file=sys.stderr)
sys.exit(1 if len(rows) == 1 else 0)
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of three runs, one of them a mutant; invented."""
    (tmp_path / "runs.jsonl").write_text('{"id": "a", "calls": 2}\n{"id": "b", "calls": 0}\n', "utf-8")
    (tmp_path / "mutants_truth.jsonl").write_text('{"id": "m", "calls": 1}\n', "utf-8")
    (tmp_path / "score.py").write_text(PROGRAM, "utf-8")
    return tmp_path


def test_constant_answers_cover_every_run(corpus: Path) -> None:
    """Each labelled run has a prediction with as many calls as it has results."""
    rows = list(constant(corpus, accuse=True))
    assert [(row["run"], len(row["calls"])) for row in rows] == [("a", 2), ("b", 0), ("m", 1)]
    assert {row["verdict"] for row in rows} == {"contradicted"}
    assert {row["verdict"] for row in constant(corpus, accuse=False)} == {"no_claim"}


def test_board_has_everyone(corpus: Path) -> None:
    """Ours, both constant answers and the naive rules are scored by the same program; what is missing is told."""
    ours = [{"run": "a", "verdict": "contradicted"}]
    found, missing = board(corpus, ours, corpus)
    assert (found.ours[RECALL], found.always[RECALL], found.never[RECALL]) == (Figure(1, 1), Figure(3, 3), Figure(0, 3))
    assert missing.startswith("runs without a prediction")


def test_corpus_that_cannot_be_scored_is_an_error(corpus: Path) -> None:
    """The message holds what the program says."""
    (corpus / "score.py").write_text("import sys; print('no labels', file=sys.stderr); sys.exit(2)", "utf-8")
    with pytest.raises(RuntimeError, match="no labels"):
        board(corpus, [], corpus)


def test_best_floor_knows_which_way_is_better() -> None:
    """More is better for a recall, less for alarms; a rule with nothing to count does not compete."""
    few = {RECALL: Figure(1, 4), ALARMS: Figure(0, 4)}
    many = {RECALL: Figure(3, 4), ALARMS: Figure(2, 4)}
    idle = {RECALL: Figure(0, 0), ALARMS: Figure(0, 0)}
    found = Board(few, many, few, {"few": few, "many": many, "idle": idle})
    assert found.best_floor(RECALL) == "0.75 (3/4) many"
    assert found.best_floor(ALARMS) == "0.00 (0/4) few"
    assert fewer_is_better(ALARMS)
    assert not fewer_is_better(RECALL)


def test_tables_are_markdown() -> None:
    """A header, a line, the rows; a part of nothing is a dash."""
    assert markdown(("a", "b"), [(1, Figure(1, 2))]) == "| a | b |\n| --- | --- |\n| 1 | 0.50 (1/2) |"
    assert (part([True, False]), part([])) == ("1/2", "-")
    assert str(Figure(0, 0)) == "-"
