"""Pydantic AI: its own spans, with what its tools give back and what its agents answer.

They are switched on where the program has not decided about them, without content unless content may leave. What they
lack then is heard inside of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from importlib import import_module
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._hooks import Reply, agent_run, plain, tool_call
from overclaim._json import loads
from overclaim._runtime import RUNTIME
from overclaim._wrapping import Arguments, Scope, wrap
from overclaim.integrations.conversations import goes_on, goes_on_here
from overclaim.integrations.patching import Patches
from overclaim.reading.dialects import message_text

__all__ = ["off", "on", "probe", "spoken"]

_PATCHES = Patches("pydantic_ai")
_CALLED, _RETURNED = "builtin-tool-call", "builtin-tool-return"
_ONLY_READ = ("web_search", "web_fetch", "file_search", "x_search", "tool_search")
Handler = Callable[..., Awaitable[Any]]


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Switch the spans of all agents on, and look inside of them.

    Raises:
        AttributeError: this version of the library lacks one of the functions.
    """
    try:
        agent: Any = import_module("pydantic_ai.agent").Agent
        spans: Any = import_module("pydantic_ai.capabilities").Instrumentation
        _PATCHES.replace(spans, "wrap_tool_execute", _watched_tools)
        _PATCHES.replace(spans, "wrap_run", _watched_runs)
        if getattr(agent, "_instrument_default", None) is False:
            _switch_on_spans(agent, provider)
    except Exception:
        off()
        raise


def off() -> None:
    """Switch off what was switched on."""
    _PATCHES.undo()


def _switch_on_spans(agent: Any, provider: TracerProvider) -> None:
    made: Any = import_module("pydantic_ai.models.instrumented").InstrumentationSettings
    content = RUNTIME.capture_content
    settings = made(
        tracer_provider=provider, include_content=content, include_binary_content=False,
        include_model_request_parameters=content,
    )  # fmt: skip
    agent.instrument_all(settings)

    def undo() -> None:
        if agent._instrument_default is settings:
            agent.instrument_all(False)

    _PATCHES.later(undo)


def _watched_tools(original: Callable[..., Any]) -> Callable[..., Any]:
    """What makes the span of a call: the tool is watched inside of it."""

    @wraps(original)
    async def wrap_tool_execute(*args: Any, **given: Any) -> Any:
        return await original(*args, **given | (_tool_inside(given) or {}))

    return wrap_tool_execute


def _watched_runs(original: Callable[..., Any]) -> Callable[..., Any]:
    """What makes the span of a run: the answer is heard inside of it."""

    @wraps(original)
    async def wrap_run(*args: Any, **given: Any) -> Any:
        return await original(*args, **given | (_run_inside(args[1], given) or {}))

    return wrap_run


@fail_open
def _tool_inside(given: dict[str, Any]) -> dict[str, Handler]:
    handler, call, tool_def = given["handler"], given["call"], given["tool_def"]

    def watched(args: Any) -> Awaitable[Any]:
        return _tool(handler, args, call, tool_def)

    return {"handler": watched}


@fail_open
def _run_inside(ctx: Any, given: dict[str, Any]) -> dict[str, Handler]:
    handler = given["handler"]
    return {"handler": lambda: _agent(handler, ctx)}


async def _execute(handler: Handler, args: Any, call: Any, tool_def: Any) -> Any:
    return await handler(args)


@fail_open
def _begin_tool(args: Arguments, _: dict[str, Any]) -> Scope | None:
    _, given, call, tool_def = args
    description = getattr(tool_def, "description", None) or ""
    return tool_call(call.tool_name, given, call_id=call.tool_call_id, description=description, read=_reply)


_tool = wrap(_execute, _begin_tool)


def _reply(result: Any) -> Reply:
    """What the model gets; a tool may wrap that, to say more to the program."""
    wrapped = isinstance(result, import_module("pydantic_ai.messages").ToolReturn)
    return plain(result.return_value if wrapped else result)


async def _run(handler: Handler, ctx: Any) -> Any:
    result = await handler()
    _provider_calls(result)
    return result


@fail_open
def _begin_run(args: Arguments, _: dict[str, Any]) -> Scope | None:
    ctx: Any = args[1]
    if ctx.realtime:
        return None
    agent = getattr(ctx.agent, "name", None) or "agent"
    scope = agent_run(agent, model=getattr(ctx.model, "model_name", None), answer=_answer)
    if any(message.kind == "response" for message in ctx.messages):
        goes_on(scope)
    return scope


_agent = wrap(_run, _begin_run)


@fail_open
def _provider_calls(result: Any) -> None:
    """Note the calls that the provider of the model ran itself. What else its code may have done does not show."""
    parts: list[Any] = [part for message in result.new_messages() for part in message.parts]
    returns = {part.tool_call_id: part for part in parts if part.part_kind == _RETURNED}
    for part in parts:
        if part.part_kind == _CALLED:
            _provider_call(part, returns.get(part.tool_call_id))
            if part.tool_name not in _ONLY_READ:
                goes_on_here()


def _provider_call(part: Any, returned: Any) -> None:
    scope = tool_call(part.tool_name, part.args, call_id=part.tool_call_id, read=_provider_reply)
    if scope is not None:
        scope.returned(returned)


def _provider_reply(returned: Any) -> Reply:
    if returned is None:
        return Reply(None, captured=False)
    failed = getattr(returned, "outcome", "") == "failed"
    return plain(returned.content)._replace(is_error=True if failed else None)


def _answer(result: Any) -> str | None:
    return spoken(result.output)


@fail_open
def spoken(output: Any) -> str | None:
    """What the agent says to its user: a text, or the texts in what is no text. Deferred calls are no answer."""
    from pydantic_core import to_json

    deferred = import_module("pydantic_ai.tools").DeferredToolRequests
    if output is None or isinstance(output, str | deferred):
        return output if isinstance(output, str) else None
    return message_text(loads(to_json(output, fallback=str).decode()))
