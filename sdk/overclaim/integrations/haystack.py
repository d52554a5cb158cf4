"""Haystack: what the tools of its agents give back, and what the agents answer.

Its own spans (opentelemetry-haystack) are enriched where they are on: everything is heard inside of them. A tool that
raises is handed to the model as a text, and its span does not say so in its status.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._hooks import agent_run, answered, tool_call
from overclaim._record import current_record
from overclaim._run import live_run
from overclaim._wrapping import Arguments, Scope, enter, leave
from overclaim.integrations.patching import Patches

__all__ = ["off", "on", "probe"]

_PATCHES = Patches("haystack")
_UNNAMED = "haystack.agent.step"  # a tool span in its record, until the framework says which tool it is
_GIVEN_BY_FRAMEWORK = ("State",)  # types of arguments that neither model nor user chose


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch tools, agents, and pipelines of several agents.

    Raises:
        AttributeError: this version of the library lacks one of the functions.
    """
    agent: Any = import_module("haystack.components.agents.agent")
    tool: Any = import_module("haystack.tools.tool")
    pipelines: Any = import_module("haystack.core.pipeline.pipeline")
    try:
        _PATCHES.around(tool.Tool, "invoke", _tool)
        _PATCHES.around(tool.Tool, "invoke_async", _async_tool)
        _PATCHES.replace(agent.Agent, "_create_agent_span", _with_run)
        _PATCHES.replace(agent, "_public_outputs", _heard)
        for name in ("run", "run_async", "run_async_generator"):
            _PATCHES.around(pipelines.Pipeline, name, _pipeline)
    except AttributeError:
        off()
        raise


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()


def _tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool: Any = args[0]
    given = {name: value for name, value in kwargs.items() if type(value).__name__ not in _GIVEN_BY_FRAMEWORK}
    given.pop("streaming_callback", None)
    record = current_record()
    if record is not None and record.tool == _UNNAMED:
        record.tool = tool.name
    return tool_call(tool.name, given, description=tool.description or "")


def _async_tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A tool without an asynchronous function ends up in `invoke`, which is watched."""
    return _tool(args, kwargs) if args[0].async_function is not None else None


def _heard(original: Any) -> Any:
    """Listen to what an agent gives to its user, at a place where its span is still open."""

    def outputs(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        _hear(result)
        return result

    return outputs


@fail_open
def _hear(outputs: Any) -> None:
    messages: Any = outputs.get("messages") or ()
    record, run = current_record(), live_run()
    if not messages or run is None:
        return
    said = [index for index, one in enumerate(messages) if one.role.value == "assistant"]
    asked = [index for index, one in enumerate(messages) if one.role.value == "user"]
    results = sum(one.role.value == "tool" for one in messages)
    before = bool(said and asked and said[0] < asked[-1]) or results > len(run.calls)
    run.earlier = run.earlier or before  # done before, perhaps by another agent
    if not said or said[-1] != len(messages) - 1:
        return
    if record is not None and record.run is run and record.span_id != run.span_id:
        run.heard = messages[-1].text or run.heard  # an agent inside another run has no user
    else:
        answered(messages[-1].text)


def _pipeline(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """Agents of one pipeline work on one task, so that is one run. The last one's answer is the answer."""
    graph: Any = args[0].graph
    agents = [one for _, one in graph.nodes(data="instance") if hasattr(one, "_create_agent_span")]
    return agent_run("", answer=_no_words) if len(agents) > 1 and live_run() is None else None


def _no_words(_: object) -> None:
    """A pipeline has no words of its own."""


def _with_run(original: Any) -> Any:
    def create(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _AgentSpan(original(self, *args, **kwargs), self)

    return create


class _AgentSpan:
    """The framework's agent span, with a run inside of it; where nobody records that span, the run has one of ours."""

    def __init__(self, span: Any, agent: Any) -> None:
        self._span, self._agent = span, agent
        self._scope: Scope | None = None
        self._token: Any = None

    def __enter__(self) -> Any:
        span = self._span.__enter__()
        self._begin()
        return span

    @fail_open
    def _begin(self) -> None:
        model = getattr(self._agent.chat_generator, "model", None)
        self._scope = agent_run("", model=model if isinstance(model, str) else None)
        if self._scope is not None:
            self._token = enter(self._scope)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> Any:
        leave(self._token)
        if self._scope is not None and error is not None:
            self._scope.raised(error)
        elif self._scope is not None:
            self._scope.returned(None)
        return self._span.__exit__(kind, error, trace)
