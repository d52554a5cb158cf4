"""Claude Agent SDK: the calls and answers that its messages tell of.

The agent and most of its tools run in the Claude Code process; every tool call and what became of it passes through
the messages that `query()` and `ClaudeSDKClient` read. So those are watched: nothing is asked of the other process,
and its options stay as they are. What happens in tools of MCP servers in this process lands below their call's span.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, cast
from weakref import WeakKeyDictionary

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.claude_conversation import Conversation
from overclaim.integrations.patching import Patches

__all__ = ["off", "on", "probe"]

_PATCHES = Patches("claude_agent")
_conversations: WeakKeyDictionary[object, Conversation] = WeakKeyDictionary()


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch conversations."""
    internal: Any = import_module("claude_agent_sdk._internal.query")
    try:
        _PATCHES.replace(internal.Query, "receive_messages", _heard)
        _PATCHES.around(internal.Query, "close", _close)
        _PATCHES.around(internal.Query, "_handle_sdk_mcp_request", _tool_of_ours)
    except AttributeError:
        off()
        raise


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()
    for conversation in list(_conversations.values()):
        conversation.end()
    _conversations.clear()


def _of(query: Any) -> Conversation:
    found = _conversations.get(query)
    if found is None:
        found = _conversations[query] = Conversation(earlier=_goes_on(query))
    return found


def _goes_on(query: Any) -> bool:
    """Whether a conversation was begun elsewhere."""
    options: Any = getattr(getattr(query, "transport", None), "_options", None)
    return any(getattr(options, name, None) for name in ("resume", "continue_conversation", "fork_session"))


def _heard(original: Callable[[Any], AsyncIterator[Any]]) -> Callable[[Any], AsyncIterator[Any]]:
    """Listen to the messages of a conversation."""

    @wraps(original)
    async def receive_messages(self: Any) -> AsyncIterator[Any]:
        messages: Any = original(self)
        try:
            async for message in messages:
                _hear(self, message)
                yield message
        finally:
            await messages.aclose()

    return receive_messages


@fail_open
def _hear(query: Any, message: object) -> None:
    if _PATCHES.on and isinstance(message, Mapping):
        _of(query).hear(cast("Mapping[str, Any]", message))


def _close(args: Arguments, kwargs: dict[str, Any]) -> None:
    _of(args[0]).end()


def _tool_of_ours(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """Let a tool of this process run inside the span of its call; mcp hands on what is current since version 2."""
    query, _, message = args
    if message.get("method") != "tools/call":
        return None
    given = message["params"]
    return _of(query).inside(given["name"], given.get("arguments") or {})
