"""LangChain: every call of a tool, from plain code, chains, `ToolNode` and agents; `langgraph.py` sees the agents.

Tools of all kinds run through `BaseTool.run` or `arun`. Their callbacks would be the public hook, but one cannot see
there what other instrumentors open for the call, nor be told before they end it, nor is one always told of the end. So
the call is announced around `run`, begins where its tool gets a context of its own, and ends before the callbacks
hear of the end. The context is changed for the tool's own code only, in a copy that is gone with it.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, cast

from opentelemetry.context import Context, attach, create_key, get_value
from opentelemetry.trace import TracerProvider

from overclaim import _hooks
from overclaim._announced import Announced, announced
from overclaim._fail_open import fail_open
from overclaim._hooks import Reply
from overclaim._wrapping import Arguments, Scope, asked, attached, leave
from overclaim.integrations.patching import Patches

_PATCHES: Final = Patches("langchain")
# In a graph: the model's ids of the calls that were seen, a set that grows.
SEEN: Final = create_key("overclaim-langchain-seen")
_SCALARS: Final = frozenset({str, int, float, bool})
_FIRST: Final = 8


def probe() -> str:
    """Say why it cannot be used."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch all tools."""
    try:
        base, manager = import_module("langchain_core.tools.base"), import_module("langchain_core.callbacks.manager")
        for name in ("run", "arun"):
            _PATCHES.around(base.BaseTool, name, _announce)
        _PATCHES.replace(base, "set_config_context", _beginning)
        _PATCHES.replace(manager.CallbackManagerForToolRun, "on_tool_end", _telling)
        _PATCHES.replace(manager.AsyncCallbackManagerForToolRun, "on_tool_end", _telling_async)
    except BaseException:
        off()
        raise


def off() -> None:
    """Leave the tools alone again."""
    _PATCHES.undo()


class _ToolRun(Announced):
    """One run of a tool: announced first, then a call from the beginning of the tool's own code on."""

    def __init__(self, tool: str, arguments: object, call_id: str | None, description: str) -> None:
        super().__init__(tool)
        self._arguments, self._call_id, self._description = arguments, call_id, description
        self._scope: Scope | None = None
        self.run_id: object = None

    def start(self) -> Context | None:
        """Begin the call; gives the context for the tool's own code."""
        self.close()
        around = self.around()
        token = attached(around) if around is not None else None
        try:
            self._scope = _hooks.tool_call(
                self.tool, self._arguments, call_id=self._call_id, description=self._description, read=reply
            )
        finally:
            leave(token)
        seen = get_value(SEEN)
        if isinstance(seen, set) and self._scope is not None and self._call_id:
            cast("set[str]", seen).add(self._call_id)
        return around if self._scope is None or self._scope.context is None else self._scope.context

    def ask(self, result: object) -> Awaitable[None] | None:
        """Ask the postconditions ahead of `told`, for those who can await."""
        ask = getattr(self._scope, "ask", None)
        return ask(result) if ask is not None else None

    def told(self, result: object) -> None:
        """What the tool gives back is known."""
        scope = self._taken()
        if scope is not None:
            scope.returned(result)

    def returned(self, result: object) -> None:
        """The run is over."""
        self.end()
        self.told(result)

    def raised(self, error: BaseException) -> None:
        """The run ended with an exception. An interrupt waits for somebody; the tool runs again then."""
        self.end()
        scope = self._taken()
        if scope is not None and is_interrupt(error):
            scope.abandoned(None)
        elif scope is not None:
            scope.raised(error)

    def _taken(self) -> Scope | None:
        """The call, to end it. Tasks that the tool left behind keep this object: it lets go of what is large."""
        scope, self._scope = self._scope, None
        self._arguments = None
        return scope


def _announce(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool: Any = args[0]
    given: Any = args[1] if len(args) > 1 else kwargs.get("tool_input")
    call_id: Any = kwargs.get("tool_call_id")
    if isinstance(given, Mapping):
        given = _without_injected(tool, cast("dict[str, Any]", given))
    run = _ToolRun(tool.name, given, call_id if isinstance(call_id, str) else None, tool.description)
    run.begin()
    return run


def _without_injected(tool: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the model wrote, without the state and the like that LangChain adds.

    Only where there are objects among them, which the model cannot write: to ask LangChain takes longer than the rest.
    """
    if all(_is_plain(value, 3) for value in given.values()):
        return given
    own: Callable[[dict[str, Any]], dict[str, Any]] | None = getattr(tool, "_filter_injected_args", None)
    return own(given) if own is not None else given


def _is_plain(value: Any, depth: int) -> bool:
    if value is None or type(value) in _SCALARS:
        return True
    if depth == 0 or type(value) not in (dict, list):
        return depth == 0
    parts = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else cast("list[Any]", value)
    return all(_is_plain(part, depth - 1) for part in parts[:_FIRST])


def _this_run() -> _ToolRun | None:
    run = announced()
    return run if isinstance(run, _ToolRun) else None


def _beginning(original: Callable[..., Any]) -> Callable[..., Any]:
    """`set_config_context` gives the context in which the tool's code runs, a copy of the current one."""

    @functools.wraps(original)
    @contextmanager
    def set_config_context(config: Any) -> Generator[Any]:
        with original(config) as copied:
            _begin(config, copied)
            yield copied

    return set_config_context


@fail_open
def _begin(config: Any, copied: Any) -> None:
    run = _this_run()
    if run is None or not run.open:
        return
    run.run_id = getattr(config.get("callbacks"), "parent_run_id", None)
    context = run.start()
    if context is not None:
        copied.run(attach, context)


def _told_of(manager: Any) -> _ToolRun | None:
    """The run of whose end a callback manager is told, where it is the one around this place."""
    run = _this_run()
    return run if run is not None and run.run_id == getattr(manager, "run_id", run) else None


def _telling(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def on_tool_end(self: Any, output: Any, **kwargs: Any) -> Any:
        run = _told_of(self)
        if run is not None:
            run.told(output)
        return original(self, output, **kwargs)

    return on_tool_end


def _telling_async(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def on_tool_end(self: Any, output: Any, **kwargs: Any) -> Any:
        run = _told_of(self)
        if run is not None:
            await asked(run, output)
            run.told(output)
        return await original(self, output, **kwargs)

    return on_tool_end


def reply(output: Any) -> Reply:
    """What the model gets of a tool's output, and whether LangChain knows that it is an error."""
    kind = _kind(output)
    if kind == "Command":
        said = [message for message in messages_in(getattr(output, "update", None)) if _kind(message) == "ToolMessage"]
        return reply(said[-1]) if said else _hooks.plain(getattr(output, "update", None))
    if kind != "ToolMessage":
        return _hooks.plain(output)
    said = _text(output.content)
    failed = True if getattr(output, "status", None) == "error" else None
    return Reply(said, failed, said if failed and isinstance(said, str) else None)


def messages_in(state: Any) -> list[Any]:
    """The messages in a graph's state or update: the list itself, or the value of "messages"."""
    found: Any = state
    if isinstance(state, Mapping):
        found = cast("Mapping[str, Any]", state).get("messages")
    elif not isinstance(state, list):
        found = getattr(state, "messages", None)
    return cast("list[Any]", found) if isinstance(found, list) else []


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception only leads out of a graph, to a person who has to decide or to another agent."""
    return any(one.__name__ == "GraphBubbleUp" for one in type(error).__mro__)


def _kind(value: object) -> str:
    """The name of the class of LangChain that a value belongs to; subclasses are the same kind."""
    return next((one.__name__ for one in type(value).__mro__ if one.__name__ in ("ToolMessage", "Command")), "")


def _text(content: Any) -> Any:
    """The text of a message's content, where it is all text."""
    if not isinstance(content, list):
        return content
    parts = cast("list[object]", content)
    texts = [text for one in parts if (text := _part(one)) is not None]
    return "\n".join(texts) if texts and len(texts) == len(parts) else parts


def _part(one: object) -> str | None:
    if isinstance(one, str):
        return one
    text = cast("Mapping[str, object]", one).get("text") if isinstance(one, Mapping) else None
    return text if isinstance(text, str) else None
