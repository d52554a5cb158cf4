"""Chat messages to tool calls with their results, and the agent's texts.

Reads the OpenAI form (`tool_calls`, role=tool), its older one (`function_call`, role=function) and Anthropic's
content parts (`tool_use`, `tool_result`).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from overclaim._json import items, mapping, text

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
    read = [mapping(message) for message in messages]
    reader = _Reader(frozenset(result.call_id for message in read for result in _results(message)))
    for number, message in enumerate(read):
        reader.read(number, message)
    return reader.conversation()


def is_withheld(content: object) -> bool:
    """Whether a result is a placeholder such as "[content not captured]" or "__REDACTED__"."""
    return isinstance(content, str) and len(content) < 160 and bool(_WITHHELD.fullmatch(content.strip()))


class _Waiting:
    """Calls that may still wait for a result, by the message that asked for them."""

    def __init__(self) -> None:
        self._batches: list[deque[ToolCall]] = []

    def add(self, call: ToolCall) -> None:
        if not self._batches or self._batches[-1][0].batch != call.batch:
            self._batches.append(deque())
        self._batches[-1].append(call)

    def first(self) -> ToolCall | None:
        """Return the first call without a result in the last message that has one. Linear over all questions."""
        while self._batches:
            batch = self._batches[-1]
            if batch[0].result is None:
                return batch[0]
            batch.popleft()
            if not batch:
                self._batches.pop()
        return None


class _OpenCalls:
    """Finds the call that a result belongs to. answered: the ids that results of the conversation carry.

    Ids may repeat: a result belongs to the nearest earlier call with its id. A call whose id no result carries may
    be answered by a result whose id no call has, or that has none; then the tool's name decides, and the order.
    """

    def __init__(self, answered: frozenset[str]) -> None:
        self._answered = answered
        self._latest: dict[str, ToolCall] = {}
        self._by_id: dict[str, _Waiting] = {}
        self._by_tool: dict[str, _Waiting] = {}
        self._any = _Waiting()

    def add(self, call: ToolCall) -> None:
        if call.id:
            self._latest[call.id] = call
            self._by_id.setdefault(call.id, _Waiting()).add(call)
        if not call.id or call.id not in self._answered:
            self._by_tool.setdefault(call.tool, _Waiting()).add(call)
            self._any.add(call)

    def take(self, result: Result) -> ToolCall:
        """Return the call of a result: an open one, one more of an answered one, or one nobody saw being asked."""
        known = self._latest.get(result.call_id)
        if known is None:
            return self._by_name(result.tool) or ToolCall(result.tool, result.call_id)
        return self._by_id[known.id].first() or ToolCall(known.tool, known.id, known.arguments, known.batch)

    def _by_name(self, tool: str) -> ToolCall | None:
        if not tool:
            return self._any.first()
        found = [self._by_tool[name].first() for name in (tool, "") if name in self._by_tool]
        return max(filter(None, found), key=lambda call: call.batch, default=None)


class _Reader:
    def __init__(self, answered: frozenset[str]) -> None:
        self._done: list[ToolCall] = []
        self._asked_for: list[ToolCall] = []
        self._open = _OpenCalls(answered)
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
            self._join(message)
        elif role == "assistant":
            self._turn()
            self._assistant(number, message)
        elif role == "user":
            self._user(message)

    def conversation(self) -> Conversation:
        return Conversation(
            calls=[*self._done, *(call for call in self._asked_for if call.result is None)],
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
        brought = self._join(message)
        self._user_spoke = self._user_spoke or not brought
        if said := _said(message.get("content")):
            self._asked.append(said)

    def _assistant(self, number: int, message: dict[str, object]) -> None:
        calls = [*_asked(message, number)]
        self._asked_for += calls
        for call in calls:
            self._open.add(call)
        said = _said(message.get("content"))
        if said:
            self._finished = True
            (self._in_flight if calls else self._plain).append(said)
            if not calls:
                self._in_flight.clear()

    def _join(self, message: dict[str, object]) -> bool:
        """Give the results in a message to their calls; whether there were any."""
        results = _results(message)
        for result in results:
            call = self._open.take(result)
            call.result = result
            self._done.append(call)
        return bool(results)


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


def _results(message: dict[str, object]) -> list[Result]:
    role = _ROLES.get(text(message.get("role")).lower())
    if role == "tool":
        return [_tool_result(message)]
    parts = map(mapping, items(message.get("content"))) if role == "user" else ()
    return [_part_result(part) for part in parts if part.get("type") == "tool_result"]


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
