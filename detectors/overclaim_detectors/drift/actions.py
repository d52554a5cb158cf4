"""What people decide about drifts: checked, and done on a store by whoever has it, a command or a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from overclaim._errors import InputError
from overclaim_detectors.drift import states
from overclaim_detectors.drift.states import Drift
from overclaim_detectors.store import Store

ACTIONS: Final = ("accept", "close", "rebase", "reopen")
LEAST_DIGITS: Final = 8
_LONGEST: Final = {"drift": 64, "why": 2000, "who": 200}


@dataclass(frozen=True, slots=True)
class Action:
    """A decision on a drift. begin, end: the time to compare with from now on, of a rebase (Unix seconds)."""

    what: str
    drift: str
    why: str
    who: str
    begin: int = 0
    end: int = 0

    def fields(self) -> dict[str, object]:
        """It as JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Done:
    """What was done: to which drift, what it is now, and its sentence."""

    what: str
    drift: str
    state: str
    sentence: str

    def fields(self) -> dict[str, str]:
        """It as JSON has it."""
        return asdict(self)


def action(fields: Mapping[str, object]) -> Action:
    """An action from its fields.

    Raises:
        InputError: there is something wrong with one.
    """
    unknown = fields.keys() - {"what", "drift", "why", "who", "begin", "end"}
    if unknown:
        raise InputError(f"an action has no field {min(unknown)!r}")
    what = fields.get("what")
    if what not in ACTIONS:
        raise InputError(f"what is to be done is one of {', '.join(ACTIONS)}")
    drift, why, who = (_text(name, fields.get(name)) for name in ("drift", "why", "who"))
    if len(drift) < LEAST_DIGITS:
        raise InputError(f"{what} needs at least {LEAST_DIGITS} digits of the drift's id: `overclaim drift list`")
    begin, end = (_seconds(name, fields.get(name, 0)) for name in ("begin", "end"))
    if what == "rebase" and not 0 < begin < end:
        raise InputError("rebase needs the time to compare with, from its beginning to its end")
    return Action(str(what), drift, why, who, begin, end)


def perform(store: Store, one: Action, now: int) -> Done:
    """Do it. now: Unix seconds.

    Raises:
        InputError: there is no such drift, or it cannot be done to it.
        StoreError: the store failed; to do it again comes to the same.
    """
    with states.DECIDING:
        done = _perform(store, one, now)
    return Done(one.what, done.id, done.state, done.sentence)


def _perform(store: Store, one: Action, now: int) -> Drift:
    about = (store, one.drift, one.who, one.why, now)
    if one.what == "rebase":
        return states.rebase(*about, one.begin, one.end)
    return {"accept": states.accept, "close": states.close, "reopen": states.reopen}[one.what](*about)


def _text(name: str, value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        raise InputError(f"an action needs {name}, as a text" + (": the reason is kept" if name == "why" else ""))
    if len(text) > _LONGEST[name]:
        raise InputError(f"{name} is longer than {_LONGEST[name]} characters")
    return text


def _seconds(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise InputError(f"{name} is a time in whole Unix seconds")
    return value
