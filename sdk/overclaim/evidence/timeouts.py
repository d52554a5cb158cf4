"""Waiting inside a tool that took too long: a suspicion, for the tool may have known what to do then.

A tool that is itself ended by a timeout, or cancelled, says so by the exception that leaves it. Here is what it may
swallow: `asyncio.timeout`, `asyncio.wait_for`, and the result of a future that did not come in time.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import wraps
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._record import Record
from overclaim._wrapping import Arguments
from overclaim.evidence.inside import shown_by, tool_inside
from overclaim.integrations.patching import Patches
from overclaim.outcome.model import Evidence, Grade, Outcome

_RULE = "wait.timeout"
_patches = Patches("evidence timeouts")


class _Waiting:
    """Something that is waited for inside a tool."""

    __slots__ = ("_tool", "context")

    def __init__(self, tool: Record) -> None:
        self.context, self._tool = None, tool

    def returned(self, result: object) -> None:
        """It came in time."""

    def raised(self, error: BaseException) -> None:
        """Note that it did not."""
        if isinstance(error, TimeoutError):
            _late(self._tool)

    def abandoned(self, result: object) -> None:
        """Nobody waits any more."""


@fail_open
def _late(tool: Record) -> None:
    kind, failure, suspect = "swallowed_exception", Outcome.FAILURE, Grade.SUSPECT
    found = Evidence(kind, _RULE, failure, suspect, "TimeoutError", span_id=shown_by(tool))
    if found not in tool.evidence:
        tool.add(found)


def _begin(_: Arguments, __: dict[str, Any]) -> _Waiting | None:
    tool = tool_inside()
    return _Waiting(tool) if tool is not None else None


def _exiting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Of `asyncio.timeout`, which most often comes to its end in time."""

    @wraps(original)
    def aexit(self: Any, kind: Any, *rest: Any) -> Any:
        leaving = original(self, kind, *rest)
        return leaving if kind is None else _left(leaving)

    return aexit


async def _left(leaving: Awaitable[Any]) -> Any:
    try:
        return await leaving
    except TimeoutError:
        _late_here()
        raise


def _resulting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Of `Future.result`, which most often has nothing to wait for."""

    @wraps(original)
    def result(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except TimeoutError:
            if not self.done():  # else the result itself is a timeout
                _late_here()
            raise

    return result


@fail_open
def _late_here() -> None:
    if (tool := tool_inside()) is not None:
        _late(tool)


def probe() -> str:
    """Say why it cannot be used, "" where it can."""
    return "already switched on" if _patches.on else ""


def on(_: TracerProvider) -> None:
    """Look at what is waited for."""
    try:
        _patches.replace(asyncio.Timeout, "__aexit__", _exiting)
        if sys.version_info < (3, 12):  # from then on it is made of `asyncio.timeout`
            for module in (asyncio.tasks, asyncio):
                _patches.around(module, "wait_for", _begin)
        _patches.replace(Future, "result", _resulting)
    except AttributeError:
        _patches.undo()
        raise


def off() -> None:
    """Look away again."""
    _patches.undo()
