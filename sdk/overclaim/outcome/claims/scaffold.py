"""What an agent's text says to its user, without the scaffolding around it.

Thoughts, tool-call markup, code, quoted blocks, tracebacks and control tokens are taken off; what stays is prose, a
final answer, or nothing. Formats: XML-like tags, ReAct ("Thought:", "Action:", "Final Answer:"), fenced code,
smolagents' final_answer(...), AutoGen's TERMINATE, JSON objects with an answer in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from overclaim.outcome.claims.letters import plain_letters

HEAD = 4_000  # characters read from the start of a long text
TAIL = 12_000  # and from its end, where the claim mostly is

_PAGE, _PAGE_LINKS = 3_000, 10  # a text this long with so many links is a page shown, not something said

_ANSWER_TAG = re.compile(r"<(final_answer|answer|final_response)>(.*?)</\1>", re.S | re.I)
_THOUGHT = r"(?:[a-z]{0,20}_?)?(?:thoughts?|thinking|think|reasoning|scratchpad|reflection|plan|analysis)"
_THOUGHT_BLOCK = re.compile(rf"[<(\[]({_THOUGHT})[>)\]](.*?)(?:[<(\[]/\1[>)\]]|$)", re.S | re.I)
_CALL = r"(?:function_calls?|tool_calls?|tool_use|tool_code|invoke|action|code|execute|antml:invoke)"
_CALL_BLOCK = re.compile(rf"[<(\[]({_CALL})\b[^>\n)\]]{{0,200}}[>)\]](.*?)(?:[<(\[]/\1[>)\]]|$)", re.S | re.I)
_ANY_TAG = re.compile(rf"[<(\[]/?(?:{_THOUGHT}|{_CALL}|final_answer|answer|final_response)\b", re.I)
_TAG = re.compile(r"</?[a-z][\w:-]{0,30}(?: [^<>\n]{0,200})?/?>", re.I)
_LOOSE_THOUGHT = re.compile(rf"[<(\[]/?{_THOUGHT}[>)\]]", re.I)
_FENCE = re.compile(r"(?:```|~~~)(\w{0,20})[^\n`]{0,80}\n(.*?)(?:```|~~~|$)", re.S)
_RETURNS_ANSWER = re.compile(r"^[ \t]*(?:\w{1,40} = )?(?:final_answer|submit_answer|submit_final_answer)\(", re.M)
_FINAL = re.compile(
    r"^[ \t>#*_]*(?:my |the )?(?:final answer|final response|respuesta final|réponse finale)[*_ ]*[:：][ \t*_]*(.*)",
    re.I | re.M,
)
_ANSWER_LINE = re.compile(r"\A[\s*_#>]*(?:answer|result|output)[*_ ]*[:：][ \t*_]*(\S[^\n]{0,400})\s*\Z", re.I)
_BOXED = re.compile(r"\\boxed\{([^{}]{1,200})\}")
_REACT_CALL = re.compile(r"^\s*Action(?: Input)?\s*:.*$", re.I | re.M)
_OBSERVATION = re.compile(r"^\s*Observation\s*:.*?(?=^\s*(?:Thought|Action|Final Answer)\s*:|\Z)", re.I | re.M | re.S)
_LABEL = re.compile(r"^\s*(?:THOUGHT|Thought|Code|Reasoning|Assistant|AI|Response|Reflection)\s*:[ \t]*", re.M)
_LABELS = ("THOUGHT", "Thought", "Code", "Reasoning", "Assistant", "AI", "Response", "Reflection")
_QUOTE = re.compile(r"^[ \t]*>.*$", re.M)
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*(?:[\w.]+.*)?", re.M)
_LOG_LINE = re.compile(
    r"^(?:/\S+:\d+: \w*Warning:.*|\d{4}-\d\d-\d\d[ T]\d\d:\d\d\S* .*(?:INFO|DEBUG|WARN|ERROR).*)$", re.M
)
_CONTROL = re.compile(r"[\W_]*(?:TERMINATE|TERMINATED|<\|[a-z_]+\|>|\[END\]|END_OF_(?:TASK|TURN)|EXIT)[\W_]*", re.A)
_CONTROL_LINE = re.compile(r"^[ \t*_]*(?:TERMINATE|<\|[a-z_]+\|>|\[END\])[ \t*_.!]*$", re.M)
# What is taken off, each only where its mark occurs.
_NOISE = (
    ("bservation", _OBSERVATION),
    ("ction", _REACT_CALL),
    ("Traceback", _TRACEBACK),
    ("Warning:", _LOG_LINE),
    ("INFO", _LOG_LINE),
    (">", _QUOTE),
    ("TERMINATE", _CONTROL_LINE),
    ("<|", _CONTROL_LINE),
)
_RULER = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*")
# Marks of Markdown, each looked for only where its sign occurs.
_MARKUP = (
    ("#", re.compile(r"^[ \t]*#{1,6}[ \t]+", re.M)),
    ("**", re.compile(r"^[ \t]*\*{3,}[ \t]*$|\*\*", re.M)),
    ("__", re.compile(r"^[ \t]*_{3,}[ \t]*$|__(?=\w)|(?<=\w)__", re.M)),
    ("---", re.compile(r"^[ \t]*-{3,}[ \t]*$", re.M)),
    ("===", re.compile(r"^[ \t]*={3,}[ \t]*$", re.M)),
)
_LINK = re.compile(r"!?\[([^\]\n]{1,200})\]\(([^)\s]{1,400})\)")
_DIFF = re.compile(r"\A\s*(?:diff --git |--- \S+\n\+\+\+ |Index: )")
_ANSWER_KEYS = ("final_answer", "answer", "response", "message", "result", "summary", "output", "text", "content")


@dataclass(frozen=True, slots=True)
class Speech:
    """What a text says: prose, or an answer given as such.

    step: "call" or "code" where the text carries one, so that the work may go on. control: it is a bare stop word.
    artifact: the answer is code, a patch or a value handed over by code.
    """

    prose: str = ""
    answer: str = ""
    step: str = ""
    control: bool = False
    artifact: bool = False


def speech(text: str) -> Speech:
    """The speech in one text of an agent. Reads a bounded part of it and never raises."""
    text = _clean(text)
    if _CONTROL.fullmatch(text.strip()):
        return Speech(control=True)
    if _DIFF.match(text):
        return Speech(answer=text[:200], artifact=True)
    if text.startswith("{") and (said := _in_json(text)):
        return _plain(said)
    return _tagged(text) if _ANY_TAG.search(text) else _plain(text)


def _clean(text: str) -> str:
    """Bounded, without lone surrogates and NULs, which no later step needs to know."""
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n\n{text[-TAIL:]}"
    if not text.isascii():
        text = plain_letters(text.encode("utf-8", "replace").decode("utf-8"))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\x00", " ").strip()


def _in_json(text: str) -> str:
    """The answer in a text that is one JSON object."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    found = (cast("dict[str, Any]", value).get(key) for key in _ANSWER_KEYS)
    return next((one for one in found if isinstance(one, str) and one.strip()), "")


def _tagged(text: str) -> Speech:
    answers = [match.group(2).strip() for match in _ANSWER_TAG.finditer(text)]
    rest = _ANSWER_TAG.sub(" ", text)
    calls = [match.group(2).strip() for match in _CALL_BLOCK.finditer(rest)]
    calling = any(call.strip("[]{}() \n") for call in calls)
    if answers and answers[-1]:
        said = _plain(answers[-1])
        return Speech(said.prose, said.answer or answers[-1], artifact=said.artifact)
    rest = _CALL_BLOCK.sub("\n", rest)
    outside = _THOUGHT_BLOCK.sub("\n", rest)
    said = _plain(_TAG.sub(" ", outside if outside.strip() else _LOOSE_THOUGHT.sub(" ", rest)))
    return Speech(said.prose, said.answer, "call" if calling else said.step, said.control, said.artifact)


def _plain(text: str) -> Speech:
    """Prose, code and final answers of a text without tags."""
    if len(text) > _PAGE and text.count("](") >= _PAGE_LINKS:
        return Speech()
    blocks = [match.group(2) for match in _FENCE.finditer(text)] if "```" in text or "~~~" in text else []
    if any(_RETURNS_ANSWER.search(block) for block in blocks):
        return Speech(answer=blocks[-1][:200], artifact=True)
    prose = _FENCE.sub("\n", text) if blocks else text
    if answer := _final_answer(prose):
        return Speech(_tidy(answer), answer=answer)
    step = _step(prose, blocks)
    prose = _tidy(prose)
    artifact = bool(blocks) and not prose
    return Speech(prose, answer=blocks[-1][:200] if artifact else "", step=step, artifact=artifact)


def _step(prose: str, blocks: list[str]) -> str:
    if "ction" in prose.lower() and _REACT_CALL.search(prose):
        return "call"
    return "code" if blocks and any(block.strip() for block in blocks) else ""


def _final_answer(prose: str) -> str:
    found = list(_FINAL.finditer(prose)) if "final" in prose.lower() else []
    if found:
        answer = found[-1].group(1).strip() or prose[found[-1].end() :].strip()
        return answer.split("\n\n")[0][:2000].strip(" *_`")
    if "\\boxed{" in prose and (boxed := _BOXED.findall(prose)):
        return boxed[-1]
    if line := _ANSWER_LINE.match(prose):
        return line.group(1).strip(" *_`")
    return ""


def _rows_as_items(prose: str) -> str:
    """The rows of a table as items of a list, "| Upload | OK |" as "- Upload: OK"; its head and rulers say nothing."""
    lines = prose.split("\n")
    heads = {at - 1 for at, line in enumerate(lines) if _RULER.fullmatch(line)}
    kept = (line for at, line in enumerate(lines) if at not in heads and not _RULER.fullmatch(line))
    return "\n".join(_as_item(line) if line.lstrip().startswith("|") else line for line in kept)


def _as_item(row: str) -> str:
    return "- " + ": ".join(cell for cell in (one.strip() for one in row.strip().strip("|").split("|")) if cell)


def _without_objects(prose: str) -> str:
    """The text without JSON objects that stand on lines of their own."""
    kept: list[str] = []
    inside = False
    for line in prose.split("\n"):
        inside = inside or line.rstrip() == "{"
        if not inside:
            kept.append(line)
        inside = inside and line.rstrip() != "}"
    return "\n".join(kept)


def _tidy(prose: str) -> str:
    prose = _without_objects(prose) if "\n}" in prose else prose
    prose = _rows_as_items(prose) if "|" in prose and "--" in prose else prose
    prose = _without(prose, _NOISE)
    prose = _LABEL.sub("", prose) if ":" in prose and any(label in prose for label in _LABELS) else prose
    prose = _LINK.sub(r"\1 \2", prose) if "](" in prose else prose
    return _without(prose, _MARKUP).strip()


def _without(prose: str, patterns: Iterable[tuple[str, re.Pattern[str]]]) -> str:
    for mark, pattern in patterns:
        if mark in prose:
            prose = pattern.sub("", prose)
    return prose
