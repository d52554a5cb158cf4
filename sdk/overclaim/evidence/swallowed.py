"""Exceptions that the program's own files handle inside a tool: a suspicion, for handling may be all they need.

By `sys.monitoring`, so only from Python 3.12 on. It is told of every handled exception, but those in the standard
library and in installed packages are passed over, since they are the business of these; so are those that only look
something up or steer the program, and those that are raised again. Of an exception only the name of its type is kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any, Final

from opentelemetry.context import get_current
from opentelemetry.trace import TracerProvider

from overclaim._fail_open import report
from overclaim._record import Record
from overclaim.evidence.inside import shown_by, tool_inside
from overclaim.outcome.model import Evidence, Grade, Outcome

_RULE = "exception.handled"
_MOST = 4
_MOST_FILES = 4096
_IDS = (3, 4)  # 0, 1, 2 and 5 are for debuggers, coverage, profilers and optimizers
_STEERING = (
    LookupError, AttributeError, ImportError, StopIteration, StopAsyncIteration, FileExistsError, BlockingIOError,
    InterruptedError, NotImplementedError,
)  # fmt: skip
_STEERING_NAMES: Final = frozenset({"Empty", "QueueEmpty", "Full", "QueueFull", "WouldBlock", "EndOfStream"})
_STANDARD = os.path.dirname(os.__file__) + os.sep
_PACKAGES = ("site-packages", "dist-packages")
_OWN = str(Path(__file__).parents[1]) + os.sep
_TYPED = ("<stdin>", "<ipython-input", "<console>")  # what a person types has no file

_users: dict[str, bool] = {}
_id: int | None = None


def _of_user(filename: str) -> bool:
    """Whether a file is the program's own."""
    known = _users.get(filename)
    if known is None:
        if len(_users) >= _MOST_FILES:
            _users.clear()
        known = _users[filename] = _is_users(filename)
    return known


def _is_users(filename: str) -> bool:
    if filename.startswith("<"):
        return filename.startswith(_TYPED)
    return not (filename.startswith((_STANDARD, _OWN)) or any(name in filename for name in _PACKAGES))


def _handled(code: CodeType, _: int, error: BaseException) -> Any:
    """Note an exception for which a handler was found. It may still raise it again: see `_raised_again`."""
    if not get_current() or not _of_user(code.co_filename):
        return
    try:
        if _tells(error) and (tool := tool_inside()) is not None:
            _noted(tool, error)
    except Exception as fault:
        report("evidence swallowed", fault)


def _raised_again(code: CodeType, _: int, error: BaseException) -> Any:
    """Take back what was noted: it was a `finally`, a `with`, or a handler that only had a look."""
    if not get_current() or not _of_user(code.co_filename):
        return
    try:
        if _tells(error) and (tool := tool_inside()) is not None:
            for one in _noted_before(tool):
                if one.value == _name(error):
                    tool.evidence.remove(one)
    except Exception as fault:
        report("evidence swallowed", fault)


def _tells(error: BaseException) -> bool:
    kind = type(error)
    return isinstance(error, Exception) and not issubclass(kind, _STEERING) and kind.__name__ not in _STEERING_NAMES


def _noted(tool: Record, error: BaseException) -> None:
    name = _name(error)
    told = any(one.value == name for one in tool.evidence)  # by itself, or by the request that raised it
    if not told and len(_noted_before(tool)) < _MOST:
        failure, suspect = Outcome.FAILURE, Grade.SUSPECT
        tool.add(Evidence("swallowed_exception", _RULE, failure, suspect, name, span_id=shown_by(tool)))


def _noted_before(tool: Record) -> list[Evidence]:
    return [one for one in tool.evidence if one.rule == _RULE]


def _name(error: BaseException) -> str:
    return type(error).__name__[:80]


def probe() -> str:
    """Say why it cannot be used, "" where it can."""
    if sys.version_info < (3, 12):
        return "needs Python 3.12 (sys.monitoring)"
    if _id is not None:
        return "already switched on"
    return "" if _free() is not None else "other tools use sys.monitoring already"


def on(_: TracerProvider) -> None:
    """Look at handled exceptions, for good: switching it for each call would cost more."""
    global _id
    if sys.version_info >= (3, 12) and (free := _free()) is not None:
        monitoring = sys.monitoring
        monitoring.use_tool_id(free, "overclaim")
        _id = free
        for event, callback in _callbacks().items():
            monitoring.register_callback(free, event, callback)
        monitoring.set_events(free, monitoring.events.EXCEPTION_HANDLED | monitoring.events.RERAISE)


def off() -> None:
    """Look away again."""
    global _id
    if sys.version_info >= (3, 12) and _id is not None:
        held, _id = _id, None
        sys.monitoring.set_events(held, 0)
        for event in _callbacks():
            sys.monitoring.register_callback(held, event, None)
        sys.monitoring.free_tool_id(held)


def _free() -> int | None:
    if sys.version_info >= (3, 12):
        return next((one for one in _IDS if sys.monitoring.get_tool(one) is None), None)
    return None


def _callbacks() -> dict[int, Callable[[CodeType, int, BaseException], Any]]:
    if sys.version_info >= (3, 12):
        events = sys.monitoring.events
        return {events.EXCEPTION_HANDLED: _handled, events.RERAISE: _raised_again}
    return {}
