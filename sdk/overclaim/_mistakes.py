"""Mistakes in how a program uses us. At import time they raise `UsageError`; inside a call they only warn.

A warning names the place, the value, what is allowed and the cure. It comes once per place, for a mistake in a
loop must not flood a log.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from reprlib import Repr

from overclaim._fail_open import fail_open
from overclaim._scrub import scrub, small
from overclaim.outcome.model import Outcome

MAX_PLACES = 256
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_log = logging.getLogger("overclaim")
_SHOWN = 200
_repr = Repr()
_repr.maxstring = _repr.maxother = _SHOWN
_said: set[tuple[str, int, str]] = set()


@fail_open
def warn(what: str, value: object, cure: str, place: tuple[str, int] | None = None) -> None:
    """Warn once per place that `what` (such as "overclaim.observe") was given a value that it cannot use.

    place: file and line, by default those of the nearest caller that is not ours.
    """
    file, line = place or _place()
    if (file, line, what) in _said or len(_said) >= MAX_PLACES:
        return
    _said.add((file, line, what))
    shown = repr(small(value)) if type(value) is str else small(value)
    _log.warning("%s, called at %s:%d, cannot use %s: %s", what, file, line, shown, cure)


def shown(value: object) -> str:
    """A value as an error names it, where something is declared: short, without secrets, and whatever it is."""
    try:
        return scrub(_repr.repr(value), _SHOWN)
    except Exception:  # its own code, or a number of too many digits
        return small(value)


def outcome(value: object, allowed: Sequence[Outcome], what: str) -> Outcome | None:
    """The outcome that a program names, or None and a warning where it names none of those allowed."""
    if issubclass(type(value), str) and value in allowed:
        return Outcome(value)
    warn(what, value, f"the outcome must be {one_of(allowed)}{near(value, allowed)}")
    return None


def one_of(allowed: Sequence[str]) -> str:
    """Words for a choice: "a, b or c"."""
    return f"{', '.join(allowed[:-1])} or {allowed[-1]}"


def near(value: object, allowed: Sequence[str]) -> str:
    """A guess at what was meant, "" where nothing is near."""
    from difflib import get_close_matches

    close = get_close_matches(value[:64].lower(), allowed, 1) if type(value) is str else []
    return f"; did you mean {str(close[0])!r}?" if close else ""


def _place() -> tuple[str, int]:
    """File and line of the nearest caller that is not ours."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_code.co_filename.startswith(_HERE) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
