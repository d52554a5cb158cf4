"""Anthropic's client: loops around its messages, and its tool runner.

The runner makes a span of each tool call itself, which shows no result unless content may leave: its functions that
run a tool are patched, inside those spans.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim import _hooks as hooks
from overclaim._hooks import Reply as Outcome
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.patching import Patches
from overclaim.integrations.raw_clients import Client, apart, content, forced, get, listed, texts
from overclaim.integrations.raw_loops import Asked, Reply, Request, Told, listen

_UNFINISHED = ("pause_turn",)
_PATCHED = ("__run__", "_run_tool", "_run_toolset_member")


class Messages:
    """The Messages API, with its beta."""

    def request(self, body: Mapping[str, Any], /) -> Request:
        """Read a request: the results after the last message of the model are new."""
        asked: dict[str, Asked] = {}
        told: list[Told] = []
        earlier = False
        for message in listed(body.get("messages")):
            blocks = listed(get(message, "content"))
            if get(message, "role") == "assistant":
                asked.update((call.id, call) for call in _calls(blocks))
                told, earlier = [], True
            else:
                told += [_result(block) for block in blocks if get(block, "type") == "tool_result"]
        tools = [tool for tool in listed(body.get("tools")) if get(tool, "type") in (None, "custom")]
        offered = tuple((str(get(tool, "name")), str(get(tool, "description") or "")) for tool in tools)
        hosted = len(offered) < len(listed(body.get("tools"))) or bool(body.get("mcp_servers"))
        return Request(str(body.get("model") or ""), offered, hosted, asked, tuple(apart(told)), earlier, forced(body))

    def reply(self, given: Any, /) -> Reply | None:
        """Read a reply."""
        blocks = listed(get(given, "content"))
        if not blocks:
            return None
        if get(given, "stop_reason") in _UNFINISHED:
            return Reply(tuple(_calls(blocks)))
        return Reply(tuple(_calls(blocks)), texts(blocks))

    def pieces(self) -> MessagePieces:
        """Begin to read a stream."""
        return MessagePieces()


def _calls(blocks: list[Any]) -> list[Asked]:
    uses = [block for block in blocks if get(block, "type") == "tool_use"]
    return apart(Asked(str(get(use, "id") or ""), str(get(use, "name")), get(use, "input")) for use in uses)


def _result(block: Any) -> Told:
    return Told(str(get(block, "tool_use_id") or ""), content(get(block, "content")), bool(get(block, "is_error")))


class MessagePieces:
    """A streamed message."""

    def __init__(self) -> None:
        self._blocks: dict[Any, dict[str, Any]] = {}
        self._stopped: Any = None

    def add(self, event: Any, /) -> Reply | None:
        """Take in the next event; the whole reply with the last one."""
        kind = get(event, "type")
        if kind == "content_block_start":
            block = get(event, "content_block")
            self._blocks[get(event, "index")] = {
                "type": get(block, "type"),
                "id": get(block, "id"),
                "name": get(block, "name"),
                "text": get(block, "text") or "",
                "input": "",
            }
        elif kind == "content_block_delta" and (block := self._blocks.get(get(event, "index"))) is not None:
            delta = get(event, "delta")
            block["text"] += get(delta, "text") or ""
            block["input"] += get(delta, "partial_json") or ""
        elif kind == "message_delta":
            self._stopped = get(get(event, "delta"), "stop_reason") or self._stopped
        elif kind == "message_stop":
            return MESSAGES.reply({"content": list(self._blocks.values()), "stop_reason": self._stopped})
        return None


class Runner:
    """The switch of the tool runner."""

    def __init__(self) -> None:
        self._patches = Patches("anthropic tool runner")

    def probe(self) -> str:
        """Older runners make no spans, and are a loop as any other."""
        missing = [name for owner in _runners() for name in _PATCHED if not hasattr(owner, name)]
        return f"this version has no {missing[0]}: its loop is watched at the client" if missing else ""

    def on(self, provider: TracerProvider, /) -> None:
        """Patch the functions that run the loop, and those that run a tool.

        Raises:
            AttributeError: this version of the library lacks one of them.
        """
        try:
            for owner in _runners():
                self._patches.around(owner, "__run__", _run)
                self._patches.around(owner, "_run_tool", _tool)
                self._patches.around(owner, "_run_toolset_member", _tool)
        except AttributeError:
            self.off()
            raise

    def off(self) -> None:
        """Take the patches off."""
        self._patches.undo()


def _runners() -> tuple[Any, Any]:
    from importlib import import_module

    runner: Any = import_module("anthropic.lib.tools._beta_runner")
    return runner.BaseSyncToolRunner, runner.BaseAsyncToolRunner


def _run(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """The run of a loop, whose answer the client hears."""
    scope = hooks.agent_run("", model=get(args[0]._params, "model"), answer=_unsaid)
    state = getattr(scope, "state", None)
    if state is not None:
        listen(state)
    return scope


def _unsaid(_: Any) -> None: ...


def _tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    use: Any = kwargs["tool_use"] if "tool_use" in kwargs else args[-1]
    return hooks.tool_call(use.name, use.input, call_id=use.id, read=_outcome)


def _outcome(block: Any) -> Outcome:
    result, failed = content(get(block, "content")), bool(get(block, "is_error"))
    text = result if isinstance(result, str) else json.dumps(result, default=str)
    return Outcome(result, is_error=failed or None, error_text=text if failed else None)


MESSAGES = Messages()
CLIENT = Client("anthropic", {"/v1/messages": MESSAGES})
RUNNER = Runner()
