"""The one guard between our mistakes and the host program.

Every hook that runs inside somebody else's program goes through it. Only `Exception` is caught: a
KeyboardInterrupt, a SystemExit or a cancellation belongs to the host and passes.
"""

from __future__ import annotations

import functools
import logging
import traceback
from collections import Counter
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("overclaim")

faults: Counter[str] = Counter()
"""How often each hook failed, by name; `overclaim doctor` and tests read it."""


def place_of(error: BaseException) -> str:
    """The type of an error and where it was raised, not its message: that may quote what the program handles."""
    places = reversed(traceback.extract_tb(error.__traceback__)[-4:])
    return f"{type(error).__name__} at {' < '.join(f'{one.filename}:{one.lineno}' for one in places)}"


def report(hook: str, error: Exception) -> None:
    """Note that a hook failed, quietly: a debug record and a count."""
    faults[hook] += 1
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("overclaim: %s failed: %s", hook, place_of(error))


def fail_open(hook: Callable[P, R]) -> Callable[P, R | None]:
    """Make a hook return None instead of raising."""

    @functools.wraps(hook)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return hook(*args, **kwargs)
        except Exception as error:
            report(hook.__qualname__, error)
            return None

    return guarded
