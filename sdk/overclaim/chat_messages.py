"""Chat messages to tool calls with their results, and the agent's texts.

Reads the OpenAI form (`tool_calls`, role=tool), its older one (`function_call`, role=function) and Anthropic's
content parts (`tool_use`, `tool_result`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from overclaim._json import items, mapping, text

# A result is looked for among this many open calls, so that reading stays linear.
_OPEN_CALLS = 256
_TEXTS = 64
_ROLES = {
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "tool": "tool", "function": "tool",
    "user": "user", "human": "user", "system": "system", "developer": "system",
}  # fmt: skip
# What a recorder leaves in place of a result that it was told not to keep.
_WITHHELD = re.compile(
    r"[\[<({*_]+\s*(?:\w+\s+){0,3}?(?:not (?:captured|recorded|kept|stored)|redacted|omitted|removed|masked|hidden)"
    r"(?![a-z])[^\n]{0,80}?[\])>}*_]+",
    re.IGNORECASE,
)
_RETURN_CODE = re.compile(r"^(?:return ?code|exit ?code|exit status):? (-?\d{1,10})$", re.IGNORECASE)


@dataclass(slots=True)
class Result:
    """One result as the agent got it. captured: False where the content was withheld from the record."""

    tool: str = ""
    call_id: str = ""
    content: object = None
    is_error: bool | None = None
    error_text: str | None = None
    exit_code: int | None = None
    captured: bool = True


@dataclass(slots=True, eq=False)
class ToolCall:
    """One call of the agent, its result, or either of them alone. batch: the message that asked for it."""

    tool: str = ""
    id: str = ""
    arguments: object = None
    batch: int = -1
    result: Result | None = None


@dataclass(slots=True)
class Conversation:
    """What the messages hold: calls in the order of their results, then those without; the agent's last texts.

    asked: the user's last texts. finished: whether the agent said something after the user's last word.
    skipped: messages that were not usable.
    """

    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    answered: int = 0
    texts: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])
    finished: bool = False
    skipped: list[str] = field(default_factory=list[str])


def read_messages(messages: Iterable[object]) -> Conversation:
    """Read the messages of one run, oldest first. Never fails: what cannot be used is named in `skipped`."""
    reader = _Reader()
    for number, message in enumerate(messages):
        reader.read(number, mapping(message))
    return reader.conversation()


def is_withheld(content: object) -> bool:
    """Whether a result is a placeholder such as "[content not captured]" or "__REDACTED__"."""
    return isinstance(content, str) and len(content) < 160 and bool(_WITHHELD.fullmatch(content.strip()))


class _Reader:
    def __init__(self) -> None:
        self._done: list[ToolCall] = []
        self._open: list[ToolCall] = []
        self._plain: list[str] = []  # texts of messages that ask for no call
        self._in_flight: list[str] = []  # texts beside calls, since the last plain one
        self._asked: list[str] = []
        self._finished = False
        self._user_spoke = False
        self._skipped: list[str] = []

    def read(self, number: int, message: dict[str, object]) -> None:
        role = _ROLES.get(text(message.get("role")).lower())
        if role is None:
            named = f"has role {message['role']!r:.40}" if "role" in message else "has no role"
            self._skipped.append(f"message {number} {named}")
        elif role == "tool":
            self._turn()
            self._join(_tool_result(message))
        elif role == "assistant":
            self._turn()
            self._assistant(number, message)
        elif role == "user":
            self._user(message)

    def conversation(self) -> Conversation:
        return Conversation(
            calls=[*self._done, *self._open],
            answered=len(self._done),
            texts=[*self._plain, *self._in_flight][-_TEXTS:],
            asked=self._asked[-_TEXTS:],
            finished=self._finished,
            skipped=self._skipped,
        )

    def _turn(self) -> None:
        """Begin the agent's turn where the user had spoken before."""
        if self._user_spoke:
            self._finished = self._user_spoke = False

    def _user(self, message: dict[str, object]) -> None:
        parts = [mapping(part) for part in items(message.get("content"))]
        results = [part for part in parts if part.get("type") == "tool_result"]
        for part in results:
            self._join(_part_result(part))
        self._user_spoke = self._user_spoke or not results
        if said := _said(message.get("content")):
            self._asked.append(said)

    def _assistant(self, number: int, message: dict[str, object]) -> None:
        calls = [*_asked(message, number)]
        self._open += calls
        said = _said(message.get("content"))
        if said:
            self._finished = True
            (self._in_flight if calls else self._plain).append(said)
            if not calls:
                self._in_flight.clear()

    def _join(self, result: Result) -> None:
        call = self._match(result)
        if call is None:
            call = ToolCall(result.tool, result.call_id)
        else:
            self._open.remove(call)
        call.result = result
        self._done.append(call)

    def _match(self, result: Result) -> ToolCall | None:
        """Return the nearest earlier open call with the result's id, else with its tool's name."""
        candidates = self._open[-_OPEN_CALLS:]
        same = [call for call in candidates if result.call_id and call.id == result.call_id]
        same = same or [call for call in candidates if not result.tool or call.tool in ("", result.tool)]
        return next((call for call in same if call.batch == same[-1].batch), None)


def _asked(message: dict[str, object], batch: int) -> Iterable[ToolCall]:
    for call in map(mapping, items(message.get("tool_calls"))):
        function = mapping(call.get("function")) or mapping(call.get("custom")) or call
        arguments = next((function[key] for key in ("arguments", "input", "args") if key in function), None)
        yield ToolCall(text(function.get("name")), text(call.get("id")), arguments, batch)
    if function := mapping(message.get("function_call")):
        yield ToolCall(text(function.get("name")), "", function.get("arguments"), batch)
    for part in map(mapping, items(message.get("content"))):
        if part.get("type") in ("tool_use", "server_tool_use"):
            yield ToolCall(text(part.get("name")), text(part.get("id")), part.get("input"), batch)


def _said(content: object) -> str:
    if isinstance(content, str):
        return content if content.strip() else ""
    parts = [part if isinstance(part, str) else _part_text(mapping(part)) for part in items(content)]
    return "\n".join(filter(str.strip, parts))


def _part_text(part: dict[str, object]) -> str:
    return text(part.get("text")) if part.get("type", "text") in ("text", "output_text") else ""


def _tool_result(message: dict[str, object]) -> Result:
    native = text(message.get("native_error"))
    code = _RETURN_CODE.match(native)
    content = message.get("content")
    return Result(
        tool=text(message.get("name")),
        call_id=text(message.get("tool_call_id")),
        content=content,
        is_error=_error_mark(message),
        error_text=None if code else native or None,
        exit_code=int(code[1]) if code else None,
        captured="content" in message and not is_withheld(content),
    )


def _part_result(part: dict[str, object]) -> Result:
    content = part.get("content")
    flag = part.get("is_error")
    return Result(
        call_id=text(part.get("tool_use_id")),
        content=content,
        is_error=flag if isinstance(flag, bool) else None,
        captured="content" in part and not is_withheld(content),
    )


def _error_mark(message: dict[str, object]) -> bool | None:
    """Return the framework's own mark; that it saw no error is no mark, for it rarely looks."""
    flag = message.get("is_error")
    if isinstance(flag, bool):
        return flag
    return True if "error" in (message.get("native_status"), message.get("status")) else None
