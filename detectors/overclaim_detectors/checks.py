"""Checks that every rule must pass, ours and other people's: `problems(rule)` names what is wrong, if anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from overclaim._errors import OverclaimError
from overclaim_detectors import sql
from overclaim_detectors.rule import SEVERITIES, Rule

SECTIONS = ("## What it finds", "## Why it matters", "## Example", "## Cure")
_ID = re.compile(r"[A-Z]{2,8}\d{3}")
_BOUND: dict[str, frozenset[str]] = {
    "run": frozenset({"traces", "earliest", "latest", "version", "rules"}),
    "fleet": frozenset({"until"}),
}


def problems(rule: Rule) -> list[str]:
    """What is wrong with a rule, in words; empty where nothing is."""
    return [problem for check in (_identity, _documentation, _question, _cases) for problem in check(rule)]


def _identity(rule: Rule) -> Iterator[str]:
    if not _ID.fullmatch(rule.id):
        yield f"id {rule.id!r} is not letters and three digits, such as OC101"
    if not rule.title or rule.title.endswith("."):
        yield "the title is one sentence without a full stop"
    if not rule.severities or set(rule.severities) - set(SEVERITIES):
        yield f"the severities are none, or others than {', '.join(SEVERITIES)}"


def _documentation(rule: Rule) -> Iterator[str]:
    for section in SECTIONS:
        if section not in (rule.doc or ""):
            yield f"the documentation has no section {section!r}"


def _question(rule: Rule) -> Iterator[str]:
    try:
        text = rule.sql()
    except OverclaimError as error:
        yield str(error)
        return
    if rule.scope == "run" and "{traces:Array(String)}" not in text:
        yield "the SQL does not bind {traces:Array(String)}, so it would read the whole history at every pass"
    if unknown := sql.placeholders(text) - _BOUND[rule.scope] - set(rule.params):
        yield f"nothing binds {', '.join(sorted(unknown))} in the SQL"


def _cases(rule: Rule) -> Iterator[str]:
    if len(rule.fires) < 3 or len(rule.quiet) < 3:
        yield "three cases it must fire on and three it must stay quiet on are the least"
    if rule.scope == "fleet" and any(not (case.over_time or case.drifts) for case in rule.fires):
        yield "a case of a rule about the fleet says what happened over time"
    names = [case.name for case in (*rule.fires, *rule.quiet)]
    if len(set(names)) < len(names):
        yield "two cases have the same name"
