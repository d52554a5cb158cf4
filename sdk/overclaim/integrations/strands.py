"""Strands Agents: what its tools give back, and what its agents answer.

Its own spans show neither unless content may leave. Each tool runs in one generator inside its tool span, whatever
the tool is made of (function, class, MCP, another agent) and however it is called; each agent in one inside its agent
span. Its hooks are registered agent by agent and hear of a result after the span has ended, so these two are patched.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from opentelemetry.trace import TracerProvider

from overclaim._hooks import Reply, agent_run, tool_call
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.conversations import goes_on
from overclaim.integrations.patching import Patches

__all__ = ["TEAMS", "off", "on", "probe"]

_PATCHES = Patches("strands")


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch tools and agents."""
    agents: Any = import_module("strands.agent.agent")
    try:
        _PATCHES.around(import_module("strands.tools.executors._executor"), "_run_tool", _tool)
        _PATCHES.around(agents.Agent, "_run_loop", _agent)
    except AttributeError:
        off()
        raise


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()


def _tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    call: Any = args[0] if args else kwargs["ctx"]
    use: Mapping[str, Any] = call.tool_use
    described = call.tool.tool_spec.get("description", "") if call.tool is not None else ""
    return tool_call(
        use["name"], use.get("input"), call_id=str(use.get("toolUseId") or ""), description=described, read=_reply
    )


def _reply(last: Any) -> Reply:
    """What the last event of a tool says; an interrupted tool has none yet, and will be called again."""
    told = _named(getattr(last, "tool_result", None))
    if not told:
        return Reply(None, captured=False)
    failed = told.get("status") == "error"
    given = told["structuredContent"] if "structuredContent" in told else _content(told.get("content"))
    return Reply(given, is_error=failed or None, error_text=given if failed and isinstance(given, str) else None)


def _content(blocks: object) -> object:
    """The text or the data of a result's only block; all blocks where there are more."""
    listed = _listed(blocks)
    only = _named(listed[0] if len(listed) == 1 else None)
    return next((only[kind] for kind in ("text", "json") if kind in only), blocks)


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _named(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _agent(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    agent: Any = args[0]
    model = _named(getattr(agent.model, "config", None)).get("model_id")
    scope = agent_run(str(agent.name or ""), model=model if isinstance(model, str) else None, answer=_answer)
    if _has_spoken(agent.messages) or _has_spoken(args[1] if len(args) > 1 else kwargs.get("messages")):
        goes_on(scope)
    return scope


def _has_spoken(messages: object) -> bool:
    """Whether an agent has spoken in a conversation so far."""
    return any(_named(message).get("role") == "assistant" for message in _listed(messages))


def _answer(last: object) -> str | None:
    """The text of the agent's last message, out of the last event of its loop."""
    reason, message = (*_named(last).get("stop", ()), "", None)[:2]
    blocks = [] if reason == "interrupt" else _listed(_named(message).get("content"))
    return "\n".join(_named(block)["text"] for block in blocks if "text" in _named(block)) or None


class _Teams:
    """Graphs and swarms: their agents work on one task, so that is one run. The last one's answer is the answer."""

    def __init__(self) -> None:
        self._patches = Patches("strands_teams")

    def probe(self) -> str:
        """Nothing is known to be in the way."""
        return ""

    def on(self, provider: TracerProvider) -> None:
        """Watch graphs and swarms."""
        graphs: Any = import_module("strands.multiagent.graph")
        swarms: Any = import_module("strands.multiagent.swarm")
        try:
            for team in (graphs.Graph, swarms.Swarm):
                self._patches.around(team, "stream_async", _team)
        except AttributeError:
            self.off()
            raise

    def off(self) -> None:
        """Stop watching."""
        self._patches.undo()


TEAMS = _Teams()


def _team(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    scope = agent_run(str(getattr(args[0], "id", "")), answer=_no_answer)
    nodes: Any = args[0].nodes
    if any(_has_spoken(getattr(node.executor, "messages", None)) for node in nodes.values()):
        goes_on(scope)
    return scope


def _no_answer(_: object) -> None:
    """A team has no words of its own: its last agent's count."""
