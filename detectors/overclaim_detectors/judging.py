"""Judging labelled traces in SQL: verdicts, failures, findings. What a pass does not find again is taken back."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from overclaim.outcome.confidence import values
from overclaim_detectors import sql
from overclaim_detectors.inbox import Batch
from overclaim_detectors.procedures import judge_procedures
from overclaim_detectors.rule import COLUMNS, SEVERITIES, Rule
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")

_INTO_VERDICTS = (
    "INSERT INTO overclaim_verdicts (TraceId, RunSpanId, Claim, ServiceName, Environment, Agent, AgentVersion,"
    " Model, Label, Rule, Confidence, Calls, Started, Version)\n"
)
_INTO_FAILURES = (
    "INSERT INTO overclaim_failures (TraceId, RunSpanId, SpanId, ServiceName, Environment, Agent, AgentVersion,"
    " Model, Tool, Effect, Claimed, Observed, RunClaimed, SpanStatus, Mended, Reported, Accused, EvidenceRule,"
    " EvidenceValue, EvidenceSpanId, Started, Version)\n"
)
_FINDING_COLUMNS = ("FindingId", "Rule", "Title", *COLUMNS, "Open", "Version")


@dataclass(slots=True)
class Found:
    """What the rules found in a batch, and why some could not run."""

    findings: int = 0
    failed: dict[str, str] = field(default_factory=dict[str, str])


def judge(store: Store, batch: Batch, version: int) -> None:
    """Write the verdicts, failures and breaches of procedures of a batch of labelled traces."""
    sure = batch.params(version=version, kinds=list(values()), confidence=list(values().values()))
    store.command(_INTO_VERDICTS + sql.load("judge/verdicts"), sure)
    store.command(sql.load("judge/retire_verdicts"), batch.params(version=version))
    store.command(_INTO_FAILURES + sql.load("judge/failures"), batch.params(version=version))
    store.command(sql.load("judge/retire_failures"), batch.params(version=version))
    judge_procedures(store, batch, version)


def find(store: Store, batch: Batch, version: int, rules: Iterable[Rule]) -> Found:
    """Run the rules over a batch of judged traces. A rule that fails stops no other, and its findings stand."""
    found, ran, rows = Found(), list[str](), list[Sequence[Any]]()
    for rule in rules:
        try:
            rows += _findings(store, batch, version, rule)
            ran.append(rule.id)
        except Exception as error:  # a rule may be anybody's code
            _log.warning("rule %s could not run: %s", rule.id, error)
            found.failed[rule.id] = str(error)
    store.insert("overclaim_findings", _FINDING_COLUMNS, rows, {"max_partitions_per_insert_block": 0})
    store.command(sql.load("judge/close_findings"), batch.params(version=version, rules=ran))
    found.findings = len(rows)
    return found


def _findings(store: Store, batch: Batch, version: int, rule: Rule) -> list[Sequence[Any]]:
    found = store.query(rule.sql(), batch.params(**rule.params)).dicts()
    return [_finding(rule, row, version) for row in found]


def _finding(rule: Rule, row: dict[str, Any], version: int) -> Sequence[Any]:
    if missing := set(COLUMNS) - set(row):
        raise ValueError(f"its SQL returns no column {', '.join(sorted(missing))}")
    if row["Severity"] not in SEVERITIES:
        raise ValueError(f"severity {row['Severity']!r} is none of {', '.join(SEVERITIES)}")
    title = f"{rule.title}: {row['Detail']}" if row.get("Detail") else rule.title
    return (_id(rule, row), rule.id, title, *(row[column] for column in COLUMNS), 1, version)


def _id(rule: Rule, row: dict[str, Any]) -> str:
    """The same in every pass: what it is about, never when or how often it was seen."""
    calls = row["EvidenceValue"] if rule.by_value else ",".join(sorted(row["CallSpanIds"]))
    about = str(row["Claim"]) if row["Claim"] >= 0 else calls
    return hashlib.sha256("|".join((rule.id, row["TraceId"], row["RunSpanId"], about)).encode()).hexdigest()[:32]
