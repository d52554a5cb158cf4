"""Short texts and the beginnings of longer ones against the rules for texts of known shape."""

from __future__ import annotations

import re

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results.asked import without_asked
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.rules import SHORT, TextRule, fitting, line_pattern, prose_rules, triggers
from overclaim.outcome.results.tools import deals_in_texts, is_data, is_fetched, runs_commands, troubled

_HEAD = 4_000
_PRINTED = frozenset({"text.error_prefix", "text.exception_name", "text.shell_error", "text.timed_out_killed"})
_OWN = frozenset({"text.exception_name", "text.trouble_told"})
_STRICT = _OWN | {
    "text.error_prefix", "text.http_status", "text.reason_phrase", "text.no_match", "text.nothing_there",
    "text.zero_rows",
}  # fmt: skip
_MADE = _OWN | {"text.error_prefix", "text.http_status"}
_BRIEF = 200
_LOG_STARTS = frozenset("[0123456789jfmasondJFMASOND")
SHORTFALL = re.compile(r"\b[a-z]{2,20}(?:ed|nt) (?:only )?(\d{1,9}) ?(?:/|of|out of) ?(?:the )?(\d{1,9})\b", re.I)
_QUOTED = re.compile(
    r"(?<!\w)'[^'\n]{1,200}'(?!\w)|(?<!\w)\"[^\"\n]{1,200}\"(?!\w)|`[^`\n]{1,200}`|“[^”\n]{1,200}”|«[^»\n]{1,200}»|「[^」\n]{1,200}」"
)
_ADDRESS = re.compile(r"https?://\w")
_TITLE = re.compile(
    r"(?!.{0,40}\b(?:errors?|exception|fatal|fetch\w*|navigation|load\w*|download|page|tool|call|dns|ssl|crawl|scrape|browser)\b)"
    r"(?:[A-Z][\w'-]*)(?: [\w'-]+){1,4}: [^\n]{4,200}\n\s*[A-Z][^\n]+\.\s*\Z"
)
_LOG_LEVEL = re.compile(r"^\W{0,2}[^\n]{0,40}?\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|CRITICAL|TRACE)\b", re.M)


def shortfall(body: str, context: Context) -> Evidence | None:
    """A write that says it did fewer than it should: sent 3 of 5 messages."""
    match = SHORTFALL.search(body) if context.effect is Effect.WRITE else None
    if match is None or int(match[1]) >= int(match[2]):
        return None
    return Evidence("row_count", "text.shortfall", Outcome.FAILURE, Grade.INFERRED, f"{match[1]}/{match[2]}")


def triggered(body: str) -> bool:
    """Whether any rule for texts can match: a cheap look before the dear ones."""
    if not body.isascii():
        return True
    lowered = body.lower()
    for piece in triggers():  # noqa: SIM110 - twice as fast as any() here
        if piece in lowered:
            return True
    return False


def section(text: str, lines: int, context: Context) -> Evidence | None:
    """An error in the place of a section's content; headings are frames, so the whole text is looked at."""
    if "#" not in text or is_data(context):
        return None
    rule = next(rule for rule in prose_rules() if rule.id == "text.section_error")
    return _evidence(rule) if rule.matches(text, len(text), lines, context.effect) else None


def unlabelled(body: str) -> str:
    """The text without ornament and without a label such as "Result:" before it."""
    for group in ("ornament", "label"):
        match = line_pattern(group).match(body)
        body = body[match.end() :] if match else body
    return body


def by_rules(body: str, size: int, lines: int, context: Context, *, output: bool = False) -> Evidence | None:
    """The first rule that a text falls under, unless it only says what the call was given or was to bring about.

    output: it is what a command printed that ended well. size, lines: of the whole text, whose beginning body is.
    """
    rule = _rule(body, size, lines, context, output)
    if rule is not None and rule.outcome is Outcome.FAILURE and (counted := _without_zeros(body)) != body:
        body = counted
        rule = _rule(body, size, lines, context, output)
    if rule is None or rule.outcome is Outcome.UNKNOWN:
        return None
    if (context.tool or context.arguments) and rule.id != "text.rows_zero":
        rest = without_asked(body, context)
        rule = rule if rest == body else _rule(rest, size, lines, context, output)
    return _evidence(rule) if rule else None


def _without_zeros(body: str) -> str:
    """The text without the counts that say that nothing failed: "8 sent, 0 failed", "Rejected: 0, imported: 41"."""
    return line_pattern("none_failed").sub("''", body)


def _rule(body: str, size: int, lines: int, context: Context, output: bool) -> TextRule | None:
    """The first rule that matches. Several lines with log levels, and what grep printed, is what was asked for."""
    lowered = body.lower()
    if not output and (found := _first(body, size, lines, context, lowered)):
        return found
    if line_pattern("listing").match(body) or (context.effect is not Effect.WRITE and _is_log_line(body)):
        return None
    if size <= SHORT:
        whole, body = body, _unquoted(_untold(body, context))
        lowered = lowered if body is whole else body.lower()
    only = _only(context, size, output)
    for rule in fitting(context.effect, printed=output, long=size > SHORT):
        if (only is None or rule.id in only) and rule.matches(body, size, lines, context.effect, lowered):
            if output and lines > 1 and rule.outcome is Outcome.EMPTY:
                continue
            if lines > 1 and rule.outcome is Outcome.FAILURE and len(_LOG_LEVEL.findall(body[:_HEAD])) > 1:
                return None
            plain = only is _MADE or _is_headline(rule, body, lines, context)
            return None if plain and not line_pattern("technical").search(body) else rule
    return None


def _is_headline(rule: TextRule, body: str, lines: int, context: Context) -> bool:
    """Whether what reads like an error is over several lines that were fetched from some address: the page's title."""
    if rule.id != "text.error_prefix" or context.effect is not Effect.READ or lines < 2:
        return False
    return _TITLE.match(body) is not None and _ADDRESS.search(str(context.arguments)[:_BRIEF]) is not None


def _first(body: str, size: int, lines: int, context: Context, lowered: str) -> TextRule | None:
    """The rules for shapes that nothing else has. Data is data, and so is what a read shows that runs no commands."""
    if is_data(context) and (troubled(context) or not deals_in_texts(context)):
        return None
    shown = context.effect is Effect.READ and not (context.tool and runs_commands(context))
    for rule in fitting(context.effect, first=True, long=size > SHORT):
        if not (shown and rule.commands) and rule.matches(body, size, lines, context.effect, lowered):
            return rule
    return None


def _only(context: Context, size: int, output: bool) -> frozenset[str] | None:
    """The rules to which a text is limited that is data: errors in so many words, if nothing else brought them up."""
    if is_data(context):
        if troubled(context) or is_fetched(context) or size > _BRIEF:
            return frozenset() if troubled(context) else _OWN
        return _STRICT if deals_in_texts(context) else _MADE
    return _PRINTED if output and context.effect is Effect.READ else None


def _is_log_line(body: str) -> bool:
    return body[:1] in _LOG_STARTS and line_pattern("log_line").match(body) is not None


def _untold(body: str, context: Context) -> str:
    """The text of a write up to what it was given, as in "Posted to #ops: Deployment failed"."""
    lead = ":" in body[:_BRIEF] or body[:1] == "["
    if not lead or context.effect is Effect.READ or (match := line_pattern("told").match(body)) is None:
        return body
    return body[: match.end()]


def _unquoted(body: str) -> str:
    """The text with what stands in quotes left out, for that is a name or somebody else's words."""
    return _QUOTED.sub("''", body) if any(mark in body for mark in "'\"`“«「") else body


def _evidence(rule: TextRule) -> Evidence:
    return Evidence("result_text", rule.id, rule.outcome, Grade.INFERRED)
