"""Conditions as they are declared: a closed language of comparisons, validated here and evaluated elsewhere."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from overclaim.outcome.conditions import MAX_DEPTH, OPERATORS, comparisons, path_of
from overclaim.outcome.model import Combined, Comparison, Condition
from overclaim.outcome.pattern_cost import cost

MAX_CONDITIONS: Final = 64
_MAX_TEXT: Final = 1000
_MAX_PATTERN: Final = 200
_MAX_COMPARISONS: Final = 256
_MAX_BITS: Final = 126  # 38 digits
_GROUPS: Final = ("any", "all", "not")


def _plain(value: object) -> object:
    """A value that a field can be compared with."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite number")
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        raise ValueError(f"must be a text of at most {_MAX_TEXT} characters")
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ValueError("must be a number of at most 38 digits")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return tuple(_plain(one) for one in cast("list[object]", value)[:_MAX_TEXT])
    cure = "put a date in quotes" if hasattr(value, "isoformat") else "compare the fields inside one by one"
    raise ValueError(f"must be a text, a number, true, false, null or a list of these: {cure}")


def _choice(value: object) -> object:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a list of the values that are allowed, such as [succeeded, processing]")
    return _plain(cast("object", value))


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return _plain(value)


def _field(text: str) -> str:
    if path_of(text) is None:
        raise ValueError('must be a path such as data.items[0].id or ["a.b"].c, or "" for the whole result')
    return text


def _argument(text: str) -> str:
    if not path_of(text):
        raise ValueError("must be the name of an argument, such as amount or order.id")
    return text


def _pattern(text: str) -> str:
    """A pattern that comes to its end soon, whatever text it meets."""
    if len(text) > _MAX_PATTERN:
        raise ValueError(f"must be a pattern of at most {_MAX_PATTERN} characters")
    cost(text)
    return text


Value = Annotated[Any, AfterValidator(_plain)]
Number = Annotated[Any, AfterValidator(_number)]


class When(BaseModel):
    """One condition on a result: `field` and what it is compared with, or `any`, `all` or `not` of others.

    field: the path, such as `data.items[0].id`; "" is the whole result. Envelopes around the result (content blocks of
    MCP, JSON in a text, a lone "result" or "data") may be left out of it. Comparisons: equals (1 equals 1.0 and "1.00";
    else by type), in, exists, contains (text in text, item in list, key in object), matches (a regular expression that
    is found somewhere in the text), gt, gte, lt, lte, equals_argument (the call's argument of that name). Several of
    them must all hold. A field that is missing meets no comparison but `exists: false`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    field: Annotated[str, Field(max_length=300), AfterValidator(_field)] | None = None
    equals: Value = None
    in_: Annotated[Any, Field(alias="in"), AfterValidator(_choice)] = None
    exists: bool | None = None
    contains: Value = None
    matches: Annotated[str, AfterValidator(_pattern)] | None = None
    gt: Number = None
    gte: Number = None
    lt: Number = None
    lte: Number = None
    equals_argument: Annotated[str, AfterValidator(_argument)] | None = None
    any: Conditions | None = None
    all: Conditions | None = None
    not_: Annotated[When | None, Field(alias="not")] = None

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        given = set(map(str, cast("Mapping[object, object]", value)))
        groups, compared = given & {*_GROUPS, "not_"}, given & {*OPERATORS, "in_"}
        if groups and len(given) > 1:
            raise ValueError(f"{sorted(groups)[0]} stands alone: put what is beside it into the list")
        if not groups and "field" not in given and not given - {*OPERATORS, "in_"}:
            raise ValueError('has no field: say which one, or "" for the whole result')
        if "field" in given and not compared and given == {"field"}:
            raise ValueError(f"compares with nothing: give one of {', '.join(OPERATORS)}")
        return cast("object", value)

    def compiled(self, depth: int = 0) -> Condition:
        """The condition as it is evaluated."""
        if depth >= MAX_DEPTH:
            raise ValueError(f"conditions are nested more than {MAX_DEPTH} deep: write them flatter")
        if self.not_ is not None:
            return Combined("not", (self.not_.compiled(depth + 1),))
        for how, parts in (("any", self.any), ("all", self.all)):
            if parts is not None:
                return Combined(how, tuple(one.compiled(depth + 1) for one in parts))
        found = [self._comparison(operator) for operator in OPERATORS if self._given(operator)]
        return found[0] if len(found) == 1 else Combined("all", tuple(found))

    def _given(self, operator: str) -> bool:
        return ("in_" if operator == "in" else operator) in self.model_fields_set

    def _comparison(self, operator: str) -> Comparison:
        operand: object = getattr(self, "in_" if operator == "in" else operator)
        if operator == "matches":
            operand = re.compile(cast("str", operand))
        elif operator == "equals_argument":
            operand = path_of(cast("str", operand))
        named = self.field or ""
        return Comparison(named, path_of(named) or (), operator, operand)


def _listed(value: object) -> object:
    return (cast("object", value),) if isinstance(value, Mapping | When) else value


def _some(conditions: tuple[When, ...]) -> tuple[When, ...]:
    if not conditions:
        raise ValueError("is an empty list: give at least one condition, or leave it out")
    if len(conditions) > MAX_CONDITIONS:
        raise ValueError(f"has more than {MAX_CONDITIONS} conditions: use in, or matches")
    return conditions


def _shallow(conditions: tuple[When, ...]) -> tuple[When, ...]:
    count = sum(1 for one in conditions for _ in comparisons(one.compiled(1)))
    if count > _MAX_COMPARISONS:
        raise ValueError(f"comes to {count} comparisons, more than {_MAX_COMPARISONS}: use in, or matches")
    return conditions


Conditions = Annotated[tuple[When, ...], BeforeValidator(_listed), AfterValidator(_some)]
Whole = Annotated[tuple[When, ...], BeforeValidator(_listed), AfterValidator(_some), AfterValidator(_shallow)]
"""One condition or a list of them, of which all must hold."""
When.model_rebuild()


def together(conditions: tuple[When, ...] | None) -> Condition | None:
    """One condition out of a list of which all must hold."""
    if not conditions:
        return None
    found = tuple(one.compiled(1) for one in conditions)
    return found[0] if len(found) == 1 else Combined("all", found)
