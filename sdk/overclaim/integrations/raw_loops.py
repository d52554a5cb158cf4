"""Agents without a framework: loops around a model's client, whose tools are functions that nobody tells us of.

The client sees the whole loop: a reply asks for tool calls, and the next request hands their results back. Each pair
is one call. It is noted once: results count when they are first handed back, never when a request repeats them, and
not where a decorator or a hook saw the call in between.

A call belongs to the run that is open, such as that of `overclaim.run`. Where none is, a run is opened when a reply
asks for the first call, and ended by the reply that asks for none, which is the answer. What a conversation did before
that turn is in other runs, so nothing is made of the absence of a call then. A framework's own loop is left to the
integration of that framework.
"""

from __future__ import annotations

import contextlib
import json
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from overclaim._calls import Reply as Outcome
from overclaim._calls import open_call
from overclaim._hooks import agent_run
from overclaim._known_tools import register
from overclaim._mentions import plain_values
from overclaim._record import same_tool
from overclaim._run_scope import live_run
from overclaim._runs import RunState, remember_here, run_of_thread
from overclaim._runtime import RUNTIME
from overclaim._tool_spec import ToolSpec
from overclaim._wrapping import Scope, enter, leave

_MOST = 4096
_MOST_OPEN = 256


class Asked(NamedTuple):
    """A call that a reply asks for. arguments: by name, or the JSON text that the model wrote."""

    id: str
    tool: str
    arguments: object


class Told(NamedTuple):
    """A result that a request hands back. is_error: the program's mark, None where the API has none."""

    id: str
    result: object
    is_error: bool | None = None


class Request(NamedTuple):
    """What a request to a model shows.

    tools: name and description of those that it offers. hosted: whether the provider runs some itself. asked: the calls
    that it repeats. told: the results that are new. earlier: whether it goes on with a conversation.
    """

    model: str
    tools: tuple[tuple[str, str], ...]
    hosted: bool
    asked: Mapping[str, Asked]
    told: tuple[Told, ...]
    earlier: bool


class Reply(NamedTuple):
    """What a model replied. text: what it says, which is the answer where it asks for nothing."""

    asked: tuple[Asked, ...] = ()
    text: str = ""


class _Conversation:
    """A run that is open from the first call that a reply asks for to the answer."""

    def __init__(self, scope: Scope, state: RunState) -> None:
        self.scope, self.state = scope, state
        self._before = run_of_thread()

    def here(self) -> None:
        """Have the calls of decorated tools in this thread or task belong to it."""
        remember_here(self.state)

    def end(self, answer: str | None) -> None:
        """End the run with the answer."""
        with _lock:
            _open.pop(id(self.state), None)
        if run_of_thread() is self.state:
            remember_here(self._before)
        self.scope.returned(answer)


class _Waiting(NamedTuple):
    """A call whose result has not been handed back. mark: how many calls its run had when it was asked for."""

    asked: Asked
    run: weakref.ref[RunState] | None = None
    conversation: weakref.ref[_Conversation] | None = None
    mark: int = 0


class _Known:
    """What is known of a run: the ids that its replies asked for, and which of its calls were matched with one."""

    __slots__ = ("asked", "matched")

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.matched: set[int] = set()


class Place(NamedTuple):
    """Where a request belongs: to a run of the program's, to a conversation, or to none of them yet."""

    request: Request
    run: RunState | None
    conversation: _Conversation | None


_lock = threading.Lock()
_waiting: OrderedDict[str, list[_Waiting]] = OrderedDict()
# Calls whose results were handed back, with the conversation that they are part of.
_done: OrderedDict[str, weakref.ref[_Conversation] | None] = OrderedDict()
_open: OrderedDict[int, _Conversation] = OrderedDict()
_known: weakref.WeakKeyDictionary[RunState, _Known] = weakref.WeakKeyDictionary()
# Runs of other integrations that want to be told what the model says.
_listening: weakref.WeakSet[RunState] = weakref.WeakSet()


def listen(run: RunState) -> None:
    """Tell a framework's run what the model says to the end; its calls are left to the framework."""
    _listening.add(run)


def requested(request: Request) -> Place | None:
    """Note the results that a request hands back; None where it is no part of a loop that is ours to watch."""
    if RUNTIME.tracer is None or not (request.tools or request.told or request.hosted):
        return None
    run = live_run()
    if run is not None and id(run) in _open:
        run = None
    if run is not None and (run.hooked or (not run.own and run.captured)):
        return Place(request, run, None) if run in _listening else None
    _know(request, run)
    conversation: _Conversation | None = None
    for told in request.told:
        waiting = _taken(told.id, request)
        if waiting is None:
            conversation = conversation or _continued(told.id)
            continue
        conversation = _belongs(waiting, conversation, request) if run is None else None
        _finished(told.id, conversation)
        owner = run if run is not None else conversation.state if conversation is not None else None
        if owner is not None:
            _note(waiting, told, owner, conversation.scope if conversation is not None else None, request)
    return Place(request, run, conversation if run is None else None)


def replied(place: Place, reply: Reply) -> None:
    """Note what the model asks for, or else says to the end."""
    request, run, conversation = place
    if run is not None and run in _listening:
        if reply.text and not reply.asked:
            run.say(reply.text)
    elif reply.asked:
        if run is None and conversation is None:
            conversation = _opened(request)
        _await(reply.asked, run, conversation)
    elif run is not None:
        run.heard = reply.text or run.heard
    elif conversation is not None:
        conversation.end(reply.text or None)
    elif reply.text and request.tools and not request.earlier and (conversation := _opened(request)) is not None:
        conversation.end(reply.text)


def clear() -> None:
    """Forget all, such as when an integration is switched off."""
    with _lock:
        left = list(_open.values())
        for kept in (_open, _waiting, _done):
            kept.clear()
    for conversation in left:
        conversation.end(None)


def _know(request: Request, run: RunState | None) -> None:
    """Note which tools there are, so that a call that is missing is missed, unless it may be one of another run."""
    RUNTIME.watching = True
    for name, description in request.tools:
        register(name, description)
    if run is not None:
        known = _known.setdefault(run, _Known())
        ids = request.asked.keys() | {told.id for told in request.told}
        run.earlier = run.earlier or request.hosted or (request.earlier and not ids & known.asked)


def _taken(id: str, request: Request) -> _Waiting | None:
    """The call that a result is of, where the result is new."""
    with _lock:
        found = _waiting.get(id)
        if found:
            waiting = found.pop(0)
            if not found:
                del _waiting[id]
        elif id in _done or id not in request.asked:
            return None
        else:  # its reply went unseen
            waiting = _Waiting(request.asked[id])
    return waiting


def _finished(id: str, conversation: _Conversation | None) -> None:
    with _lock:
        _done[id] = weakref.ref(conversation) if conversation is not None else None
        while len(_done) > _MOST:
            _done.popitem(last=False)


def _continued(id: str) -> _Conversation | None:
    """The conversation that a result was told in before, such as in a request that failed and is sent again."""
    found = _done.get(id)
    conversation = found() if found is not None else None
    return conversation if conversation is not None and not conversation.state.ended else None


def _belongs(waiting: _Waiting, found: _Conversation | None, request: Request) -> _Conversation | None:
    mine = waiting.conversation() if waiting.conversation is not None else None
    if mine is not None and not mine.state.ended:
        return mine
    return found or _opened(request)


def _opened(request: Request) -> _Conversation | None:
    scope = agent_run("", model=request.model or None)
    state: RunState | None = getattr(scope, "state", None)
    if scope is None or state is None:
        return None
    # The calls that show are those that pass through the client, not those of every tool there is.
    state.reported = False
    state.earlier = request.earlier or request.hosted
    around = run_of_thread()
    if around is not None and around is not state.outer:
        around.earlier = True  # what this agent does, that one may speak of
    conversation = _Conversation(scope, state)
    with _lock:
        _open[id(state)] = conversation
        old = _open.popitem(last=False)[1] if len(_open) > _MOST_OPEN else None
    if old is not None:
        old.end(None)
    return conversation


def _await(asked: tuple[Asked, ...], run: RunState | None, conversation: _Conversation | None) -> None:
    owner = run if run is not None else conversation.state if conversation is not None else None
    if owner is None:
        return
    mine = weakref.ref(conversation) if conversation is not None else None
    with _lock:
        _known.setdefault(owner, _Known()).asked.update(one.id for one in asked)
        for one in asked:
            _done.pop(one.id, None)
            _waiting.setdefault(one.id, []).append(_Waiting(one, weakref.ref(owner), mine, len(owner.calls)))
            _waiting.move_to_end(one.id)
        while len(_waiting) > _MOST:
            _waiting.popitem(last=False)
    if conversation is not None:
        conversation.here()


def _note(waiting: _Waiting, told: Told, run: RunState, scope: Scope | None, request: Request) -> None:
    """Make one call of what was asked and what was told, unless it was seen when it was made."""
    asked = waiting.asked
    taken = _known.setdefault(run, _Known()).matched
    mark = waiting.mark if waiting.run is not None and waiting.run() is run else 0
    if _seen(run, asked, told, mark, taken):
        return
    token = enter(scope) if scope is not None else None
    try:
        spec = ToolSpec.named(asked.tool, dict(request.tools).get(asked.tool, ""))
        before = len(run.calls)
        call = open_call(spec, _by_name(asked.arguments), call_id=asked.id or None, read=_outcome)
        if call is not None:
            call.returned(told)
            taken.update(range(before, len(run.calls)))
    finally:
        leave(token)


def _seen(run: RunState, asked: Asked, told: Told, mark: int, taken: set[int]) -> bool:
    """Whether a decorated tool or a hook saw this call since it was asked for.

    It is found by its id, or else by its name, or else, where the function has another, by its arguments and result.
    """
    fresh = [(index, call) for index, call in enumerate(run.calls) if index >= mark and index not in taken]
    same = [index for index, call in fresh if call.id and call.id == asked.id]
    unnamed = [(index, call) for index, call in fresh if not call.id]
    same = same or [index for index, call in unnamed if _alike(call.tool, asked.tool)]
    same = same or [index for index, _ in unnamed if _same_values(run.values_of(index), asked, told)]
    taken.update(same[:1])
    return bool(same)


def _same_values(seen: tuple[object, ...], asked: Asked, told: Told) -> bool:
    """Whether all texts and numbers of a call are among those that were seen of another."""
    had = {value for value in seen if isinstance(value, str | int | float)}
    given = _by_name(asked.arguments)
    told_in_parts = (told.result, _parsed(told.result))
    wanted = [{one for one in plain_values(given, it) if isinstance(one, str | int | float)} for it in told_in_parts]
    return any(len(one) > 1 and one <= had for one in wanted)


def _alike(one: str, other: str) -> bool:
    return same_tool(one, other) or same_tool(other, one)


def _outcome(told: Any) -> Outcome:
    text = told.result if told.is_error and isinstance(told.result, str) else None
    return Outcome(told.result, is_error=told.is_error or None, error_text=text)


def _by_name(arguments: object) -> dict[str, Any]:
    arguments = _parsed(arguments) if arguments else {}
    if isinstance(arguments, Mapping):
        return {str(key): value for key, value in cast("Mapping[object, Any]", arguments).items()}
    return {"input": arguments}


def _parsed(value: object) -> object:
    """The value of a text that is JSON; anything else as it is."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    return value
