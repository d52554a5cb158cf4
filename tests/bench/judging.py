"""Runs in, verdicts out: the way the benches call what they measure."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from overclaim.check_output import row
from overclaim.checking import Checked, check_files
from overclaim.outcome.model import Verdict

ACCUSING = frozenset(verdict.value for verdict in Verdict if verdict.accuses)
NO_JUDGEMENT = frozenset({Verdict.NO_CLAIM.value, Verdict.INCOMPLETE.value})

Row = dict[str, Any]


def predictions(path: Path) -> Iterator[Row]:
    """Yield what `overclaim check` says of each run in a file."""
    return (row(found) for found in check_files([str(path)]) if isinstance(found, Checked))


def judged(runs: Iterable[Mapping[str, Any]]) -> dict[str, Row]:
    """Return what `overclaim check` says of each run, by the id of the run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.jsonl")
        path.write_text("".join(json.dumps(run) + "\n" for run in runs), "utf-8")
        return {row["run"]: row for row in predictions(path)}
