"""Asking postconditions: after a tool returned, somebody asks the world whether the thing is so.

What asks is the user's own function, or a request that the user declared (see expectations/http_check.py). It runs in
a thread of its own with a time limit, unseen by any instrumentation, and whatever it does, the tool's result stays as
it is: also where the host cancels the waiting, which comes too late to undo what the tool did. Where it cannot answer,
that is evidence of nothing.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from time import monotonic, time_ns
from typing import Any, Final, cast

import opentelemetry.context as otel

from overclaim import _mistakes
from overclaim._fail_open import place_of
from overclaim._places import Places
from overclaim._postconditions import CHECKS, Answer, Check
from overclaim._scrub import small
from overclaim.outcome.model import Evidence, Grade, Outcome

_MAX_THREADS: Final = 32
_MOST: Final = 1024
_RULES: Final = {
    Outcome.SUCCESS: ("postcondition.held", Outcome.SUCCESS),
    Outcome.FAILURE: ("postcondition.failed", Outcome.FAILURE),
    Outcome.EMPTY: ("postcondition.failed", Outcome.FAILURE),
    Outcome.PENDING: ("postcondition.pending", Outcome.PENDING),
}
_UNANSWERED: Final = ("postcondition.unanswered", Outcome.UNKNOWN)
_BUSY: Final = Answer(Outcome.UNKNOWN, "busy")
_ALLOWED: Final = "return True, False, None (nobody knows) or an overclaim.Outcome"
_log = logging.getLogger("overclaim")
PLACES: Final = Places(_MAX_THREADS)
_told: set[tuple[str, str]] = set()


def ask(checks: Iterable[Check], arguments: Mapping[str, Any], result: object) -> list[Evidence]:
    """Ask all of them, one after the other, and wait. Raises nothing but what ends the program."""
    return [_asked(check, arguments, result) for check in checks]


class Asking:
    """The postconditions of one call: they are asked once, after it returned and before its span ends.

    found: what they came to. ended_ns: when the call itself was over, None where nothing was asked.
    """

    __slots__ = ("_arguments", "_checks", "ended_ns", "found")

    def __init__(self, checks: tuple[Check, ...], arguments: dict[str, Any]) -> None:
        self._checks, self._arguments = checks, arguments
        self.found: list[Evidence] = []
        self.ended_ns: int | None = None

    def now(self, result: object) -> None:
        """Ask and wait, unless they were asked before, or waiting would hold up an event loop."""
        if self.ended_ns is None:
            self.ended_ns = time_ns()
            held = in_event_loop()
            self.found = unasked(self._checks, "event_loop") if held else ask(self._checks, self._arguments, result)

    async def soon(self, result: object) -> None:
        """Ask without holding up the event loop. Who is cancelled meanwhile is let go, and cancelled a moment later."""
        self.ended_ns = time_ns()
        task = asyncio.current_task() if in_event_loop() else None
        before = task.cancelling() if task is not None else 0
        try:
            for check in self._checks:
                self.found.append(await _asked_async(check, self._arguments, result))
        except asyncio.CancelledError as error:
            if task is None:
                raise
            self.found += unasked(self._checks[len(self.found) :], "cancelled")
            asyncio.get_running_loop().call_soon(_cancel_again, task, before, error.args)


def _cancel_again(task: asyncio.Task[Any], before: int, said: tuple[object, ...]) -> None:
    """Hand on a cancellation that came while a postcondition was asked, at whatever the task waits for by now.

    As it would have come without the postcondition: the tool's caller has its result. There is nothing to hand on where
    the task has ended, or where who asked for it (a timeout that was left in time) has taken it back.
    """
    if task.cancelling() > before and task.cancel(*said[:1]):
        task.uncancel()  # it is the same request as before


def asking(tool: str, arguments: dict[str, Any]) -> Asking | None:
    """The postconditions of a call that begins, None where there are none."""
    checks = CHECKS.of(tool)
    return Asking(checks, arguments) if checks else None


def unasked(checks: Iterable[Check], why: str) -> list[Evidence]:
    """The evidence of postconditions that could not be asked."""
    return [_evidence(check, Answer(Outcome.UNKNOWN, why)) for check in checks]


def in_event_loop() -> bool:
    """Whether this thread runs an event loop, which must not be held up."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _asked(check: Check, arguments: Mapping[str, Any], result: object) -> Evidence:
    due = monotonic() + check.timeout
    try:
        if not PLACES.wait(due):
            return _evidence(check, _BUSY)
        return _evidence(check, _started(check, due, arguments, result).result(due - monotonic()))
    except Exception as error:
        return _evidence(check, _failed(check, error))


async def _asked_async(check: Check, arguments: Mapping[str, Any], result: object) -> Evidence:
    if not in_event_loop():  # another kind of event loop than asyncio's
        return _asked(check, arguments, result)
    due = monotonic() + check.timeout
    try:
        if inspect.iscoroutinefunction(check.ask):
            return _evidence(check, await _in_time(asyncio.ensure_future(_quietly(check, arguments, result)), due))
        if not await PLACES.wait_async(due):
            return _evidence(check, _BUSY)
        return _evidence(check, await _in_time(asyncio.wrap_future(_started(check, due, arguments, result)), due))
    except Exception as error:
        return _evidence(check, _failed(check, error))


async def _in_time(asked: asyncio.Future[object], due: float) -> object:
    """An answer, if it comes in time. Else it is cancelled and left alone, however it takes that."""
    try:
        done, _ = await asyncio.wait({asked}, timeout=due - monotonic())
    finally:
        asked.cancel()
    if not done:
        raise TimeoutError
    return asked.result()


async def _quietly(check: Check, arguments: Mapping[str, Any], result: object) -> object:
    """Ask in the event loop, in a task of its own, with which the context that is attached here ends."""
    otel.attach(_quiet())
    try:
        return await cast("Coroutine[Any, Any, object]", check.ask(dict(arguments), result))
    except (Exception, asyncio.CancelledError, SystemExit) as error:  # none of them is the tool caller's
        return _failed(check, error)


def _started(check: Check, due: float, arguments: Mapping[str, Any], result: object) -> Future[object]:
    """Begin to ask in a thread, in a place that was taken for it."""
    future: Future[object] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            answer = context.run(_in_thread, check, arguments, result)
        except BaseException as error:  # such as SystemExit: it ends this thread, and not the tool's caller
            answer = _failed(check, error)
        finally:
            PLACES.leave(due)
        with suppress(InvalidStateError):  # nobody waits any more
            future.set_result(answer)

    try:
        threading.Thread(target=work, name="overclaim-postcondition", daemon=True).start()
    except BaseException:
        PLACES.leave(due)
        raise
    return future


def _in_thread(check: Check, arguments: Mapping[str, Any], result: object) -> object:
    otel.attach(_quiet())
    answer = check.ask(dict(arguments), result)
    return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer: Any) -> object:
    return await answer


_QUIET: Final = otel.create_key("overclaim-quiet")


def _quiet() -> otel.Context:
    """A context without a span or a run, in which instrumentors look away."""
    keys = ("_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY")  # of the API, though without a name
    context = otel.set_value(_QUIET, True, otel.Context())
    for key in (*(getattr(otel, name, name) for name in keys), "suppress_instrumentation"):
        context = otel.set_value(key, True, context)
    return context


def is_quiet(context: otel.Context) -> bool:
    """Whether a postcondition is being asked here: what it calls is no work of the agent."""
    return _QUIET in context


def _evidence(check: Check, answer: object) -> Evidence:
    if isinstance(answer, Answer):
        rule, outcome = _RULES.get(answer.outcome, _UNANSWERED)
        value = answer.value
        if outcome is Outcome.UNKNOWN:
            _tell(check, value)
    else:
        rule, outcome = _of_function(check, answer)
        value = check.name
    return Evidence("postcondition", rule, outcome, Grade.STRUCTURED, small(value))


def _of_function(check: Check, answer: object) -> tuple[str, Outcome]:
    if isinstance(answer, bool):
        return _RULES[Outcome.SUCCESS if answer else Outcome.FAILURE]
    if isinstance(answer, Outcome):
        return _RULES.get(answer, _UNANSWERED)
    if answer is not None:
        _mistakes.warn("overclaim.verify", type(answer).__name__, f"{check.name} must {_ALLOWED}")
    return _UNANSWERED


def _failed(check: Check, error: BaseException) -> Answer:
    _log.debug("overclaim: the postcondition %s failed: %s", check.name, place_of(error))
    return Answer(Outcome.UNKNOWN, "timeout" if isinstance(error, TimeoutError) else type(error).__name__)


def _tell(check: Check, why: str) -> None:
    """Say once per postcondition that it gives no answer, or nobody would notice."""
    if (check.name, check.pattern) in _told or len(_told) >= _MOST:
        return
    _told.add((check.name, check.pattern))
    cure = "its calls are judged by their results alone; see that it can be asked from here"
    _log.warning("overclaim: the postcondition %s of %s gave no answer (%s): %s", check.name, check.pattern, why, cure)
