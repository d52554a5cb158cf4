"""A finding on its way out: what it says, without content of the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_NAMES: Final = {
    "OC101": "overclaim.contradiction",
    "OC102": "overclaim.unsupported",
    "OC103": "overclaim.pending",
    "OC104": "overclaim.tool_claim",
    "OC105": "overclaim.tool_claim",
    "OC310": "overclaim.drift",
}
_FAMILIES: Final = {"OC2": "overclaim.silent_failure", "OC3": "overclaim.behaviour", "OC4": "overclaim.procedure"}
_LABELS: Final = {"OC101": "contradicted", "OC102": "unsupported", "OC103": "pending"}
# Of facts only numbers as short as a status or an exit code leave: others may be what somebody wrote.
_CODE: Final = re.compile(r"-?\d{1,4}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding as it stands. at: start of the run, Unix nanoseconds. version: the pass that wrote it.

    known: whether the receiver has an earlier version of it, as standing. confidence: of the verdict on the claim, None
    without one.
    """

    id: str
    rule: str
    severity: str
    title: str
    trace_id: str
    run_span_id: str
    claim: int
    span_id: str
    evidence_rule: str
    evidence_value: str
    service: str
    environment: str
    agent: str
    agent_version: str
    model: str
    tool: str
    at: int
    open: bool
    version: int
    mark: int
    known: bool
    confidence: float | None = None

    @property
    def event_id(self) -> str:
        """The same whenever the same version is sent again, so that a receiver can drop it."""
        return f"{self.id}-{self.version}"

    @property
    def state(self) -> str:
        """What is new: opened, changed or retracted."""
        return "retracted" if not self.open else "changed" if self.known else "opened"

    @property
    def name(self) -> str:
        """What was evaluated, as gen_ai.evaluation.name has it."""
        return _NAMES.get(self.rule) or _FAMILIES.get(self.rule[:3], "overclaim.finding")

    @property
    def verdict(self) -> str:
        """The verdict on the claim it is about, "" where it is about none."""
        return _LABELS.get(self.rule, "")

    @property
    def label(self) -> str:
        """A word for what came of the evaluation: the verdict, or fail; retracted where it does not stand any more."""
        return "retracted" if not self.open else self.verdict or "fail"

    @property
    def explanation(self) -> str:
        """A sentence on it, with the rule that read the most telling fact, and the fact where that is a code."""
        value = f" {self.evidence_value}" if _CODE.fullmatch(self.evidence_value) else ""
        return f"{self.title} ({self.evidence_rule}{value})" if self.evidence_rule else self.title

    def plain(self) -> dict[str, object]:
        """It as JSON has it."""
        return {
            "event_id": self.event_id, "id": self.id, "version": self.version, "state": self.state, "name": self.name,
            "rule": self.rule, "severity": self.severity, "label": self.label, "confidence": self.confidence,
            "explanation": self.explanation, "trace_id": self.trace_id, "span_id": self.span_id,
            "run_span_id": self.run_span_id, "service": self.service, "environment": self.environment,
            "agent": self.agent, "agent_version": self.agent_version, "model": self.model, "tool": self.tool,
            "started_unix_ns": self.at,
        }  # fmt: skip


def finding(row: Mapping[str, Any], confidence: float | None = None) -> Finding:
    """A row of outgoing/pending.sql."""
    return Finding(
        row["FindingId"], row["Rule"], row["Severity"], row["Title"], row["TraceId"], row["RunSpanId"], row["Claim"],
        row["SpanId"], row["EvidenceRule"], row["EvidenceValue"], row["ServiceName"], row["Environment"], row["Agent"],
        row["AgentVersion"], row["Model"], row["Tool"], int(row["AtNs"]), bool(row["Open"]), int(row["Version"]),
        int(row["Mark"]), bool(row["Known"]), confidence,
    )  # fmt: skip
