"""What a result that is text says: exit marks, crashes, failed tests, error pages, and short sentences.

Long texts are read at their ends only, and prose counts only where the text is short and of a known shape:
error words inside data, logs, documents or source code mean nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from overclaim.outcome.model import NO_FACTS, Effect, Evidence, Grade, Outcome, ToolFacts
from overclaim.outcome.result_rules import line_pattern, tail_rules, text_rules, triggers

HEAD = 4_000
TAIL = 4_000
SHORT = 600
_LAST_LINES = 12
_AFTER_CRASH = 3
_HEAD_LINES = 8
_MOST_LINES = 12
_DATA_RULES = frozenset({"text.error_prefix", "text.exception_name", "text.shell_error", "text.timed_out_killed"})

_RETURNCODE = re.compile(r"\A\s*<(?:returncode|exit_?code)>\s*(-?\d{1,6})\s*</(?:returncode|exit_?code)>", re.I)
_EXITCODE = re.compile(
    r"\A\s*\[?(?:(?:process|command|program|script) (?:exited|finished|terminated|failed|completed) with )?"
    r"(?:exit ?code|return ?code|exit status|code|rc)\s*[:=]?\s*(-?\d{1,6})\b\]?(?:\s*\(execution \w+\))?"
    r"(?:\s*\n\s*(?:code )?output:)?",
    re.I,
)
_EXIT_LAST = re.compile(
    r"(?:\A|\n)\s*[\[(<]?(?:(?:the )?(?:process|command|program|script) )?(?:(?:finished|failed|terminated) with )?"
    r"\s*(?:\(?exit ?code|exit status|return ?code|exited with (?:code|status))\s*[:=]?\s*(-?\d{1,6})\)?[\])>.]?\s*\Z",
    re.I,
)
_MARKUP = ("<html", "<!doctype", "<body", "<head", "<div", "<p>", "<article", "<main")
_FAMILIES = {2: Outcome.SUCCESS, 3: Outcome.SUCCESS, 4: Outcome.FAILURE, 5: Outcome.FAILURE}
_HTTP_HEAD = re.compile(r"\AHTTP/[\d.]+ ([1-5]\d\d)\b")
_MESSAGE_REPR = re.compile(r"\A(?:[A-Z]\w*\()?(?:meta=|content=|isError=|is_error=|tool_call_id=|status=)")
_REPR_FAILED = re.compile(r"\b(?:isError|is_error)=True\b|\bstatus=['\"](?:error|failure|failed)['\"]")
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):|^\s+File \"[^\"\n]{1,300}\", line \d+", re.M)
_EXCEPTION_LINE = re.compile(
    r"^(?:E\s+)?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Warning|Fault|NotAvailable|Invalid"
    r"|Denied|NotFound|DoesNotExist|Failed|Failure|Violation|Conflict|Aborted|Refused|Expired)\b(?::|\s*$)"
    r"|^(?:[A-Za-z_]\w*\.)+[A-Z]\w+: \S"
)
_SHORTFALL = re.compile(r"\b[a-z]{2,20}(?:ed|nt) (?:only )?(\d{1,9}) ?(?:/|of|out of) ?(?:the )?(\d{1,9})\b", re.I)
_QUOTED = re.compile(
    r"(?<!\w)'[^'\n]{1,200}'(?!\w)|(?<!\w)\"[^\"\n]{1,200}\"(?!\w)|`[^`\n]{1,200}`|“[^”\n]{1,200}”|«[^»\n]{1,200}»|「[^」\n]{1,200}」"
)
_LOG_LEVEL = re.compile(r"^\W{0,2}[^\n]{0,40}?\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|CRITICAL|TRACE)\b", re.M)


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the call whose result is read: also the tool's name and its arguments, as they came."""

    effect: Effect = Effect.UNKNOWN
    facts: ToolFacts = NO_FACTS
    tool: str = ""
    arguments: object = None


@dataclass(frozen=True, slots=True)
class Framed:
    """A text taken out of its frame: the frame's own evidence, what stands inside, and what kind of text it is."""

    evidence: tuple[Evidence, ...] = ()
    body: str | None = None
    output: bool = False


def frame(text: str, context: Context) -> Framed:
    """Exit marks, raw HTTP heads and reprs of framework messages around a text.

    body is None where the text has no frame; output says that the body is what a command printed.
    """
    head = text[:200]
    if match := _HTTP_HEAD.match(head):
        body = re.split(r"\r?\n\r?\n", text[: HEAD * 16], maxsplit=1)[1:]
        return Framed((status_evidence(int(match[1]), context),), body[0] if body else "")
    if match := _RETURNCODE.match(head) or _EXITCODE.match(head):
        body = text[match.end() :]
        return Framed((_exit(match[1], body, context),), body, output=True)
    tail = text[-120:]
    if "xit" in tail or "eturn" in tail or "XIT" in tail:
        match = _EXIT_LAST.search(tail)
        body = text[: len(text) - len(match[0])] if match else ""
        if match:
            return Framed((_exit(match[1], body, context),), body, output=True)
    if _MESSAGE_REPR.match(head):
        return _message_repr(text)
    return Framed()


def exit_rule(code: int, silent: bool, context: Context) -> Evidence:
    """An exit code. 1 without a word of output is how a look (grep, diff, test) says "nothing there"."""
    if code == 0:
        return Evidence("exit_code", "exit.zero", Outcome.SUCCESS, Grade.STRUCTURED, "0")
    if code == 1 and silent and context.effect is Effect.READ:
        return Evidence("exit_code", "exit.one_silent", Outcome.EMPTY, Grade.STRUCTURED, "1")
    return Evidence("exit_code", "exit.nonzero", Outcome.FAILURE, Grade.STRUCTURED, str(code))


def status_evidence(status: int, context: Context, *, target: str = "", span_id: str = "") -> Evidence:
    """An HTTP status, unless the tool's facts expect it."""
    grade, value = Grade.STRUCTURED, str(status)
    if status in context.facts.expected_status:
        return Evidence("http_status", "http.expected", Outcome.SUCCESS, grade, value, target, span_id)
    if status == 202:
        return Evidence("http_status", "http.status_202", Outcome.PENDING, grade, value, target, span_id)
    family = status // 100
    outcome = _FAMILIES.get(family, Outcome.UNKNOWN)
    rule = f"http.status_{family}xx" if 1 <= family <= 5 else "http.status_other"
    return Evidence("http_status", rule, outcome, grade, value, target, span_id)


def text_evidence(text: str, context: Context, *, output: bool = False) -> list[Evidence]:
    """What an unframed text says. output: it is what a command printed, so its end counts most."""
    found = _ending(text, context, output)
    if found is None:
        found = _sentence(text, context, output)
    return [found] if found else []


def output_evidence(text: str, context: Context) -> list[Evidence]:
    """What a command printed that ended with 0: its end, and whether there is anything at all."""
    if has_content(text):
        return text_evidence(text, context, output=True)
    if context.effect is Effect.READ and not context.facts.empty_ok:
        return [Evidence("empty_result", "empty.output", Outcome.EMPTY, Grade.INFERRED)]
    return []


def has_content(text: str) -> bool:
    """Whether a text holds more than blank lines and lines that only frame it. Long texts do."""
    if len(text) > 2 * SHORT:
        return True
    is_frame = line_pattern("frames").fullmatch
    for line in text.split("\n"):
        bare = line.strip()
        if bare and not is_frame(bare):
            return True
    return False


def _exit(code: str, body: str, context: Context) -> Evidence:
    """An exit code with the output beside it; only for code 1 does it matter whether there is any."""
    return exit_rule(int(code), code == "1" and not has_content(body), context)


def _message_repr(text: str) -> Framed:
    """The repr of a framework's message, such as "content='...' name='x' status='error'"."""
    if _REPR_FAILED.search(text[:300]) or _REPR_FAILED.search(text[-300:]):
        return Framed((Evidence("result_flag", "flag.message_error", Outcome.FAILURE, Grade.STRUCTURED),), "")
    match = re.match(r"\A(?:[A-Z]\w*\()?content=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", text[:HEAD])
    return Framed((), match[1][1:-1]) if match else Framed()


def _content_lines(text: str) -> list[str]:
    """Lines that are neither blank nor a frame, without the head that a browser tool puts before a page."""
    is_frame, is_divider = line_pattern("frames").fullmatch, line_pattern("divider").fullmatch
    lines = [stripped for line in text.split("\n") if (stripped := line.strip())]
    divider = next((at for at, line in enumerate(lines[:_HEAD_LINES]) if is_divider(line)), 0)
    head = line_pattern("page_head").fullmatch
    if divider and all(head(line) or is_frame(line) for line in lines[:divider]):
        lines = lines[divider:]
    return [line for line in lines if not is_frame(line)]


def _ending(text: str, context: Context, output: bool) -> Evidence | None:
    """A crash or failed tests at the end. What a read returns is data unless it is a command's output."""
    if context.effect is Effect.READ and not output and len(text) > SHORT:
        return None
    tail = text[-TAIL:].rstrip()
    lines = tail.split("\n")
    if len(lines) > 1 and _crashed(tail, lines):
        return _failure("text.traceback_at_end")
    shown = output or (context.effect is Effect.UNKNOWN and len(text) <= HEAD)
    last = "\n".join(lines[-_LAST_LINES if shown else -3 :])
    for rule in tail_rules():
        if (shown or rule.id == "text.tests_failed") and rule.matches(last):
            return _failure(rule.id)
    return None


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


def _sentence(text: str, context: Context, output: bool) -> Evidence | None:
    """The rules for texts of known shape."""
    if len(text) <= SHORT:
        return _short(text, context, output)
    if output:
        return None
    if _is_error_page(text):
        return _failure("text.error_page")
    body = _headless(text)
    if line_pattern("report").search(text[:SHORT]):
        paragraph = re.split(r"\n\s*\n|(?<=[.!?]) ", body[:SHORT], maxsplit=1)[0]
        return _by_rules(paragraph, len(paragraph), 1, context)
    return _by_rules(body, len(text), text.count("\n", 0, HEAD) + 1, context)


def _short(text: str, context: Context, output: bool) -> Evidence | None:
    """A short text without its frames: nothing, a placeholder, an error page, or a sentence."""
    if output and text.count("\n") > _MOST_LINES:
        return None
    if _is_error_page(text):
        return _failure("text.error_page")
    lines = _content_lines(text)
    if not lines:
        return None if output else _void_text(context)
    body = "\n".join(lines)
    if body[:20].lower().startswith(_MARKUP):
        return None  # a page, and what it says is data
    if line_pattern("redacted").fullmatch(body):
        return Evidence("result_text", "text.redacted", Outcome.UNKNOWN, Grade.INFERRED)
    if output and len(lines) > _AFTER_CRASH:
        return None
    if short_of := _shortfall(body, context):
        return short_of
    if not _triggered(body):
        return None
    found = _by_rules(_unquoted(_unlabelled(body)), len(text), len(lines), context, output)
    return found or _section(text, len(lines), context)


def _shortfall(body: str, context: Context) -> Evidence | None:
    """A write that says it did fewer than it should: sent 3 of 5 messages."""
    match = _SHORTFALL.search(body) if context.effect is Effect.WRITE else None
    if match is None or int(match[1]) >= int(match[2]):
        return None
    return Evidence("row_count", "text.shortfall", Outcome.FAILURE, Grade.INFERRED, f"{match[1]}/{match[2]}")


def _triggered(body: str) -> bool:
    """Whether any rule for texts can match: a cheap look before the dear ones."""
    if not body.isascii():
        return True
    lowered = body.lower()
    for piece in triggers():  # noqa: SIM110 - twice as fast as any() here
        if piece in lowered:
            return True
    return False


def _section(text: str, lines: int, context: Context) -> Evidence | None:
    """An error in the place of a section's content; headings are frames, so the whole text is looked at."""
    rule = next(rule for rule in text_rules() if rule.id == "text.section_error")
    matched = "#" in text and rule.matches(text, len(text), lines, context.effect)
    return Evidence("result_text", rule.id, rule.outcome, Grade.INFERRED) if matched else None


def _unlabelled(body: str) -> str:
    """The text without ornament and without a label such as "Result:" before it."""
    for group in ("ornament", "label"):
        match = line_pattern(group).match(body)
        body = body[match.end() :] if match else body
    return body


def _unquoted(body: str) -> str:
    """The text with what stands in quotes left out, for that is a name or somebody else's words."""
    return _QUOTED.sub("''", body) if any(mark in body for mark in "'\"`“«「") else body


def _headless(text: str) -> str:
    """The beginning of a longer text, without the frames on its first lines."""
    body = text[:HEAD].lstrip()
    is_frame = line_pattern("frames").fullmatch
    for _ in range(_HEAD_LINES):
        line, found, rest = body.partition("\n")
        if not found or (line.strip() and not is_frame(line.strip())):
            break
        body = rest.lstrip()
    return _unlabelled(body)


def _void_text(context: Context) -> Evidence | None:
    """A text of frames only."""
    if context.effect is Effect.WRITE or context.facts.empty_ok:
        return None
    return Evidence("empty_result", "empty.frames_only", Outcome.EMPTY, Grade.INFERRED)


def _by_rules(body: str, size: int, lines: int, context: Context, output: bool = False) -> Evidence | None:
    """The first rule that matches. Several lines with log levels, and what grep printed, is what was asked for."""
    if line_pattern("listing").match(body):
        return None
    only = _DATA_RULES if output and context.effect is Effect.READ else None
    for rule in text_rules():
        if (only is None or rule.id in only) and rule.matches(body, size, lines, context.effect):
            if output and lines > 1 and rule.outcome is Outcome.EMPTY:
                continue
            if lines > 1 and rule.outcome is Outcome.FAILURE and len(_LOG_LEVEL.findall(body[:HEAD])) > 1:
                return None
            return Evidence("result_text", rule.id, rule.outcome, Grade.INFERRED)
    return None


def _is_error_page(text: str) -> bool:
    """Whether the title of a page says that the page is not there. Only the first lines with a title are read."""
    head = text[:2000]
    if "chrome-error://" in head:
        return True
    at = -1
    for _ in range(3):
        at = head.find("itle", at + 1)
        if at < 0:
            return False
        start = head.rfind("\n", 0, at) + 1
        if line_pattern("error_page").search(head[max(start, at - 20) : at + 160]):
            return True
    return False


def _failure(rule: str) -> Evidence:
    return Evidence("result_text", rule, Outcome.FAILURE, Grade.INFERRED)
