"""What MCP's own types say of a tool and of a call: the spellings of version 1, of version 2 and of the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from overclaim._hooks import Reply
from overclaim.outcome.model import NO_FACTS, ToolFacts

_WRAPPED = {"result"}


def tool_facts(annotations: Any) -> ToolFacts:
    """What the hints of a tool say. Unset ones say nothing, whatever the protocol assumes for them."""
    if annotations is None:
        return NO_FACTS
    read_only = _either(annotations, "read_only_hint", "readOnlyHint")
    if isinstance(read_only, bool):
        return ToolFacts(read_only=read_only)
    changes = _either(annotations, "destructive_hint", "destructiveHint")
    repeats = _either(annotations, "idempotent_hint", "idempotentHint")
    return NO_FACTS if changes is None and repeats is None else ToolFacts(read_only=False)


def reply(result: Any) -> Reply:
    """The answer to a call: its structured content, or else its texts, and the mark of an error."""
    result = getattr(result, "root", result)
    if (message := _error(result)) is not None:
        return Reply(message, is_error=True, error_text=message)
    content = _either(result, "content", "content")
    if not isinstance(content, list | tuple):
        return Reply(None, captured=False)  # a task that was begun, or a question to the user
    said = _texts(cast("list[Any]", content))
    if _either(result, "is_error", "isError") is True:
        return Reply(said, is_error=True, error_text=said)
    structured = _either(result, "structured_content", "structuredContent")
    return Reply(said if structured is None else _unwrapped(structured), is_error=False)


def _error(result: Any) -> str | None:
    """The message of a JSON-RPC error."""
    if isinstance(_either(result, "code", "code"), int):
        return str(_either(result, "message", "message") or "")
    return None


def _either(holder: Any, name: str, other: str) -> Any:
    if isinstance(holder, Mapping):
        given = cast("Mapping[str, Any]", holder)
        return given.get(name, given.get(other))
    found = getattr(holder, name, None)
    return getattr(holder, other, None) if found is None else found


def _texts(content: list[Any]) -> str:
    found = [_either(one, "text", "text") for one in content]
    return "\n".join(text for text in found if isinstance(text, str))


def _unwrapped(structured: Any) -> Any:
    """A result that is no object travels in one."""
    if isinstance(structured, Mapping) and set(cast("Mapping[str, Any]", structured)) == _WRAPPED:
        return cast("Mapping[str, Any]", structured)["result"]
    return cast("Any", structured)
