"""Procedures as they are declared, in Python or in YAML: validated by pydantic, told in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Final, Literal, cast

from pydantic import AfterValidator, BaseModel, Field, model_validator

from overclaim.procedures.activity import Activity
from overclaim.procedures.compiling import constraints
from overclaim.procedures.constraint import Constraint
from overclaim.procedures.patterns import pattern
from overclaim.procedures.sentences import sentence

TEMPLATES: Final = (
    "precedence", "response", "succession", "not_after", "not_together", "absence", "existence", "exactly", "at_least",
    "at_most", "first", "last",
)  # fmt: skip
_NEAR: Final = ("precedence", "response", "succession", "not_after")  # where `within` says how near
_ALIKE: Final = (*_NEAR, "not_together", "at_most")  # where calls may be compared per target
_MOST: Final = 1000  # every run is judged by each
_LIFTED: Final = ("response", "not_after")  # where another call may lift the obligation or the ban


class Order(BaseModel, frozen=True, extra="forbid"):
    """Of precedence and succession: `first` comes before `then`."""

    first: Activity
    then: Activity


class Reaction(BaseModel, frozen=True, extra="forbid"):
    """Of response: `when` this is called, `then` that is called later."""

    when: Activity
    then: Activity


class Ban(BaseModel, frozen=True, extra="forbid"):
    """Of not_after: `after` this, `never` that."""

    after: Activity
    never: Activity


class Times(BaseModel, frozen=True, extra="forbid"):
    """Of exactly, at_least and at_most: so many `times` a call `of` this."""

    times: Annotated[int, Field(ge=0, le=1_000_000)]
    of: Activity


def _a_pattern(agent: str) -> str:
    pattern((agent,))
    return agent


class Procedure(BaseModel, frozen=True, extra="forbid"):
    """What is right for the calls of an agent: one template, and where it applies.

    id: its name in findings. agent: whose runs it is about, as a pattern like those of tools.
    per: "target" compares only calls that share a target, such as the same order. A call of which no target is known
    can keep such a procedure, and never breaks it. within: at most so many calls apart. unless: a call that lifts it,
    in between (not_after) or later (response). Where only failed calls start a ban or an obligation, the same call
    gone well lifts it, unless something else is declared.

    precedence: each `then` has a `first` before it. response: each `when` has a `then` after it. succession: both.
    not_after: no `never` after an `after`. not_together: not both of two in one run. absence: never; existence: at
    least once. exactly, at_least, at_most: so many `times`. first, last: the run begins, or ends, with it, calls that
    do not count by its `outcome` left aside.
    """

    id: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w.:/-]+$")]
    agent: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_a_pattern)] = "*"
    description: Annotated[str, Field(max_length=300)] = ""
    severity: Literal["high", "medium", "low"] = "high"
    per: Literal["run", "target"] = "run"
    within: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    unless: Activity | None = None

    precedence: Order | None = None
    response: Reaction | None = None
    succession: Order | None = None
    not_after: Ban | None = None
    not_together: Annotated[tuple[Activity, ...], Field(min_length=2, max_length=2)] | None = None
    absence: Activity | None = None
    existence: Activity | None = None
    exactly: Times | None = None
    at_least: Times | None = None
    at_most: Times | None = None
    first: Activity | None = None
    last: Activity | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_template(cls, value: object) -> object:
        if isinstance(value, Mapping):
            given = cast("Mapping[str, Any]", value)
            named = [template for template in TEMPLATES if given.get(template) is not None]
            misspelt = not named and not given.keys() <= cls.model_fields.keys()  # which is told of that key
            if len(named) != 1 and not misspelt:
                told = " and ".join(named) or "no template"
                raise ValueError(f"has {told}: give exactly one of {', '.join(TEMPLATES)}")
        return cast("object", value)

    @model_validator(mode="after")
    def _options_fit(self) -> Procedure:
        options = {"within": (self.within, _NEAR), "unless": (self.unless, _LIFTED)}
        for name, (given, fitting) in options.items():
            if given is not None and self.template not in fitting:
                raise ValueError(f"{name} means nothing with {self.template}: leave it out, or use {_or(fitting)}")
        if self.per == "target" and self.template not in _ALIKE:
            raise ValueError(f"per: target means nothing with {self.template}: leave it out, or use {_or(_ALIKE)}")
        return self

    @property
    def template(self) -> str:
        """The word it is declared by, such as "precedence"."""
        return next(name for name in TEMPLATES if getattr(self, name) is not None)

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """What is judged."""
        return constraints(self)

    @property
    def sentence(self) -> str:
        """The description, or else what the template says: "authorize before capture, on the same target"."""
        return self.description.rstrip(".") or sentence(self)


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _distinct(procedures: tuple[Procedure, ...]) -> tuple[Procedure, ...]:
    if len(procedures) > _MOST:
        raise ValueError(f"are {len(procedures)}, more than {_MOST}: say several by one, with patterns")
    twice = [name for name, count in Counter(one.id for one in procedures).items() if count > 1]
    if twice:
        raise ValueError(f"two procedures have the id {twice[0]!r}: give one another id")
    return procedures


Procedures = Annotated[tuple[Procedure, ...], AfterValidator(_distinct)]


def merged(*groups: Iterable[Procedure]) -> tuple[Procedure, ...]:
    """The procedures of several sources; of those with one id the first one counts."""
    found: dict[str, Procedure] = {}
    for one in chain(*groups):
        found.setdefault(one.id, one)
    return tuple(found.values())


def load(declared: object) -> tuple[Procedure, ...]:
    """The procedures in a list of mappings, as it comes out of YAML or JSON.

    Raises:
        InputError: something in it cannot be used; the message names every place, its value and the cure.
    """
    from overclaim.expectations.loading import load as load_expectations

    return load_expectations({"procedures": declared}).procedures
