"""Procedures in a store: declared there as rows, so that SQL judges the calls of all runs by them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Final

from overclaim.outcome.tool_names import snake
from overclaim.procedures import Procedure
from overclaim.procedures.constraint import Constraint, Kind, Matcher
from overclaim.procedures.judging import SHOWN
from overclaim.procedures.patterns import pattern
from overclaim_detectors import sql
from overclaim_detectors.batched import Batched
from overclaim_detectors.inbox import Batch
from overclaim_detectors.store import Store

_ROLES: Final = ("Subject", "Partner", "Unless")
_COLUMNS: Final = (
    "Procedure", "Part", "Rule", "Kind", "Template", "Sentence", "Severity", "Agents", "PerTarget", "Within", "Low",
    "High", "NeedsAll", *(f"{role}{part.name.capitalize()}" for role in _ROLES for part in fields(Matcher)),
)  # fmt: skip
_INTO_BREACHES: Final = (
    "INSERT INTO overclaim_breaches (TraceId, RunSpanId, Procedure, Rule, Template, Sentence, Severity, ServiceName,"
    " Environment, Agent, AgentVersion, Model, Tool, Calls, Started, Version)\n"
)
_QUESTIONS: Final = {
    "procedures/order": {Kind.PRECEDES, Kind.RESPONDS, Kind.NOT_AFTER},
    "procedures/times": {Kind.COUNT},
    "procedures/ends": {Kind.FIRST, Kind.LAST},
}


def store_procedures(store: Store, procedures: Iterable[Procedure]) -> bool:
    """Make these the procedures that the store's runs are judged by from now on; whether that changed anything.

    Runs that were judged before stay as they are until spans of them arrive.

    Raises:
        StoreError: the store cannot be written, or lacks its tables.
    """
    wanted = [_row(procedure, part, one) for procedure in procedures for part, one in enumerate(procedure.constraints)]
    declared = store.query(sql.load("procedures/declared")).dicts()
    if sorted(wanted) == sorted(tuple(row[column] for column in _COLUMNS) for row in declared):
        return False
    version = max(time.time_ns() // 1_000_000, *(row["Version"] + 1 for row in declared), 1)
    store.insert("overclaim_procedures", (*_COLUMNS, "Version"), [(*row, version) for row in wanted])
    store.command(sql.load("procedures/retire_procedures"), {"version": version})
    return True


def judge_procedures(store: Store, batch: Batch, version: int) -> None:
    """Write which procedures the runs of a batch of labelled traces break."""
    write_breaches(store, Batched(store, batch, version))


def write_breaches(store: Store, asked: Batched) -> None:
    """The same for a batch that is being judged."""
    declared = {row["Kind"] for row in store.query(sql.load("procedures/declared")).dicts()}
    snakes = _snakes(asked) if declared else {}
    for question, kinds in _QUESTIONS.items():
        if declared & kinds:
            asked.command(_INTO_BREACHES + sql.load(question), shown=SHOWN, **snakes)
    if "breaches" in asked.present:
        asked.command(sql.load("procedures/retire_breaches"))


def _snakes(asked: Batched) -> dict[str, list[str]]:
    """The tools of a batch whose names in snake case are others."""
    called = [str(name) for (name,) in asked.query(sql.load("procedures/tools")).rows]
    tools = [name for name in called if snake(name) != name]
    return {"tools": tools, "snakes": [snake(name) for name in tools]}


def _row(procedure: Procedure, part: int, one: Constraint) -> tuple[Any, ...]:
    matchers = (one.subject, one.partner, one.unless)
    return (
        procedure.id, part, one.rule, one.kind.value, one.template, procedure.sentence, procedure.severity,
        _whole((one.agent,)), int(one.per_target), one.within, one.low, one.high, int(one.needs_all),
        *(value for matcher in matchers for value in _matcher(matcher)),
    )  # fmt: skip


def _matcher(matcher: Matcher) -> Sequence[Any]:
    return (_whole(matcher.tools), list(matcher.actions), list(matcher.effects), list(matcher.states))


def _whole(names: tuple[str, ...]) -> str:
    """The expression for the whole of a name: the engine looks for it anywhere."""
    return f"^{pattern(names)}$"
