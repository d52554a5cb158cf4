"""Which calls a procedure means: by the tool's name, by what they do, and by how they ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from overclaim.outcome.lexicon import actions, verbs
from overclaim.outcome.model import Effect
from overclaim.procedures.constraint import STATES, Matcher
from overclaim.procedures.patterns import pattern

DONE: Final = tuple(state for state in STATES if state != "failure")
_OUTCOMES: Final = {"done": DONE, "any": STATES, **{state: (state,) for state in STATES}}
_MAX_NAMES: Final = 32
_MAX_LENGTH: Final = 200


def _listed(value: object) -> object:
    """One word stands for a list of one."""
    return (value,) if isinstance(value, str) else value


_Name = Annotated[str, Field(min_length=1, max_length=_MAX_LENGTH)]
Names = Annotated[tuple[_Name, ...], BeforeValidator(_listed), Field(max_length=_MAX_NAMES)]


class Activity(BaseModel, frozen=True, extra="forbid"):
    """A kind of call. In YAML a plain text is the tool's name; a mapping says more.

    tool: names, in which * stands for any characters, ? for one and [ab] for a choice; upper and lower case are one,
    and so are create_user, createUser and create-user. action: canonical actions, such as refund, or verbs for them.
    effect: read, write or unknown. A call must fit all that are given, and any one of several names.
    outcome: how it must have ended to count. "done", the default: it is not known to have failed (a write that touched
    nothing counts as failed, a mere suspicion does not); "any"; or some of success, failure, pending, empty, unknown.
    """

    tool: Names = ()
    action: Names = ()
    effect: Annotated[tuple[Effect, ...], BeforeValidator(_listed)] = ()
    outcome: Names = ("done",)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        if isinstance(value, str | list | tuple):
            return {"tool": cast("object", value)}
        if value is None:
            raise ValueError("names no call: give a tool's name, or a mapping with tool, action or effect")
        return value

    @model_validator(mode="after")
    def _names_something(self) -> Activity:
        if not (self.tool or self.action or self.effect):
            raise ValueError('names no call: give a tool, an action or an effect; tool: "*" means every call')
        return self

    @field_validator("tool")
    @classmethod
    def _a_pattern(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        pattern(value)
        return value

    @field_validator("action")
    @classmethod
    def _known_action(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        named = tuple(verbs()[one].name if one in verbs() else one for one in value)
        return _known(named, actions(), "action")

    @field_validator("outcome")
    @classmethod
    def _known_outcome(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError(f"no outcome would ever count: use {', '.join(_OUTCOMES)}")
        return _known(value, _OUTCOMES, "outcome")

    @property
    def states(self) -> frozenset[str]:
        """How a call must have ended to count."""
        return frozenset(state for word in self.outcome for state in _OUTCOMES[word])

    @property
    def only_failures(self) -> bool:
        """Whether only failed calls count."""
        return self.states == frozenset(("failure",))

    def matcher(self) -> Matcher:
        """The activity in the form in which it is judged and stored."""
        return Matcher(
            self.tool or ("*",), self.action, tuple(one.value for one in self.effect), tuple(sorted(self.states))
        )

    def __str__(self) -> str:
        """`charge_card`, `update by *file*`, `failed charge_card`."""
        names = " or ".join(self.tool)
        deeds = " or ".join((*self.action, *(f"{one.value} call" for one in self.effect if not self.action)))
        words = " by ".join(part for part in (deeds, names) if part)
        return words if self.outcome == ("done",) else f"{_STATED.get(self.outcome, ' or '.join(self.outcome))} {words}"


_STATED: Final[Mapping[tuple[str, ...], str]] = {("failure",): "failed", ("success",): "successful", ("any",): "tried"}


def _known(value: tuple[str, ...], known: Mapping[str, Any], what: str) -> tuple[str, ...]:
    for one in value:
        if one not in known:
            raise ValueError(f"{one!r} is no {what}: use {', '.join(cast('Mapping[str, object]', known))}")
    return value
