"""CrewAI: crews and agents on their own, and their tool calls.

Its event bus tells of every call, but it runs handlers in threads of its own, so requests that a tool makes would not
be found below its call. Hence patches: `run` of a tool is what native calls use, `invoke` what agents use that write
their calls as text. An answer out of the cache of tools is no call: nothing is done again, but it may have been done in
an earlier run, as may what a memory tells of. Delegation is no call either, what the coworker does belongs to the run.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any, cast

from opentelemetry.trace import TracerProvider

from overclaim._hooks import Reply, agent_run, plain, tool_call
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.conversations import Recalling, goes_on
from overclaim.integrations.patching import Patches

_patches = Patches("crewai")


def probe() -> str:
    """Say why it cannot be used, "" where it can."""
    return "already switched on" if _patches.on else ""


def on(_: TracerProvider) -> None:
    """Patch runs and tools."""
    crews: Any = import_module("crewai.crew")
    agents: Any = import_module("crewai.agent.core")
    tools: Any = import_module("crewai.tools.base_tool")
    structured: Any = import_module("crewai.tools.structured_tool")
    try:
        for name in ("kickoff", "akickoff"):
            _patches.around(crews.Crew, name, _crew)
        _patches.around(agents.Agent, "kickoff", _agent_unless_async)
        _patches.around(agents.Agent, "kickoff_async", _agent)
        for tool in (tools.BaseTool, tools.Tool):
            _patches.around(tool, "run", _called)
            _patches.around(tool, "arun", _called)
        _patches.around(structured.CrewStructuredTool, "invoke", _invoked)
        _patches.around(structured.CrewStructuredTool, "ainvoke", _invoked)
        _patches.around(import_module("crewai.agents.cache.cache_handler").CacheHandler, "read", _recalling)
        _patches.around(import_module("crewai.memory.unified_memory").Memory, "recall", _recalling)
    except AttributeError:
        off()
        raise


def off() -> None:
    """Undo that."""
    _patches.undo()


def _recalling(args: Arguments, kwargs: dict[str, Any]) -> Scope:
    return Recalling()


def _crew(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A crew that streams calls this again, without streaming, where it works."""
    crew = args[0]
    scope = None if crew.stream else agent_run(crew.name or "crew", answer=_answer)
    if kwargs.get("from_checkpoint") is not None:
        goes_on(scope)
    return scope


def _agent(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    agent = args[0]
    model = getattr(agent.llm, "model", None)
    scope = agent_run(agent.role, model=model if isinstance(model, str) else None, answer=_answer)
    asked: Any = args[1] if len(args) > 1 else kwargs.get("messages")
    listed = cast("list[Any]", asked) if isinstance(asked, list) else []
    spoken = any(isinstance(one, dict) and cast("dict[str, Any]", one).get("role") == "assistant" for one in listed)
    if spoken or kwargs.get("from_checkpoint") is not None:
        goes_on(scope)
    return scope


def _agent_unless_async(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """In an event loop `kickoff` only makes the coroutine of `kickoff_async`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _agent(args, kwargs)
    return None


def _answer(output: Any) -> str | None:
    raw = getattr(output, "raw", None)
    return raw if isinstance(raw, str) else None


def _called(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool, *rest = args
    return _call(tool, tool, dict(zip(tool.args_schema.model_fields, rest, strict=False)) | kwargs)


def _invoked(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool, *rest = args
    return _call(tool, getattr(tool, "_original_tool", None), rest[0] if rest else kwargs.get("input"))


def _call(tool: Any, original: Any, arguments: object) -> Scope | None:
    if any(one.__name__ == "BaseAgentTool" for one in type(original).__mro__):
        return None
    return tool_call(tool.name, arguments, description=tool.description, read=_read)


def _read(result: Any) -> Reply:
    """A tool may say itself, by an object of the library, that it failed."""
    if type(result).__name__ == "ToolFailure":
        return Reply(None, is_error=True, error_text=result.as_agent_message())
    return plain(result)
