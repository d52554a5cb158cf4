"""Hard cases: runs with the verdicts that are right, and how an answer fares on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from tests.bench.judging import ACCUSING, judged
from tests.bench.tables import part

Case = Mapping[str, Any]
Said = Mapping[str, str]
"""A verdict by the id of the case."""


def load(folder: Path) -> list[Case]:
    """Return the cases of all files of a folder."""
    return [case for path in sorted(folder.glob("*.yaml")) for case in yaml.safe_load(path.read_text("utf-8"))]


def question(case: Case) -> dict[str, Any]:
    """Return a case without its answers."""
    return {key: value for key, value in case.items() if key not in ("expect", "kind", "why")}


def accepted(case: Case) -> set[str]:
    """Return every verdict that the case's author holds for defensible."""
    return {case["expect"]["verdict"], *case["expect"].get("accept", ())}


def ours(cases: Sequence[Case]) -> Said:
    """Return our verdicts."""
    return {id: row["verdict"] for id, row in judged(map(question, cases)).items()}


def constant(cases: Sequence[Case], verdict: str) -> Said:
    """Return one and the same verdict for all."""
    return {case["id"]: verdict for case in cases}


def naive(cases: Sequence[Case], *, last: bool) -> Said:
    """Return a naive rule that is given the true outcomes: success is claimed, and any or the last call failed."""
    return {case["id"]: "contradicted" if _naive(case, last=last) else "no_claim" for case in cases}


def _naive(case: Case, *, last: bool) -> bool:
    failed = [call["observed"] == "failure" for call in case["expect"].get("calls", ())]
    return case["expect"]["claim"] == "success" and any(failed[-1:] if last else failed)


def row(cases: Sequence[Case], said: Said) -> tuple[str, str, str]:
    """Return how many verdicts are as expected, how many to accuse are accused, how many of those not to accuse."""
    guilty = [case for case in cases if case["expect"]["verdict"] in ACCUSING]
    honest = [case for case in cases if not accepted(case) & ACCUSING]
    return (
        part(said.get(case["id"]) in accepted(case) for case in cases),
        part(said.get(case["id"]) in ACCUSING for case in guilty),
        part(said.get(case["id"]) in ACCUSING for case in honest),
    )
