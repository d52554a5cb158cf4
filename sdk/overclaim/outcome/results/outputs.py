"""What the end of a command's output shows: a crash, failed tests, a build that stopped."""

from __future__ import annotations

import re

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.rules import SHORT, line_rules, tail_rules
from overclaim.outcome.results.tools import is_data, runs_commands

TAIL = 4_000
_HEAD = 1_000
_MIDDLING = 2_500
_LAST_LINES = 12
_FIRST_LINES = 3
_AFTER_CRASH = 3
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):|^\s+File \"[^\"\n]{1,300}\", line \d+", re.M)
_EXCEPTION_LINE = re.compile(
    r"^(?:E\s+)?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Warning|Fault|NotAvailable|Invalid"
    r"|Denied|NotFound|DoesNotExist|Failed|Failure|Violation|Conflict|Aborted|Refused|Expired)\b(?::|\s*$)"
    r"|^(?:[A-Za-z_]\w*\.)+[A-Z]\w+: \S"
)
# Crashes that are the reading tool's own rather than what it read.
_OWN_CRASH = re.compile(
    r"\b(?:FileNotFound|Permission|IsADirectory|NotADirectory|UnicodeDecode|Timeout|Connection\w*|HTTP|URL|SSL)Error\b"
)


def ending(text: str, context: Context, output: bool) -> Evidence | None:
    """A crash, failed tests or a failed build at the end. What a read returns is data, unless a command printed it.

    output: an exit code says that the command itself went well.
    """
    reading = context.effect is Effect.READ
    if (reading and not output and len(text) > SHORT) or (is_data(context) and not output):
        return None
    tail = text[-TAIL:].rstrip()
    lines = tail.split("\n")
    if len(lines) > 1 and _crashed(tail, lines):
        return None if reading and not output and _is_shown(lines, context) else _failure("text.traceback_at_end")
    commanded = context.effect is not Effect.READ and _may_command(text, context)
    return _told_at_end(lines, context, output or commanded)


def _told_at_end(lines: list[str], context: Context, shown: bool) -> Evidence | None:
    """The rules for the last lines of an output; of other texts only what test runners print counts."""
    last = "\n".join(lines[-_LAST_LINES if shown else -3 :])
    for rule in tail_rules():
        if (shown or rule.id == "text.tests_failed") and rule.matches(last):
            return _failure(rule.id)
    return None


def build_lines(text: str, context: Context) -> Evidence | None:
    """Errors of compilers and other commands in the first and last lines, where no exit code is there to say better."""
    if context.effect is Effect.READ or not _may_command(text, context):
        return None
    lines = text[-TAIL:].rstrip().split("\n")
    last = _LAST_LINES if context.tool and runs_commands(context) else _AFTER_CRASH
    if len(lines) > _FIRST_LINES + last:
        lines = [*text[:_HEAD].split("\n", _FIRST_LINES)[:_FIRST_LINES], *lines[-last:]]
    seen = "\n".join(lines)
    return next((_failure(rule.id) for rule in line_rules() if rule.matches(seen)), None)


def _may_command(text: str, context: Context) -> bool:
    """Whether a text may be what a command printed: whatever a tool for commands returns, or else a shorter one."""
    if context.tool and (runs_commands(context) or is_data(context)):
        return not is_data(context)
    return len(text) <= _MIDDLING and (context.effect is Effect.UNKNOWN or not context.tool)


def _is_shown(lines: list[str], context: Context) -> bool:
    """Whether a trace is what a read was to show, such as a saved log, and not that of the reading tool."""
    return bool(context.tool) and not runs_commands(context) and not _OWN_CRASH.search(lines[-1][:400])


def _crashed(tail: str, lines: list[str]) -> bool:
    """Whether a stack trace ends the text, give or take a few lines. A trace followed by more output was survived."""
    if '", line ' not in tail and "Traceback (" not in tail:
        return False
    frames = list(_TRACEBACK.finditer(tail))
    if not frames:
        return False
    after = tail[frames[-1].end() :].split("\n")[1:]
    for position, line in enumerate(after):
        if _EXCEPTION_LINE.match(line):
            rest = [one for one in after[position + 1 :] if one.strip() and not one.strip().startswith("</")]
            return sum(len(one) for one in rest) < 400 and len(rest) <= _AFTER_CRASH
    return False


def _failure(rule: str) -> Evidence:
    return Evidence("result_text", rule, Outcome.FAILURE, Grade.INFERRED)
