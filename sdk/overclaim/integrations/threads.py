"""Threads that are started inside a run belong to it: their tool calls must not get lost.

Python gives a new thread an empty context, so a call made there would belong to no run. A task given to a
`ThreadPoolExecutor` takes along what is current in OpenTelemetry (nothing else of the context), though only where a
run or a tool call is open. A thread of one's own may live long after the run, so it only remembers the run, and a
tool call there joins it while it is open; other spans of that thread stay as they are.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, thread
from typing import Any

from opentelemetry.context import Context, get_current, set_value
from opentelemetry.trace import TracerProvider, set_span_in_context

from overclaim._fail_open import fail_open
from overclaim._record import current_record
from overclaim._runs import RUN_KEY, Here, current_run, noted_here, remember_run, swap_here
from overclaim._wrapping import attached, leave

_WORKER = getattr(thread, "_worker", None)  # a worker serves whoever comes, so it belongs to no run
_undo: list[Callable[[], None]] = []


def _submit(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def submit(self: ThreadPoolExecutor, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return original(self, _taken_along(fn) or fn, *args, **kwargs)

    return submit


@fail_open
def _taken_along(function: Any) -> Callable[..., Any] | None:
    """The function with what is current here, None where neither a run nor a call is open."""
    context = get_current()
    if current_record(context) is not None or current_run(context) is not None:
        return _carried(function, context)
    here = noted_here()
    run = here.open if here is not None else None
    if here is None or run is None:
        return None
    if here.takes is not None:
        return _noted(function, here)
    return _carried(function, set_value(RUN_KEY, run, set_span_in_context(run.span, context)))


def _carried(function: Callable[..., Any], context: Context) -> Callable[..., Any]:
    def carried(*args: Any, **kwargs: Any) -> Any:
        token = attached(context)
        try:
            return function(*args, **kwargs)
        finally:
            leave(token)

    return carried


def _noted(function: Callable[..., Any], here: Here) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        before = swap_here(here)
        try:
            return function(*args, **kwargs)
        finally:
            swap_here(before)

    return noted


def _start(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def start(self: threading.Thread) -> Any:
        _remember(self)
        return original(self)

    return start


@fail_open
def _remember(started: threading.Thread) -> None:
    if getattr(started, "_target", None) is _WORKER:
        return
    record = current_record()
    run = record.run if record is not None and record.run is not None else current_run()
    run = run if run is not None else noted_here()
    if run is not None:
        remember_run(started, run)


def _patch(owner: type, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    original = getattr(owner, name)
    ours = wrap(original)
    setattr(owner, name, ours)

    def undo() -> None:
        if getattr(owner, name) is ours:  # else somebody patched it after us, and ours goes on doing no harm
            setattr(owner, name, original)

    _undo.append(undo)


def on(_: TracerProvider) -> None:
    """Patch both."""
    _patch(ThreadPoolExecutor, "submit", _submit)
    _patch(threading.Thread, "start", _start)


def off() -> None:
    """Undo that."""
    while _undo:
        _undo.pop()()


def probe() -> str:
    """Say why it cannot be used, "" where it can."""
    return "already switched on" if _undo else ""
