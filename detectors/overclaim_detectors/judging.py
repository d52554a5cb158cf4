"""Judging labelled traces in SQL: verdicts, failures, findings. What a pass does not find again is taken back."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from overclaim._errors import OverclaimError
from overclaim.outcome.confidence import values
from overclaim.outcome.lexicon import actions
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
# Of what there must be some (queries/judge/present.sql), or else a question has no answer and is not asked: planning it
# costs more than asking what there is.
NEEDS: Final[Mapping[str, frozenset[str]]] = {
    "judge/ways": frozenset({"trouble"}),
    "judge/failures": frozenset({"trouble"}),
    "judge/accusations": frozenset({"trouble", "unproven"}),
    "detect/unnoticed": frozenset({"trouble"}),
    "detect/tool_claims": frozenset({"trouble"}),
    "detect/stamped_ok": frozenset({"trouble"}),
    "detect/loops": frozenset({"trouble"}),
    "detect/nothing_found": frozenset({"looks"}),
    "detect/truncated": frozenset({"parts"}),
    "detect/unverified": frozenset(f"claims {one.name}" for one in actions().values() if one.check),
    "detect/handoffs": frozenset({"several"}),
    "detect/abandoned": frozenset({"left_off"}),
}
_FINDING_COLUMNS = ("FindingId", "Rule", "Title", *COLUMNS, "Open", "Version")


@dataclass(slots=True)
class Found:
    """What the rules found in a batch, and why some could not run."""

    findings: int = 0
    failed: dict[str, str] = field(default_factory=dict[str, str])


def judge(store: Store, batch: Batch, version: int) -> Batched:
    """Write the operations, verdicts, failures and breaches of procedures of a batch of labelled traces.

    Returns:
        What `find` asks of the same batch.
    """
    asked = Batched(store, batch, version)
    if _can_answer(asked, "judge/ways"):
        asked.command(sql.load("judge/ways"))
    _write(asked, "operations", _INTO_OPERATIONS)
    sure = values()
    _write(asked, "verdicts", _INTO_VERDICTS, kinds=list(sure), confidence=list(sure.values()))
    _write(asked, "failures", _INTO_FAILURES)
    write_breaches(store, asked)
    return asked


def _write(asked: Batched, what: str, into: str, **params: object) -> None:
    """Write what can be there, and take back what an earlier pass wrote and this one did not."""
    if _can_answer(asked, f"judge/{what}"):
        asked.command(into + sql.load(f"judge/{what}"), **params)
    if what in asked.present:
        asked.command(sql.load(f"judge/retire_{what}"))


def _can_answer(asked: Batched, query: str) -> bool:
    return query not in NEEDS or not asked.present.isdisjoint(NEEDS[query])


def find(store: Store, batch: Batch, version: int, rules: Iterable[Rule], asked: Batched | None = None) -> Found:
    """Run the rules over a batch of judged traces. A rule that fails stops no other, and its findings stand.

    asked: what `judge` returned for the batch, which saves asking anew what there is.
    """
    asked = asked or Batched(store, batch, version)
    found, ran, rows = Found(), list[str](), list[Sequence[Any]]()
    for alike in _alike(rule for rule in rules if rule.scope == "run"):
        try:
            rows += _findings(asked, alike)
            ran += alike
        except Exception as error:  # a rule may be anybody's code
            _log.warning("rule %s could not run: %s", " and ".join(alike), error)
            found.failed |= dict.fromkeys(alike, str(error))
    store.insert("overclaim_findings", _FINDING_COLUMNS, rows, {"max_partitions_per_insert_block": 0})
    if "findings" in asked.present:
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
    if not _can_answer(asked, first.query):
        return []
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
