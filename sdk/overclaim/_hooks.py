"""What integrations tell us: a tool call begins, an agent runs, an agent answers. Nothing here raises.

A hook that surrounds the work hands its function and a `Start` to `integrations.patching`. One that only hears of
beginning and end keeps the scope in `Open` between the two.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, cast

from overclaim._calls import Read, Reply, open_call, plain
from overclaim._fail_open import fail_open, report
from overclaim._run_scope import live_run, open_run
from overclaim._scrub import named
from overclaim._tool_spec import ToolSpec, first_line
from overclaim._wrapping import Scope, enter, leave
from overclaim.outcome.model import NO_FACTS, ToolFacts
from overclaim.outcome.results.payload import stored_items

__all__ = ["Open", "Read", "Reply", "agent_run", "answered", "plain", "tool_call"]

_MOST_OPEN = 4096
_LONGEST = 64
_MOST_ARGUMENTS = 1024
_MOST_JSON = 1_000_000


@fail_open
def tool_call(
    tool: str,
    arguments: object = None,
    *,
    call_id: str | None = None,
    description: str = "",
    facts: ToolFacts = NO_FACTS,
    read: Read = plain,
) -> Scope | None:
    """Begin to watch one call of a tool; None where there is nothing to watch.

    Inside a span of another instrumentor for the same call no second span is made: what is found goes onto that one.

    Args:
        tool: its name.
        arguments: by name, or as the JSON text that the model wrote.
        call_id: the model's id of the call.
        description: what the framework tells the model of the tool.
        facts: what the framework knows of it, such as `ToolFacts(read_only=True)`.
        read: finds result and error mark in what the framework gives back for the call.
    """
    name = tool if type(tool) is str and len(tool) <= _LONGEST and tool.isidentifier() else named(tool)
    spec, given = _spec(name, first_line(description), facts), _by_name(arguments)
    return open_call(spec, given, call_id=call_id, read=read, hooked=True)


@fail_open
def agent_run(
    agent: str,
    *,
    model: str | None = None,
    version: str | None = None,
    answer: Callable[[Any], str | None] | None = None,
) -> Scope | None:
    """Begin a run of an agent; None where there is nothing to watch.

    Where the current span is another instrumentor's for this agent, that one is the run and gets the answer.

    Args:
        agent: its name, "" where it has none.
        model: the model that it asks.
        version: the agent's version.
        answer: finds what the agent tells its user in what the run gives back; by default a text is the answer.
    """
    return open_run(agent or None, version=version, model=model, answer=answer)


@fail_open
def answered(text: object) -> None:
    """Note what the agent of the current run tells its user, for frameworks whose own spans are the run."""
    run = live_run()
    if run is not None and isinstance(text, str) and text:
        run.say(text)


@lru_cache(maxsize=1024)
def _spec(tool: str, description: str, facts: ToolFacts) -> ToolSpec:
    return ToolSpec.named(tool, description, facts)


def _by_name(arguments: object) -> dict[str, Any]:
    """Arguments by name. What the model wrote may be no object, or no JSON at all: it is an argument then."""
    kind = type(arguments)
    if kind is str:
        text = cast("str", arguments)
        try:
            arguments = json.loads(text) if 0 < len(text) <= _MOST_JSON else text or None
        except (ValueError, RecursionError):
            return {"input": text}
        kind = type(arguments)
    if issubclass(kind, dict):
        given = stored_items(arguments, _MOST_ARGUMENTS)
        return {key if type(key) is str else named(key): value for key, value in given}
    if issubclass(kind, Mapping):
        return {named(key): value for key, value in cast("Mapping[object, Any]", arguments).items()}
    return {} if arguments is None else {"input": arguments}


class Open:
    """Scopes between a hook's call at the beginning and that at the end, by a key of the framework.

    Bounded: where ends are never told, the oldest are given up. current: whether the scope's context is made current
    in between, which is right where both calls come from the same thread or task.
    """

    def __init__(self, *, current: bool = True) -> None:
        self._current = current
        self._scopes: OrderedDict[Hashable, tuple[Scope, Any]] = OrderedDict()

    def begin(self, key: Hashable, scope: Scope | None) -> None:
        """Keep a scope until its end is told."""
        if scope is None:
            return
        self._scopes[key] = scope, enter(scope) if self._current else None
        while len(self._scopes) > _MOST_OPEN:
            old, _ = self._scopes.popitem(last=False)[1]
            old.abandoned(None)

    def scope(self, key: Hashable) -> Scope | None:
        """The scope that is open under this key."""
        found = self._scopes.get(key)
        return found[0] if found is not None else None

    def returned(self, key: Hashable, result: object) -> None:
        """End it with a result."""
        if (scope := self._taken(key)) is not None:
            scope.returned(result)

    def raised(self, key: Hashable, error: BaseException) -> None:
        """End it with an exception."""
        if (scope := self._taken(key)) is not None:
            scope.raised(error)

    def clear(self) -> None:
        """Give up all, such as when the integration is switched off."""
        while self._scopes:
            try:
                self._scopes.popitem()[1][0].abandoned(None)
            except Exception as error:
                report("hook clear", error)

    def _taken(self, key: Hashable) -> Scope | None:
        scope, token = self._scopes.pop(key, (None, None))
        leave(token)
        return scope
