"""What a result that is text says: exit marks, crashes, failed tests, error pages, and short sentences.

Long texts are read at their ends only, and prose counts only where the text is short and of a known shape:
error words inside data, logs, documents or source code mean nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.lines import lines_evidence
from overclaim.outcome.results.outputs import build_lines, ending
from overclaim.outcome.results.rules import SHORT, line_pattern
from overclaim.outcome.results.sentences import by_rules, section, shortfall, triggered, unlabelled
from overclaim.outcome.results.shapes import shape_evidence
from overclaim.outcome.results.status import exit_rule, status_evidence

HEAD = 4_000
_AFTER_CRASH = 3
_HEAD_LINES = 8
_MOST_LINES = 12

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
_HTTP_HEAD = re.compile(r"\AHTTP/[\d.]+ ([1-5]\d\d)\b")
_MESSAGE_REPR = re.compile(r"\A(?:[A-Z]\w*\()?(?:meta=|content=|isError=|is_error=|tool_call_id=|status=)")
_REPR_FAILED = re.compile(r"\b(?:isError|is_error)=True\b|\bstatus=['\"](?:error|failure|failed)['\"]")


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


def text_evidence(text: str, context: Context, *, output: bool = False) -> list[Evidence]:
    """What an unframed text says. output: it is what a command printed, so its end counts most."""
    found = ending(text, context, output) or (None if output else shape_evidence(text, context))
    if found is None:
        found = _sentence(text, context, output) if output else _unended(text, context)
    return [found] if found else []


def _unended(text: str, context: Context) -> Evidence | None:
    """A text that no exit code comes with. One of several lines is first looked at like the output of a command."""
    several = "\n" in text[:SHORT].strip()
    found = build_lines(text, context) or lines_evidence(text, context) if several else None
    return found or _sentence(text, context, False) or (None if several else build_lines(text, context))


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
    return exit_rule(int(code), code == "1" and (not has_content(body) or body.strip() == "0"), context)


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
        return by_rules(paragraph, len(paragraph), 1, context)
    return by_rules(body, len(text), text.count("\n", 0, HEAD) + 1, context)


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
    if short_of := shortfall(body, context):
        return short_of
    if not triggered(body):
        return None
    found = by_rules(unlabelled(body), len(text), len(lines), context, output=output)
    return found or section(text, len(lines), context)


def _headless(text: str) -> str:
    """The beginning of a longer text, without the frames on its first lines."""
    body = text[:HEAD].lstrip()
    is_frame = line_pattern("frames").fullmatch
    for _ in range(_HEAD_LINES):
        line, found, rest = body.partition("\n")
        if not found or (line.strip() and not is_frame(line.strip())):
            break
        body = rest.lstrip()
    return unlabelled(body)


def _void_text(context: Context) -> Evidence | None:
    """A text of frames only."""
    if context.effect is Effect.WRITE or context.facts.empty_ok:
        return None
    return Evidence("empty_result", "empty.frames_only", Outcome.EMPTY, Grade.INFERRED)


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
