"""A conversation with Claude Code, as its messages tell it: turns, their calls, and sub-agents that calls start.

Where the current agent span is that of an instrumentor that makes a span of each call, only the answer is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from opentelemetry.context import Context

from overclaim._hooks import Open, Reply, agent_run, tool_call
from overclaim._run_scope import live_run
from overclaim._wrapping import Scope, attached, leave
from overclaim.integrations.conversations import goes_back

Message = Mapping[str, Any]
_BY_CLAUDE_CODE = "mcp__"  # how it begins the names of the tools of MCP servers


class Within:
    """A scope that only makes a context current."""

    def __init__(self, context: Context | None) -> None:
        self.context = context

    def returned(self, result: object) -> None:
        """Nothing to note: the messages tell."""

    def raised(self, error: BaseException) -> None:
        """Nothing to note."""

    def abandoned(self, result: object) -> None:
        """Nothing to note."""


class Conversation:
    """What is under way in one conversation. A run is one turn, from its first message to its result.

    earlier: whether there were turns before, in this conversation or in the session that it goes on with.
    """

    def __init__(self, *, earlier: bool = False) -> None:
        self._earlier = earlier
        self._run: Scope | None = None
        self._shown = self._ended = False
        self._calls = Open(current=False)
        # By the id of the call: what kind of sub-agent it asks for, and the sub-agent once it speaks.
        self._kinds: dict[str, str] = {}
        self._agents: dict[str, Scope] = {}
        # By the id of the call, what may soon run in this process: tool and arguments.
        self._awaited: dict[str, tuple[str, object]] = {}

    def hear(self, message: Message) -> None:
        """Take in a message."""
        kind = message.get("type")
        if self._ended:
            return
        if kind == "result":
            self._answered(message)
        elif kind in ("assistant", "user") or message.get("subtype") == "init":
            if self._run is None and kind != "user":
                self._begin(message)
            for block in _blocks(message):
                self._take(block, message.get("parent_tool_use_id"))

    def inside(self, tool_name: str, arguments: object) -> Scope | None:
        """What is current while a tool runs in this process: the span of the call that waits for it."""
        for call_id, (tool, given) in self._awaited.items():
            if tool.endswith(f"__{tool_name}") and given == arguments:
                del self._awaited[call_id]
                scope = self._calls.scope(call_id)
                return Within(scope.context) if scope is not None else None
        return None

    def end(self) -> None:
        """Hear no more. What is still open stays without an outcome."""
        self._ended = True
        self._give_up()

    def _begin(self, message: Message) -> None:
        model = message.get("model") or _inner(message).get("model")
        self._run = agent_run("", model=model if isinstance(model, str) else None)
        if self._earlier:
            goes_back(self._run)
        self._earlier = True
        run = live_run() if self._run is not None and self._run.context is None else None
        self._shown = run is not None and not run.own and run.captured

    def _answered(self, message: Message) -> None:
        run, self._run = self._run, None
        self._give_up()
        if run is not None:
            run.returned(None if message.get("is_error") else message.get("result"))

    def _give_up(self) -> None:
        agents = [*self._agents.values(), *([self._run] if self._run is not None else [])]
        self._calls.clear()
        for left in (self._agents, self._kinds, self._awaited):
            left.clear()
        self._run = None
        for agent in agents:
            agent.abandoned(None)

    def _take(self, block: Message, above: object) -> None:
        kind = str(block.get("type"))
        if kind in ("tool_use", "server_tool_use"):
            self._called(block, above)
        elif kind.endswith("tool_result"):
            self._came_back(block)

    def _called(self, block: Message, above: object) -> None:
        call_id, tool, given = str(block["id"]), str(block["name"]), cast("object", block.get("input") or {})
        if self._shown or self._calls.scope(call_id) is not None:
            return
        token = _entered(self._speaker(above))
        try:
            self._calls.begin(call_id, tool_call(tool, given, call_id=call_id, read=reply))
        finally:
            leave(token)
        if tool.startswith(_BY_CLAUDE_CODE):
            self._awaited[call_id] = tool, given
        if isinstance(given, Mapping) and "subagent_type" in given:
            self._kinds[call_id] = str(cast("Message", given)["subagent_type"])

    def _speaker(self, above: object) -> Scope | None:
        """The sub-agent that a call started, which its first message opens; the turn where there is no such call."""
        call = self._calls.scope(above) if isinstance(above, str) else None
        if call is None or not isinstance(above, str):
            return self._run
        if above not in self._agents:
            token = _entered(call)
            try:
                agent = agent_run(self._kinds.get(above, ""))
            finally:
                leave(token)
            if agent is None:
                return call
            self._agents[above] = agent
        return self._agents[above]

    def _came_back(self, block: Message) -> None:
        call_id = str(block["tool_use_id"])
        self._awaited.pop(call_id, None)
        self._kinds.pop(call_id, None)
        agent = self._agents.pop(call_id, None)
        if agent is not None:
            agent.returned(reply(block).result)
        self._calls.returned(call_id, block)


def reply(block: Any) -> Reply:
    """What a block that brings a result says: the text or the blocks that the model reads, and the mark of an error."""
    content: Any = block.get("content")
    failed = block.get("is_error") is True
    if isinstance(content, Mapping):
        failed = failed or str(cast("Message", content).get("type")).endswith("_error")
    elif isinstance(content, list) and len(cast("list[Any]", content)) == 1:
        content = cast("Message", content[0]).get("text", cast("object", content))
    return Reply(content, is_error=failed or None, error_text=content if failed and isinstance(content, str) else None)


def _entered(scope: Scope | None) -> Any:
    return attached(scope.context) if scope is not None and scope.context is not None else None


def _inner(message: Message) -> Message:
    inner = message.get("message")
    return cast("Message", inner) if isinstance(inner, Mapping) else {}


def _blocks(message: Message) -> Iterator[Message]:
    content = _inner(message).get("content")
    for block in cast("list[object]", content) if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            yield cast("Message", block)
