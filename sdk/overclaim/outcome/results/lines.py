"""Texts of several lines that tell of a call: logs by their end, and tables of one state per line."""

from __future__ import annotations

import re

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.rules import line_pattern, words
from overclaim.outcome.results.tools import is_data, reporting, runs_commands, troubled
from overclaim.outcome.results.view import status_word

_MOST = 6_000
_LEAST = 2
_TAIL = 4
_LEVEL = re.compile(
    r"^[^\n]{0,60}?(?<![\w/])\[?(ERROR|FATAL|CRITICAL|SEVERE|ERR|WARN(?:ING)?|INFO|DEBUG|NOTICE|TRACE)\b(?=[\]:\s|-])"
)
_BAD_LEVELS = frozenset({"ERROR", "FATAL", "CRITICAL", "SEVERE", "ERR"})
_CELLS = re.compile(r"\s*\|\s*|\t+|\s{2,}|\s+[:–—-]+>?\s+|:\s+|,\s*")
_RULE = re.compile(r"[\s|:+=-]*")
_STATES = frozenset({"failure", "partial"})


def lines_evidence(text: str, context: Context) -> Evidence | None:
    """A log of the call itself that ends badly, or a table in which one thing failed while others went well."""
    if "\n" not in text or len(text) > _MOST or _is_shown(context):
        return None
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) < _LEAST:
        return None
    if _ends_badly(lines):
        return Evidence("result_text", "text.log_ends_badly", Outcome.FAILURE, Grade.INFERRED)
    failed, states = _states(lines)
    if failed and states > failed:
        return Evidence("result_flag", "batch.item_failed", Outcome.FAILURE, Grade.INFERRED, f"{failed}/{states}")
    return None


def _is_shown(context: Context) -> bool:
    """Whether the lines are what was asked for: of a read, of a report, of what a command printed, of an error."""
    if not context.tool or context.effect is Effect.READ or reporting(context) or is_data(context):
        return True
    return runs_commands(context) or troubled(context)


def _ends_badly(lines: list[str]) -> bool:
    """Whether the last line with a level is an error, or the work was taken back after one."""
    levels = [match[1] if (match := _LEVEL.match(line)) else "" for line in lines]
    if sum(1 for level in levels if level) < _LEAST:
        return False
    last = [level for level in levels if level][-1]
    if last in _BAD_LEVELS and levels.index(last) >= 0 and not line_pattern("log_good").search(lines[-1]):
        return levels[-1] == last or not levels[-1]
    taken_back = line_pattern("log_bad").search(lines[-1]) is not None
    return taken_back and any(level in _BAD_LEVELS for level in levels[-_TAIL:])


def _states(lines: list[str]) -> tuple[int, int]:
    """How many lines say of one thing each that it failed, and how many say how it went with one."""
    failed = states = 0
    for line in lines[:200]:
        if _RULE.fullmatch(line):
            continue
        cells = [status_word(cell.strip("*✅❌✔✗ ")) for cell in _CELLS.split(line.strip("|-* ")) if cell.strip()]
        if len(cells) < _LEAST or len(cells) > 12:
            continue
        bad = any(cell in words(group) for cell in cells[1:] for group in _STATES)
        good = any(cell in words("success") or cell in words("row_good") for cell in cells[1:])
        failed += bad
        states += bad or good
    return failed, states
