"""Agents without a framework: loops around a model's client, whose tools are functions that nobody tells us of.

The client sees the whole loop: a reply asks for tool calls, and the next request hands their results back. Each pair
is one call. It is noted once: results count when they are first handed back, never when a request repeats them, and
not where a decorator or a hook saw the call in between.

A call belongs to the run that is open, such as that of `overclaim.run`. Where none is, a run is opened when a reply
asks for the first call, and ended by the reply that asks for none, which is the answer, or without one where nothing
is heard of it for long. What a conversation did before that turn is in other runs, so nothing is made of the absence
of a call then. A framework's own loop is left to the integration of that framework.

Many a server counts its ids from 0 in each conversation. So a result is one of its own run's or conversation's calls,
never of another's, and what was called is read in the request itself where that repeats it.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from overclaim._calls import Reply as Outcome
from overclaim._calls import open_call
from overclaim._hooks import agent_run
from overclaim._mentions import plain_values
from overclaim._record import same_tool
from overclaim._run_scope import live_run
from overclaim._runs import Here, RunState, run_here, swap_here
from overclaim._runtime import RUNTIME
from overclaim._tool_spec import ToolSpec
from overclaim._wrapping import Scope, enter, leave

_MOST = 4096
_MOST_OPEN = 256
_IDLE = 900.0  # seconds after which nobody is expected to go on with a conversation
_TELLING = 4  # characters of an argument that other calls do not have by chance
_Key = tuple[str, int]


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
    that it repeats. told: the results that are new. earlier: whether it goes on with a conversation. forced: whether
    the model must call one certain tool, as who wants nothing but its arguments makes it.
    """

    model: str
    tools: tuple[tuple[str, str], ...]
    hosted: bool
    asked: Mapping[str, Asked]
    told: tuple[Told, ...]
    earlier: bool
    forced: bool = False


class Reply(NamedTuple):
    """What a model replied. text: what it says, which is the answer where it asks for nothing."""

    asked: tuple[Asked, ...] = ()
    text: str = ""


class _Conversation:
    """A run that is open from the first call that a reply asks for to the answer."""

    def __init__(self, scope: Scope, state: RunState) -> None:
        self.scope, self.state = scope, state
        self._before: Here | None = None
        self._here = Here(weakref.ref(state), _takes)
        self._touched = time.monotonic()

    @property
    def idle(self) -> bool:
        """Whether nothing was heard of it for long."""
        return time.monotonic() - self._touched > _IDLE and not self.state.open

    def touch(self) -> None:
        """Note that it goes on."""
        self._touched = time.monotonic()
        with _lock:
            if id(self.state) in _open:
                _open.move_to_end(id(self.state))

    def here(self) -> None:
        """Have the calls of decorated tools in this thread or task that it asked for belong to it."""
        before = swap_here(self._here)
        if before is not self._here:
            self._before = before

    def end(self, answer: str | None) -> None:
        """End the run with the answer."""
        with _lock:
            _open.pop(id(self.state), None)
        if run_here() is self.state:
            swap_here(self._before)
        self.scope.returned(answer)


class _Waiting:
    """A call whose result has not been handed back.

    mark: how many calls its run had when it was asked for. strayed: whether its tool was called with other arguments
    since, which may have been another try, or somebody else.
    """

    __slots__ = ("asked", "key", "mark", "strayed")

    def __init__(self, asked: Asked, mark: int = 0) -> None:
        self.asked, self.key, self.mark, self.strayed = asked, _key(asked), mark, False


class _Known:
    """What is known of a run.

    ids, keys: of all that its replies asked for. waiting: what of it has no result yet. matched: which of the run's
    calls were matched with something asked for.
    """

    __slots__ = ("ids", "keys", "matched", "waiting")

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.keys: set[_Key] = set()
        self.waiting: list[_Waiting] = []
        self.matched: set[int] = set()

    def ask(self, asked: list[_Waiting]) -> None:
        """Note what a reply asks for."""
        self.ids.update(one.asked.id for one in asked)
        self.keys.update(one.key for one in asked)
        self.waiting += asked
        del self.waiting[:-_MOST]

    def has(self, id: str, key: _Key | None) -> bool:
        """Whether a result is one of a call that was asked for here. key: that of the call, where it is known."""
        return id in self.ids if key is None else key in self.keys

    def take(self, id: str, key: _Key | None) -> _Waiting | None:
        """The call that waits for a result with this id: the last one, for older ones have been given up."""
        found = [one for one in self.waiting if one.asked.id == id]
        same = [one for one in found if one.key == key]
        if not found:
            return None
        taken = (same or found)[-1]
        self.waiting.remove(taken)
        return taken


class Place(NamedTuple):
    """Where a request belongs: to a run of the program's, to a conversation, or to none of them yet."""

    request: Request
    run: RunState | None
    conversation: _Conversation | None


_lock = threading.RLock()  # held for a few instructions only, in which nobody else is called
_done: OrderedDict[tuple[str, int, int], None] = OrderedDict()  # results that were handed back, with their calls
_open: OrderedDict[int, _Conversation] = OrderedDict()  # the one that was silent for longest first
_known: weakref.WeakKeyDictionary[RunState, _Known] = weakref.WeakKeyDictionary()
# Runs of other integrations that want to be told what the model says.
_listening: weakref.WeakSet[RunState] = weakref.WeakSet()


def _born() -> None:
    """Renew the lock in a forked child: another thread of the parent may have held it, and it is not here."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_born)


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
    _let_go()
    conversation = _continued(request) if run is None else None
    for told in request.told:
        waiting = _taken(told, request, run if run is not None else conversation.state if conversation else None)
        if waiting is None:
            continue
        if run is None and conversation is None:
            conversation = _opened(request)
        if run is not None:
            _note(waiting, told, run, None, request)
        elif conversation is not None:
            _note(waiting, told, conversation.state, conversation.scope, request)
    return Place(request, run, conversation)


def replied(place: Place, reply: Reply) -> None:
    """Note what the model asks for, or else says to the end."""
    request, run, conversation = place
    if run is not None and run in _listening:
        if reply.text and not reply.asked:
            run.say(reply.text)
    elif reply.asked:
        if run is None and conversation is None and not request.forced:
            conversation = _opened(request)
        _await(reply.asked, run, conversation)
    elif run is not None:
        run.heard = reply.text or run.heard
    elif conversation is not None:
        conversation.end(reply.text or None)
    elif reply.text and request.tools and not request.earlier and (conversation := _opened(request)) is not None:
        conversation.end(reply.text)


def clear() -> None:
    """End all conversations and forget all, such as when an integration is switched off, or the process exits."""
    with _lock:
        left = list(_open.values())
        _open.clear()
        _done.clear()
    _known.clear()
    for conversation in left:
        conversation.end(None)


def _let_go() -> None:
    """End the conversations that nobody goes on with."""
    while True:
        with _lock:
            first = next(iter(_open.values()), None)
            if first is None or not first.idle:
                return
            del _open[id(first.state)]
        first.end(None)


def _know(request: Request, run: RunState | None) -> None:
    """Note which tools there are, so that a call that is missing is missed, unless it may be one of another run."""
    RUNTIME.watching = True
    if run is not None:
        _offer(run, request)
        known = _known.setdefault(run, _Known())
        ids = request.asked.keys() | {told.id for told in request.told}
        run.earlier = run.earlier or request.hosted or (request.earlier and not ids & known.ids)


def _offer(run: RunState, request: Request) -> None:
    """Note which tools the model of a run may call."""
    for name, description in request.tools:
        run.offer(name, description)


def _taken(told: Told, request: Request, owner: RunState | None) -> _Waiting | None:
    """The call that a result is of, where the result is new. owner: the run that it belongs to."""
    copy = request.asked.get(told.id)
    repeated = _Waiting(copy) if copy is not None else None
    result = hash(told.result if isinstance(told.result, str) else _written(told.result))
    known = _known.get(owner) if owner is not None else None
    with _lock:
        waiting = known.take(told.id, repeated.key if repeated is not None else None) if known is not None else None
        if repeated is not None and waiting is not None:
            repeated.mark, repeated.strayed = waiting.mark, waiting.strayed
        found = repeated or waiting
        if found is None or (waiting is None and (*found.key, result) in _done):
            return None
        _done[(*found.key, result)] = None
        while len(_done) > _MOST:
            _done.popitem(last=False)
    return found


def _continued(request: Request) -> _Conversation | None:
    """The open conversation that a request goes on with; None where it may be more than one."""
    with _lock:
        conversations = [(one, _known.get(one.state)) for one in _open.values()]
    fit: dict[int, _Conversation] = {}
    for told in request.told:
        copy = request.asked.get(told.id)
        key = _key(copy) if copy is not None else None
        fit |= {id(one.state): one for one, known in conversations if known is not None and known.has(told.id, key)}
    here = run_here()
    found = fit.get(id(here)) or (next(iter(fit.values())) if len(fit) == 1 else None)
    if found is not None:
        found.touch()
    return found


def _takes(run: RunState, tool: str, arguments: Mapping[str, object]) -> bool:
    """Whether a conversation asked for this call, or has this text among what it asked for."""
    known, conversation = _known.get(run), _open.get(id(run))
    if known is None or conversation is None or conversation.idle:
        return False
    waiting, given = list(known.waiting), _values(arguments)
    if any(_is_asked(one.asked, tool, given) for one in waiting):
        return True
    for one in waiting:
        one.strayed = one.strayed or (bool(tool) and _alike(tool, one.asked.tool))
    run.earlier = run.earlier or bool(tool)  # it may be a part of it after all
    return False


def _is_asked(asked: Asked, tool: str, given: set[str]) -> bool:
    wanted = _values(_by_name(asked.arguments))
    if not tool:
        return bool(given) and given <= wanted
    return wanted <= given and (_alike(tool, asked.tool) or any(len(one) >= _TELLING for one in wanted))


def _opened(request: Request) -> _Conversation | None:
    scope = agent_run("", model=request.model or None)
    state: RunState | None = getattr(scope, "state", None)
    if scope is None or state is None:
        return None
    # The calls that show are those that pass through the client, not those of every tool there is.
    state.reported = False
    state.earlier = request.earlier or request.hosted
    _offer(state, request)
    outer = state.outer
    while outer is not None:
        outer.reported = outer.reported and id(outer) not in _open
        outer = outer.outer
    around = run_here()
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
    waiting = [_Waiting(one, len(owner.calls)) for one in asked]
    known = _known.setdefault(owner, _Known())
    with _lock:
        known.ask(waiting)
    if conversation is not None:
        conversation.touch()
        conversation.here()


def _note(waiting: _Waiting, told: Told, run: RunState, scope: Scope | None, request: Request) -> None:
    """Make one call of what was asked and what was told, unless it was seen when it was made."""
    asked = waiting.asked
    taken = _known.setdefault(run, _Known()).matched
    if not waiting.strayed and _seen(run, asked, told, waiting.mark, taken):
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


def _values(payload: object) -> set[str]:
    """The texts and numbers in a payload, as texts."""
    return {str(value) for value in plain_values(payload) if isinstance(value, str | int | float)}


def _key(asked: Asked) -> _Key:
    """The same for the same id, tool and arguments, however they are written."""
    return asked.id, hash((asked.tool, _written(_by_name(asked.arguments))))


def _written(value: object) -> str:
    try:
        return json.dumps(_parsed(value), sort_keys=True, default=lambda one: type(one).__name__)
    except (TypeError, ValueError, RecursionError):
        return ""


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
