"""smolagents: its agents' runs and their tool calls, by patches. The library has no hook that sees a tool's result.

A call of the model is seen where the agent executes it, so that unknown tools and wrong arguments count too. Code that
a CodeAgent writes calls the tool itself, which is seen there; the two join where both happen. `final_answer` is how an
agent answers and no call, and a managed agent is a run inside the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from opentelemetry.trace import TracerProvider

from overclaim._hooks import Reply, agent_run, plain, tool_call
from overclaim._record import Record, current_record
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.conversations import goes_on
from overclaim.integrations.patching import Patches

_ANSWERS = "final_answer"
_DONE = ("ActionStep", "FinalAnswerStep")  # in the memory of an agent that has been at work before
_patches = Patches("smolagents")


def probe() -> str:
    """Say why it cannot be used, "" where it can."""
    return "already switched on" if _patches.on else ""


def on(_: TracerProvider) -> None:
    """Patch the agents' run, their execution of calls, and the tools."""
    agents: Any = import_module("smolagents.agents")
    tools: Any = import_module("smolagents.tools")
    interpreters: Any = import_module("smolagents.local_python_executor"), import_module("smolagents.remote_executors")
    try:
        _patches.around(agents.MultiStepAgent, "_run_stream", _run)
        _patches.around(agents.ToolCallingAgent, "execute_tool_call", _asked_for)
        _patches.around(tools.Tool, "__call__", _called)
        _patches.around(tools.PipelineTool, "__call__", _called)
        _patches.around(interpreters[0].LocalPythonExecutor, "__call__", _coded)
        _patches.around(interpreters[1].RemotePythonExecutor, "__call__", _coded)
    except AttributeError:
        off()
        raise


def off() -> None:
    """Undo that."""
    _patches.undo()


def _run(args: Arguments, _: dict[str, Any]) -> Scope | None:
    """The steps of a run, streamed or not, come from one generator, whose last item is the answer."""
    agent = args[0]
    model = getattr(agent.model, "model_id", None)
    scope = agent_run(agent.name or type(agent).__name__, model=model, answer=_answer)
    if any(type(step).__name__ in _DONE for step in agent.memory.steps):
        goes_on(scope)
    return scope


def _answer(step: Any) -> str | None:
    output = getattr(step, "output", None)
    if isinstance(output, str):
        return str(output)
    return json.dumps(output, default=str) if isinstance(output, dict | list) else None


def _asked_for(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A call as the model asked for it, with the values that stand for the names of results it gives."""
    agent, name, given = _given(args, kwargs)
    if name == _ANSWERS or name in agent.managed_agents:
        return None
    description = getattr(agent.tools.get(name), "description", "")
    return tool_call(name, agent._substitute_state_variables(given), description=description, read=_read)


def _given(args: Arguments, kwargs: dict[str, Any]) -> tuple[Any, str, Any]:
    agent, *rest = args
    named = dict(zip(("tool_name", "arguments"), rest, strict=False)) | kwargs
    return agent, named["tool_name"], named["arguments"]


def _called(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A tool that is called, by the agent or by the code that a CodeAgent wrote."""
    tool, *rest = args
    if tool.name == _ANSWERS or _asked(tool.name):
        return None
    given = {key: value for key, value in kwargs.items() if key != "sanitize_inputs_outputs"}
    if len(rest) == 1 and not given and isinstance(rest[0], Mapping):
        given = dict(cast("Mapping[str, Any]", rest[0]))
    else:
        given |= dict(zip(tool.inputs, rest, strict=False))
    return tool_call(tool.name, given, description=tool.description, read=_read)


def _asked(tool: str) -> bool:
    """Whether the call is seen already, where the agent executes it, and nothing stands in between."""
    record = current_record()
    return type(record) is Record and record.tool == tool


def _read(result: Any) -> Reply:
    """Texts come in a class of the library's own."""
    return plain(str(result) if isinstance(result, str) else result)


def _coded(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """The code of one step, which the library itself counts as a call of its interpreter."""
    code = args[1] if len(args) > 1 else kwargs.get("code_action")
    return tool_call("python_interpreter", {"code": code}, read=_printed)


def _printed(output: Any) -> Reply:
    """What the code printed. Its last value is the answer, or what a tool returned, which was seen there."""
    return plain(output.logs)
