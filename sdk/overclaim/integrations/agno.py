"""Agno: its tools, and the runs of its agents and teams.

Agno has no hook for all agents of a program, so its functions are patched. A run or a tool may give back a generator:
it lasts until that is exhausted then.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from inspect import isasyncgen, iscoroutine, isgenerator
from typing import Any, cast

from opentelemetry.trace import TracerProvider

from overclaim import _hooks as hooks
from overclaim._fail_open import report
from overclaim._hooks import Reply
from overclaim._wrapping import Arguments, Scope, enter, leave, wrap
from overclaim.integrations.conversations import Recalling, goes_on
from overclaim.integrations.patching import Patches

_FAILED = ("ERROR", "CANCELLED")
_ASKED = ("get_run_messages", "aget_run_messages"), ("_get_run_messages", "_aget_run_messages")
_RESUMES = ("continue_run", "acontinue_run")
_SAID, _SAID_LAST = ("RunContent", "TeamRunContent"), ("RunCompleted", "TeamRunCompleted")
_MAX_SAID = 65_536
_HARMLESS = (None, "function", "web_search", "web_search_preview", "file_search")  # or calls that come back to us
_RECALLED = ("<summary_of_previous_interactions>", "<memories_from_previous_interactions>")  # in a system message


class Runs:
    """The switch of the runs of agents or of teams, and of all tools.

    module: where the class is. team: whether the class is that of teams.
    """

    def __init__(self, module: str, *, team: bool) -> None:
        self._module, self._team = module, team
        self._patches = Patches(module)

    def probe(self) -> str:
        """It can always be tried."""
        return ""

    def on(self, provider: TracerProvider, /) -> None:
        """Patch the functions that run, and those that call a tool.

        Raises:
            AttributeError: this version of the library lacks one of them.
        """
        import importlib

        function: Any = importlib.import_module("agno.tools.function")
        messages: Any = importlib.import_module(f"{self._module}._messages")
        owner: Any = getattr(importlib.import_module(self._module), "Team" if self._team else "Agent")
        try:
            if not self._team:
                self._patches.replace(function.FunctionCall, "execute", _tool)
                self._patches.replace(function.FunctionCall, "aexecute", _async_tool)
            for name in ("run", "continue_run"):
                self._patches.replace(owner, name, functools.partial(_run, self._team))
            for name in ("arun", "acontinue_run"):
                self._patches.replace(owner, name, functools.partial(_async_run, self._team))
            for name in _ASKED[int(self._team)]:
                self._patches.around(messages, name, _asked)
        except AttributeError:
            self.off()
            raise

    def off(self) -> None:
        """Take the patches off."""
        self._patches.undo()


AGENT, TEAM = Runs("agno.agent", team=False), Runs("agno.team", team=True)


def _tool(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = _call(self)
        return original(self, *args, **kwargs) if scope is None else _made(scope, original, (self, *args), kwargs)

    return execute


def _async_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def aexecute(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = _call(self)
        if scope is None:
            return await original(self, *args, **kwargs)
        token = enter(scope)
        try:
            outcome = await original(self, *args, **kwargs)
        except BaseException as error:
            leave(token)
            scope.raised(error)
            raise
        leave(token)
        _end(scope, self, outcome)
        return outcome

    return aexecute


def _made(scope: Scope, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    token = enter(scope)
    try:
        outcome = original(*args, **kwargs)
    except BaseException as error:
        leave(token)
        scope.raised(error)
        raise
    leave(token)
    _end(scope, args[0], outcome)
    return outcome


def _call(call: Any) -> Scope | None:
    try:
        function = call.function
        return hooks.tool_call(
            function.name,
            call.arguments,
            call_id=call.call_id,
            description=function.description or "",
            read=_reply,
        )
    except Exception as error:
        report("agno tool", error)
        return None


def _end(scope: Scope, call: Any, outcome: Any) -> None:
    """End the call, but where it gave a generator, with the end of that."""
    items = getattr(outcome, "result", None)
    if not (isgenerator(items) or isasyncgen(items)):
        scope.returned(outcome)
        return
    try:
        watched = _consumed(items, scope)
        outcome.result = watched
        if call.result is items:
            call.result = watched
    except Exception as error:
        report("agno tool", error)
        scope.abandoned(None)


def _consumed(items: Any, scope: Scope, heard: _Heard | None = None) -> Any:
    """The same items, in the scope."""
    seen = heard.add if heard is not None else _ignore

    def steps() -> Iterator[Any]:
        try:
            for item in items:
                seen(item)
                yield item
        finally:
            items.close()

    async def async_steps() -> AsyncIterator[Any]:
        try:
            async for item in items:
                seen(item)
                yield item
        finally:
            await items.aclose()

    def start(args: Arguments, kwargs: dict[str, Any]) -> Scope:
        return scope

    return wrap(async_steps if isasyncgen(items) else steps, start)()


def _ignore(_: object) -> None: ...


def _reply(outcome: Any) -> Reply:
    """What the model gets to see: of a `ToolResult` its text, of a generator what it yielded."""
    if type(outcome).__name__ != "FunctionExecutionResult":
        return Reply(getattr(outcome, "content", outcome))
    failed = outcome.status == "failure"
    result = outcome.result
    if type(result).__name__ == "ToolResult":
        result = result.content
    return Reply(result, is_error=True if failed else None, error_text=outcome.error)


def _asked(args: Arguments, kwargs: dict[str, Any]) -> Scope:
    return Recalling(_tells_of_before)


def _tells_of_before(asked: Any) -> bool:
    """Whether what the model is asked comes with a conversation so far, or with what is remembered of others."""
    told = asked.system_message.content if asked.system_message is not None else None
    recalled = isinstance(told, str) and any(mark in told for mark in _RECALLED)
    return recalled or any(one.role == "assistant" or one.from_history for one in asked.messages)


def _run(team: bool, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        heard = _Heard(self, team=team, resumed=original.__name__ in _RESUMES)
        scope = heard.begin()
        if scope is None:
            return original(self, *args, **kwargs)
        token = enter(scope)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            leave(token)
            scope.raised(error)
            raise
        leave(token)
        if isgenerator(result):
            return _consumed(result, scope, heard)
        scope.returned(result)
        return result

    return run


def _async_run(team: bool, original: Callable[..., Any]) -> Callable[..., Any]:
    """Nothing runs before what the function gives back is awaited or iterated."""

    @functools.wraps(original)
    def arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        heard = _Heard(self, team=team, resumed=original.__name__ in _RESUMES)
        if iscoroutine(result):
            return _awaited(result, heard)
        if isasyncgen(result):
            return _iterated(result, heard)
        return result

    return arun


def _awaited(result: Coroutine[Any, Any, Any], heard: _Heard) -> Any:
    async def waiting() -> Any:
        return await result

    def start(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
        return heard.begin()

    return wrap(waiting, start)()


async def _iterated(result: Any, heard: _Heard) -> AsyncIterator[Any]:
    scope = heard.begin()
    watched = result if scope is None else _consumed(result, scope, heard)
    try:
        async for item in watched:
            yield item
    finally:
        await watched.aclose()


def _has_tools_of_provider(tools: Any) -> bool:
    """Whether the model's provider runs tools itself, whose calls do not show here."""
    listed = cast("list[Any]", tools) if isinstance(tools, list) else []
    specified = [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
    return any(one.get("type") not in _HARMLESS for one in specified)


class _Heard:
    """What an agent or team says in one run, at once or in pieces. resumed: whether it goes on with a paused one."""

    def __init__(self, owner: Any, *, team: bool, resumed: bool) -> None:
        self._owner, self._kind, self._resumed = owner, int(team), resumed
        self._parts: list[str] = []
        self._size = 0
        self._last: str | None = None

    def begin(self) -> Scope | None:
        """The scope of the run."""
        owner = self._owner
        try:
            model = getattr(getattr(owner, "model", None), "id", None)
            scope = hooks.agent_run(owner.name or "", model=model, answer=self.answer)
            if self._resumed or _has_tools_of_provider(owner.tools):
                goes_on(scope)
            return scope
        except Exception as error:
            report("agno run", error)
            return None

    def add(self, event: Any) -> None:
        """Note what one event of the stream says, unless it is that of a member or of an agent that serves as tool."""
        try:
            kind = getattr(event, "event", None)
            if kind not in (_SAID[self._kind], _SAID_LAST[self._kind]) or not self._is_mine(event):
                return
            text = event.content
            if not isinstance(text, str):
                return
            if kind == _SAID_LAST[self._kind]:
                self._last = text
            elif self._size < _MAX_SAID:
                self._parts.append(text)
                self._size += len(text)
        except Exception as error:
            report("agno event", error)

    def _is_mine(self, event: Any) -> bool:
        id = "team_id" if self._kind else "agent_id"
        return getattr(event, id, None) in (None, "", self._owner.id)

    def answer(self, result: Any) -> str | None:
        """What the run told its user; an error that took the place of an answer is none."""
        if self._last is not None or self._parts:
            return self._last if self._last is not None else "".join(self._parts)
        if getattr(getattr(result, "status", None), "value", "") in _FAILED:
            return None
        content = getattr(result, "content", None)
        return content if isinstance(content, str) else None
