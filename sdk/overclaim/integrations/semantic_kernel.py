"""Semantic Kernel: what the functions of its plugins give back, and what its agents answer.

Filters belong to one kernel, so functions and agents are patched. Its own spans, where the environment switched them
on, are enriched: everything is heard inside of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import wraps
from importlib import import_module
from inspect import isasyncgenfunction, iscoroutinefunction
from types import TracebackType
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open, report
from overclaim._hooks import Reply, agent_run, answered, tool_call
from overclaim._record import current_record
from overclaim._run import live_run
from overclaim._wrapping import Arguments, Scope, enter, leave, wrap
from overclaim.integrations.conversations import goes_on
from overclaim.integrations.parts import Part
from overclaim.integrations.patching import Patches

__all__ = ["AGENTS", "off", "on", "probe"]

_PATCHES = Patches("semantic_kernel")
_FROM_KERNEL = ("kernel", "service", "execution_settings", "arguments")  # parameters that no model fills in


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch functions, and chats in which the kernel calls them.

    Raises:
        AttributeError: this version of the library lacks one of the functions.
    """
    chats: Any = import_module("semantic_kernel.connectors.ai.chat_completion_client_base")
    functions: Any = import_module("semantic_kernel.functions.kernel_function_from_method")
    try:
        _PATCHES.around(functions.KernelFunctionFromMethod, "_invoke_internal", _function)
        _PATCHES.around(chats.ChatCompletionClientBase, "get_chat_message_contents", _chat)
        _PATCHES.replace(chats.ChatCompletionClientBase, "get_streaming_chat_message_contents", _listening)
    except AttributeError:
        off()
        raise


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()


def _function(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    function: Any = args[0]
    context: Any = args[1] if len(args) > 1 else kwargs["context"]
    named = {one.name for one in function.parameters} - set(_FROM_KERNEL)
    given = {name: value for name, value in context.arguments.items() if name in named}

    def read(_: object) -> Reply:
        return _reply(context.result)

    return tool_call(function.fully_qualified_name, given, description=function.description or "", read=read)


def _reply(result: Any) -> Reply:
    """The value that the function gave; models of pydantic as what they hold."""
    value = getattr(result, "value", None)
    dump = getattr(value, "model_dump", None)
    return Reply(dump() if dump is not None and not isinstance(value, type) else value)


def _chat(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    return _begin_chat(args, kwargs, _said)


def _begin_chat(args: Arguments, kwargs: dict[str, Any], answer: Callable[[Any], str | None]) -> Scope | None:
    """A chat outside of any agent is a run where the kernel calls functions in it."""
    service, history, settings = _given(*args, **kwargs)
    choice: Any = getattr(settings, "function_choice_behavior", None)
    if live_run() is not None or not getattr(choice, "auto_invoke_kernel_functions", False):
        return None
    scope = agent_run("", model=_model(service), answer=answer)
    if any(_text(one) is not None for one in getattr(history, "messages", ())):
        goes_on(scope)
    return scope


def _given(self: Any, chat_history: Any = None, settings: Any = None, **_: Any) -> tuple[Any, Any, Any]:
    return self, chat_history, settings


def _listening(original: Callable[..., Any]) -> Callable[..., Any]:
    """A chat whose answer comes in pieces, which are put together."""

    async def told(said: list[str], args: Arguments, kwargs: dict[str, Any]) -> AsyncGenerator[Any]:
        async with aclosing(original(*args, **kwargs)) as pieces:
            async for piece in pieces:
                _note(said, piece)
                yield piece

    def begin(args: Arguments, _: dict[str, Any]) -> Scope | None:
        said, given, named = args
        try:
            return _begin_chat(given, named, lambda _: "".join(said) or None)
        except Exception as error:
            report("semantic_kernel chat", error)
            return None

    watched = wrap(told, begin)

    @wraps(original)
    async def chat(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        async with aclosing(watched([], args, kwargs)) as pieces:
            async for piece in pieces:
                yield piece

    return chat


@fail_open
def _note(said: list[str], messages: Any) -> None:
    """Add what the assistant says; what it said before it calls a function is not for the user."""
    for message in messages:
        if any(type(item).__name__ == "FunctionCallContent" for item in message.items):
            said.clear()
        elif (text := _text(message)) is not None:
            said.append(text)


def _said(messages: Any) -> str | None:
    return _text(messages[-1]) if messages else None


def _text(message: Any) -> str | None:
    """What a message of the assistant says; calls and their results are no words to the user."""
    if getattr(getattr(message, "role", None), "value", "") != "assistant":
        return None
    return str(message.content) or None


def _model(service: Any) -> str | None:
    model = getattr(service, "ai_model_id", None)
    return model if isinstance(model, str) else None


def _watch_agents(patches: Patches) -> None:
    base: Any = import_module("semantic_kernel.agents.agent")
    agent: Any = import_module("semantic_kernel.agents.chat_completion.chat_completion_agent").ChatCompletionAgent
    traced: Any = import_module("semantic_kernel.utils.telemetry.agent_diagnostics.decorators")

    @fail_open
    def begin(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
        return None if traced.are_model_diagnostics_enabled() else _agent(args[0])

    def inside(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def opened(one: Any) -> Any:
            span = original(one)
            return _Inside(span, one) if isinstance(one, agent) else span

        return opened

    patches.replace(agent, "get_response", lambda original: wrap(_coroutine(original), begin))
    patches.replace(agent, "invoke", lambda original: wrap(_generator(original), begin))
    patches.replace(agent, "invoke_stream", lambda original: wrap(_generator(original), begin))
    patches.replace(traced, "_start_as_current_span", inside)
    patches.around(base.AgentThread, "on_new_message", _heard)


AGENTS = Part("semantic_kernel_agents", _watch_agents)


class _Inside:
    """The framework's own span of an agent, where that is switched on, with the run inside of it."""

    def __init__(self, span: Any, agent: Any) -> None:
        self._span, self._agent = span, agent
        self._scope: Scope | None = None
        self._token: Any = None

    def __enter__(self) -> Any:
        span = self._span.__enter__()
        self._scope = _agent(self._agent)
        self._token = enter(self._scope) if self._scope is not None else None
        return span

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> Any:
        leave(self._token)
        if self._scope is not None and error is not None:
            self._scope.raised(error)
        elif self._scope is not None:
            self._scope.returned(None)
        return self._span.__exit__(kind, error, at)


def _coroutine(original: Callable[..., Any]) -> Callable[..., Any]:
    """The function, as a coroutine function also where somebody put another kind around it."""
    if iscoroutinefunction(original):
        return original

    @wraps(original)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await original(*args, **kwargs)

    return awaited


def _generator(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same for an asynchronous generator function."""
    if isasyncgenfunction(original):
        return original

    @wraps(original)
    async def iterated(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        items = original(*args, **kwargs)
        try:
            async for one in items:
                yield one
        finally:
            if hasattr(items, "aclose"):
                await items.aclose()

    return iterated


def _agent(agent: Any) -> Scope | None:
    try:
        return agent_run(agent.name or "", model=_model(agent.service), answer=_told_already)
    except Exception as error:
        report("semantic_kernel agent", error)
        return None


def _told_already(_: object) -> None:
    """The answer was heard when the agent noted it in its thread."""


def _heard(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """Listen to what agents note in their threads while their spans are open. One inside another one has no user."""
    record, run = current_record(), live_run()
    message: Any = args[1] if len(args) > 1 else kwargs.get("new_message")
    text = _text(message)
    if run is None or not (record is None or record.run is None or record.run.span_id == record.span_id):
        return None
    mine = text is not None and message.name == run.agent
    if (text is not None and not mine) or _talked_before(args[0] if args else None):
        run.earlier = True  # what is claimed may have been done before, or by another agent
    if mine:
        answered(text)
    return None


def _talked_before(thread: Any) -> bool:
    history: Any = getattr(thread, "_chat_history", None)
    return any(_text(one) is not None for one in getattr(history, "messages", ()))
