"""LlamaIndex: agents and workflows of agents, and tools that are called without one.

Its dispatcher tells of spans, but what it runs stays outside of them, so requests that a tool makes would not be found
below its call. Hence patches, around the step of an agent that executes a call. Another instrumentor's spans do come
from the dispatcher, wherever ours are: where one listens there, its span stands for the call, and we listen before it,
so that we hear of the end while the span can still be labelled. A run goes on after `run` returned its handler, and
ends with that.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, cast

from opentelemetry.context import Context, create_key, get_current, get_value, set_value
from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._hooks import Read, Reply, agent_run, plain, tool_call
from overclaim._record import current_record
from overclaim._wrapping import Arguments, Scope, enter, leave
from overclaim.integrations.conversations import goes_back
from overclaim.integrations.patching import Patches

_AGENTS = "llama_index.core.agent.workflow"
_DISPATCHER = "llama_index.core.instrumentation"
# Those that make a span of each tool call they hear of.
_SHOWING = ("openinference.", "opentelemetry.instrumentation.llamaindex")
_CALL = create_key("overclaim-llama-index-call")


class Calling:
    """Tools that a program has a model pick without an agent, as by `llm.predict_and_call`."""

    def __init__(self) -> None:
        self._patches = Patches("llama_index")

    def probe(self) -> str:
        """Say why it cannot be used, "" where it can."""
        return "already switched on" if self._patches.on else ""

    def on(self, _: TracerProvider) -> None:
        """Patch the two functions that call a tool for a model."""
        calling: Any = import_module("llama_index.core.tools.calling")
        try:
            self._patches.around(calling, "call_tool", _picked)
            self._patches.around(calling, "acall_tool", _picked)
        except AttributeError:
            self.off()
            raise
        self._patches.later(_listen())

    def off(self) -> None:
        """Undo that."""
        self._patches.undo()


class Agents(Calling):
    """Agents and workflows of agents."""

    def on(self, _: TracerProvider) -> None:
        """Patch how they run and how they execute a call."""
        try:
            for module, name in (("base_agent", "BaseWorkflowAgent"), ("multi_agent_workflow", "AgentWorkflow")):
                agent: Any = getattr(import_module(f"{_AGENTS}.{module}"), name)
                self._patches.around(agent, "call_tool", _asked_for)
                self._patches.replace(agent, "run", _running)
        except AttributeError:
            self.off()
            raise


CALLING = Calling()
AGENTS = Agents()


class _Asked(NamedTuple):
    """A call as the model asked for it. read: finds the reply in what the watched function returns."""

    tool: str
    arguments: object
    read: Read
    id: str | None = None
    description: str = ""

    def open(self, read: Read | None = None) -> Scope | None:
        """Begin to watch it."""
        return tool_call(
            self.tool, self.arguments, call_id=self.id, description=self.description, read=read or self.read
        )


def _picked(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    given = dict(zip(("tool", "arguments"), args, strict=False)) | kwargs
    about = given["tool"].metadata
    asked = _Asked(about.get_name(), given["arguments"], _read, description=about.description or "")
    return _Announced(asked) if _shown_by_others() else asked.open()


def _asked_for(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """The step of an agent. Tools that there are not count too: the model is told so as an error."""
    agent, *rest = args
    event = kwargs["ev"] if "ev" in kwargs else rest[-1]
    if event.tool_name == "handoff" and hasattr(agent, "agents"):
        return None
    asked = _Asked(event.tool_name, event.tool_kwargs, _told, event.tool_id)
    if _shown_by_others():
        return _Announced(asked)
    scope = asked.open()
    return None if scope is None else _Step(scope)


def _shown_by_others() -> bool:
    listening: list[Any] = import_module(_DISPATCHER).get_dispatcher().span_handlers
    return any(type(one).__module__.startswith(_SHOWING) for one in listening)


class _Step:
    """A step leaves by an exception only where its tool waits for somebody; it is done again then."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    @property
    def context(self) -> Context | None:
        """What is current while the step runs."""
        return self._scope.context

    def returned(self, result: object) -> None:
        """The call is over."""
        self._scope.returned(result)

    def raised(self, error: BaseException) -> None:
        """The call is put off."""
        self._scope.abandoned(None)

    def abandoned(self, result: object) -> None:
        """The step was given up."""
        self._scope.abandoned(result)


class _Announced:
    """A call for which another instrumentor opens a span, as it does for each of the library's tools."""

    def __init__(self, asked: _Asked) -> None:
        self.asked = asked
        self.seen = False
        self.context: Context | None = set_value(_CALL, self, get_current())

    def returned(self, result: object) -> None:
        """Tell of the call now if nobody made a span of it, such as of a tool that there is not."""
        if not self.seen and (scope := self.asked.open()) is not None:
            scope.returned(result)

    def raised(self, error: BaseException) -> None:
        """The call is put off."""

    def abandoned(self, result: object) -> None:
        """The step was given up."""


def _listen() -> Callable[[], None]:
    """Hear of the ends of the dispatcher's spans before all others do; gives back what undoes that."""
    handlers: Any = import_module("llama_index.core.instrumentation.span_handlers")

    class Listener(handlers.NullSpanHandler):
        def span_enter(self, *_: Any, **__: Any) -> None:
            pass

        def span_exit(self, *_: Any, result: Any = None, **__: Any) -> None:
            if hasattr(result, "raw_output"):
                _join(result.tool_name, lambda scope: scope.returned(result))

        def span_drop(self, *_: Any, instance: Any = None, err: BaseException | None = None, **__: Any) -> None:
            if err is not None and hasattr(instance, "metadata"):
                _join(instance.metadata.name, lambda scope: scope.raised(err))

    heard: list[Any] = import_module(_DISPATCHER).get_dispatcher().span_handlers
    listener = Listener()
    heard.insert(0, listener)
    return lambda: heard.remove(listener)


@fail_open
def _join(tool: str, end: Callable[[Scope], None]) -> None:
    """Say what the tool gave back on the span of the other instrumentor, which is current and about to end."""
    call, record = get_value(_CALL), current_record()
    if not isinstance(call, _Announced) or call.seen or call.asked.tool != tool:
        return
    if record is None or record.own or record.done:
        return
    record.tool = tool
    if (scope := call.asked.open(_read)) is not None:
        call.seen = True
        end(scope)


def _told(step: Any) -> Reply:
    return _read(step.tool_output)


def _read(output: Any) -> Reply:
    """What the tool returned is there beside the text of it that the model gets."""
    if output.is_error:
        return Reply(None, is_error=True, error_text=output.content)
    return plain(output.raw_output if output.raw_output is not None else output.content)


def _running(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = _begun(self, [*args, *kwargs.values()])
        if scope is None:
            return original(self, *args, **kwargs)
        token = enter(scope)
        try:
            handler = original(self, *args, **kwargs)
        except BaseException as error:
            leave(token)
            scope.raised(error)
            raise
        leave(token)
        _end_with(handler, scope)
        return handler

    return run


@fail_open
def _begun(agent: Any, given: list[Any]) -> Scope | None:
    model = getattr(getattr(agent, "llm", None), "model", None)
    name = getattr(agent, "name", None) or getattr(agent, "root_agent", None) or type(agent).__name__
    scope = agent_run(str(name), model=model if isinstance(model, str) else None, answer=_answer)
    if any(map(_may_remember, given)):
        goes_back(scope)
    return scope


def _may_remember(given: Any) -> bool:
    """Whether what a run is given may hold what was done before: a context, a memory, messages or an event of these.

    Where it cannot be seen that there is nothing in it, it may.
    """
    if isinstance(given, list):
        return any(_role(one) == "assistant" for one in cast("list[Any]", given))
    kinds = {one.__name__ for one in type(given).__mro__}
    if "StartEvent" in kinds:
        return any(_may_remember(given.get(name, None)) for name in ("memory", "chat_history"))
    if "Context" in kinds:
        face: Any = getattr(given, "_face", None)
        return getattr(getattr(face, "_init_snapshot", None), "state", None) != {} or face._store is not None
    stored: Any = getattr(getattr(given, "chat_store", None), "store", None)
    return "BaseMemory" in kinds and (not isinstance(stored, dict) or any(cast("dict[str, Any]", stored).values()))


def _role(message: Any) -> str:
    role: Any = cast("dict[str, Any]", message).get("role") if isinstance(message, dict) else message.role
    return str(getattr(role, "value", role))


@fail_open
def _end_with(handler: Any, scope: Scope) -> None:
    """The handler's task ends before whoever awaits the handler goes on."""
    task: asyncio.Future[Any] = getattr(handler, "_result_task", handler)
    try:
        task.add_done_callback(functools.partial(_ended, scope))
    except AttributeError:
        scope.abandoned(None)
        raise


def _ended(scope: Scope, task: asyncio.Future[Any]) -> None:
    if task.cancelled():
        scope.abandoned(None)
    elif (error := task.exception()) is not None:
        scope.raised(error)
    else:
        scope.returned(task.result())


def _answer(stopped: Any) -> str | None:
    """The text that the agent ends with, in a stop event or as one."""
    output = getattr(stopped, "result", None) or stopped
    text = getattr(getattr(output, "response", None), "content", None)
    return text if isinstance(text, str) else None
