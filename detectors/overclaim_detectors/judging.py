"""Judging labelled traces in SQL: verdicts, failures, findings. What a pass does not find again is taken back."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from overclaim._errors import OverclaimError
from overclaim.outcome.confidence import values
from overclaim_detectors import sql
from overclaim_detectors.batched import Batched
from overclaim_detectors.inbox import Batch
from overclaim_detectors.procedures import write_breaches
from overclaim_detectors.rule import COLUMNS, SEVERITIES, Rule
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")

_INTO_OPERATIONS = (
    "INSERT INTO overclaim_operations (TraceId, RunSpanId, Operation, ServiceName, Environment, Agent, AgentVersion,"
    " Model, Tool, Action, Effect, Attempts, FailedAttempts, First, Last, FirstSpanId, LastSpanId, FirstObserved,"
    " Observed, Grade, Trouble, OpenEnd, Admitted, Covered, LastWord, WasRough, Calls, Mended, Nanoseconds, Started,"
    " Version)\n"
)
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
    """Write the operations, verdicts, failures and breaches of procedures of a batch of labelled traces."""
    asked = Batched(store, batch, version)
    asked.command(_INTO_OPERATIONS + sql.load("judge/operations"))
    asked.command(sql.load("judge/retire_operations"))
    sure = values()
    asked.command(_INTO_VERDICTS + sql.load("judge/verdicts"), kinds=list(sure), confidence=list(sure.values()))
    asked.command(sql.load("judge/retire_verdicts"))
    asked.command(_INTO_FAILURES + sql.load("judge/failures"))
    asked.command(sql.load("judge/retire_failures"))
    write_breaches(store, asked)


def find(store: Store, batch: Batch, version: int, rules: Iterable[Rule]) -> Found:
    """Run the rules over a batch of judged traces. A rule that fails stops no other, and its findings stand."""
    asked = Batched(store, batch, version)
    found, ran, rows = Found(), list[str](), list[Sequence[Any]]()
    for alike in _alike(rules):
        try:
            rows += _findings(asked, alike)
            ran += alike
        except Exception as error:  # a rule may be anybody's code
            _log.warning("rule %s could not run: %s", " and ".join(alike), error)
            found.failed |= dict.fromkeys(alike, str(error))
    store.insert("overclaim_findings", _FINDING_COLUMNS, rows, {"max_partitions_per_insert_block": 0})
    asked.command(sql.load("judge/close_findings"), rules=ran)
    found.findings = len(rows)
    return found


def _alike(rules: Iterable[Rule]) -> Iterable[dict[str, Rule]]:
    """The rules by id; those together that one question answers, which binds {rules} and says of which each row is."""
    found: dict[object, dict[str, Rule]] = {}
    for rule in rules:
        text = _text(rule)
        alike = (text, repr(rule.params)) if "rules" in sql.placeholders(text) else rule.id
        found.setdefault(alike, {})[rule.id] = rule
    return found.values()


def _text(rule: Rule) -> str:
    """The question of a rule; "" where it has none that can be read, which running it will say."""
    try:
        return rule.sql()
    except OverclaimError:
        return ""


def _findings(asked: Batched, alike: Mapping[str, Rule]) -> list[Sequence[Any]]:
    first = next(iter(alike.values()))
    found = asked.query(first.sql(), rules=list(alike), **first.params).dicts()
    return [_finding(alike[row.get("Rule", first.id)], row, asked.version) for row in found]


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
