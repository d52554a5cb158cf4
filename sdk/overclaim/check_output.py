"""What `overclaim check` prints for programs: one row per run as JSON, and the counts over all runs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from overclaim.checking import Checked
from overclaim.outcome.model import Call, Evidence, Finding, Judgement, Outcome, Verdict

_CLAIMED = {Outcome.SUCCESS, Outcome.FAILURE, Outcome.PARTIAL}
_OBSERVED = {Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY}
_FACTS = 64  # evidence per finding in a row


def row(checked: Checked) -> dict[str, Any]:
    """Return the row of a run for JSON lines; calls that have no result are left out of it."""
    judged = checked.judgement
    claimed = judged.run.claimed
    return {
        "run": judged.run.id,
        "verdict": judged.verdict.value,
        "claim": {"outcome": (claimed if claimed in _CLAIMED else Outcome.NONE).value},
        "calls": [_call_row(call, judged) for call in judged.run.calls[: checked.answered]],
        "findings": [_finding_row(finding, judged) for finding in judged.findings],
    }


def full_row(checked: Checked) -> dict[str, Any]:
    """Return the row of a run with what JSON lines leave out: rule, confidence, gaps, place, open calls."""
    judged = checked.judgement
    return row(checked) | {
        "rule": judged.rule,
        "confidence": judged.confidence,
        "gaps": list(judged.run.gaps),
        "file": checked.file,
        "place": checked.place,
        "open_calls": [_call_row(call, judged) for call in judged.run.calls[checked.answered :]],
    }


def _call_row(call: Call, judged: Judgement) -> dict[str, Any]:
    seen = call.observed.outcome
    return {
        "index": call.index,
        "id": call.id,
        "tool": call.tool,
        "observed": (seen if seen in _OBSERVED else Outcome.UNKNOWN).value,
        "evidence": [fact.rule for fact in call.observed.evidence],
        "recovered": call.index in judged.recovered,
    }


def _finding_row(finding: Finding, judged: Judgement) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "title": finding.title,
        "confidence": finding.confidence,
        "calls": list(finding.calls),
        "claim": finding.claim.claim.text if finding.claim else None,
        "evidence": [_evidence_row(fact) for fact in finding.evidence[:_FACTS]],
    }


def violations(judged: Judgement) -> list[Finding]:
    """Return the findings about declared procedures."""
    return [finding for finding in judged.findings if any(fact.kind == "procedure" for fact in finding.evidence)]


def _evidence_row(fact: Evidence) -> dict[str, str]:
    return {"kind": fact.kind, "rule": fact.rule, "value": fact.value, "span_id": fact.span_id}


def json_line(value: object) -> str:
    """Return `value` as one line of ASCII JSON, which every terminal and encoding can carry."""
    return json.dumps(value, separators=(", ", ": "))


@dataclass(slots=True)
class Summary:
    """Counts over all runs and problems. Accusations of less than min_confidence are counted as unsure, too."""

    min_confidence: float = 0.0
    unsure: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter[Verdict])
    gaps: Counter[str] = field(default_factory=Counter[str])
    unreadable: int = 0
    violating: int = 0

    def add(self, judged: Judgement) -> None:
        """Count one run; one that could not be judged counts with the first reason why."""
        self.verdicts[judged.verdict] += 1
        self.violating += bool(violations(judged))
        self.unsure += judged.verdict.accuses and judged.confidence < self.min_confidence
        if judged.verdict is Verdict.INCOMPLETE:
            self.gaps[(*judged.run.gaps, judged.rule or "unknown")[0]] += 1

    @property
    def accused(self) -> int:
        """How many runs claim too much."""
        return sum(count for verdict, count in self.verdicts.items() if verdict.accuses)

    def line(self) -> str:
        """Return the counts as one line."""
        total = self.verdicts.total()
        accused = [f"{n} {v.value}" for v, n in sorted(self.verdicts.items()) if v.accuses]
        lost = ", ".join(f"{reason} {n}" for reason, n in self.gaps.most_common())
        parts = [
            f"{total} run{'' if total == 1 else 's'}",
            f"{self.accused} accused" + (f" ({', '.join(accused)})" if accused else ""),
            f"{self.verdicts[Verdict.INCOMPLETE]} could not be judged" + (f" ({lost})" if lost else ""),
        ]
        if self.unsure:
            parts.append(f"{self.unsure} of the accusations below confidence {self.min_confidence:g}")
        if self.violating:
            parts.append(f"{self.violating} break{'s' if self.violating == 1 else ''} a procedure")
        if self.unreadable:
            parts.append(f"{self.unreadable} unreadable (see the messages)")
        return ", ".join(parts)

    def as_row(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        return {
            "runs": self.verdicts.total(),
            "accused": self.accused,
            "verdicts": {verdict.value: count for verdict, count in sorted(self.verdicts.items())},
            "gaps": dict(self.gaps),
            "unreadable": self.unreadable,
            "violating": self.violating,
            "unsure": self.unsure,
        }
