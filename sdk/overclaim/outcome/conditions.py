"""Declared conditions on a result: a closed language of comparisons, evaluated without running anybody's code.

An answer is True, False, or None where it cannot be known because the result was cut off or shows no fields. All work
is bounded: the depth of conditions and of values, the items compared, the text that a pattern sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final, cast

from overclaim.outcome.model import Comparison, Condition
from overclaim.outcome.pattern_cost import cost
from overclaim.outcome.results.payload import MAX_JSON, OPAQUE, parse, plain

MAX_DEPTH: Final = 8
"""Levels of conditions within conditions, and of values that are compared."""
MAX_STEPS: Final = 32
"""Keys and indexes in one path."""
_MAX_ITEMS: Final = 1000
_MAX_DIGITS: Final = 40
_STEP: Final = re.compile(r"""\.?([^.\[\]"']+)|\[(-?\d{1,6})\]|\["([^"]*)"\]""")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,38})(?:\.\d{1,38})?")
_JSON_HEAD: Final = re.compile(r"""\s*(?:\{\s*["'}]|\[\s*(?:["'{\[\d]|\Z))""")
_CUT: Final = re.compile(r"(?:\.{3}|…|\[(?:truncated|cut|content cut)[^\]]{0,40}\])\s*\Z", re.I)


class _Missing:
    """Stands for a field that is not there."""


class _Unread:
    """Stands for a field of which nobody can say whether it is there."""


MISSING: Final = _Missing()
UNREAD: Final = _Unread()


def path_of(text: str) -> tuple[str | int, ...] | None:
    """The steps of a path such as `a.b[0]["c.d"]`, () for the whole result; None where it is no path."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or (match[1] is not None and match[0].startswith(".") == (at == 0)):
            return None
        steps.append(int(match[2]) if match[2] else match[3] if match[3] is not None else match[1].strip())
        at = match.end()
    return tuple(steps) if len(steps) <= MAX_STEPS else None


class Result:
    """A result as conditions see it: without its envelopes first (`status`), then with them (`data.status`)."""

    __slots__ = ("_inner", "_result")

    def __init__(self, result: object) -> None:
        self._inner, self._result = parse(result), result

    def field(self, path: tuple[str | int, ...]) -> object:
        """What stands at a path, MISSING or UNREAD."""
        found = field(self._inner, path)
        return field(self._result, path) if found is MISSING and self._inner is not self._result else found


def holds(condition: Condition, result: Result, arguments: Mapping[str, object]) -> bool | None:
    """Whether a result meets a condition; None where that cannot be known."""
    return _holds(condition, result, arguments, 0)


def telling(condition: Condition, result: Result, arguments: Mapping[str, object], answer: bool | None) -> str:
    """The field of the first comparison that came to this answer, else of the first one; "result" for the whole."""
    if isinstance(condition, Comparison):
        return condition.field or "result"
    found = tuple(comparisons(condition))
    same = (one.field for one in found if _holds(one, result, arguments, 0) is answer)
    return (next(same, "") or (found[0].field if found else "")) or "result"


def field(value: object, path: Iterable[str | int]) -> object:
    """What stands at a path: MISSING where nothing does, UNREAD where the value was cut off before it."""
    for step in path:
        value = _step(plain(value), step)
        if value is MISSING or value is UNREAD:
            return value
    found = plain(value)
    return UNREAD if found is OPAQUE else found


def _holds(condition: Condition, result: Result, arguments: Mapping[str, object], depth: int) -> bool | None:
    if isinstance(condition, Comparison):
        return _compared(condition, result, arguments)
    if depth >= MAX_DEPTH:
        return None
    answers = [_holds(part, result, arguments, depth + 1) for part in condition.parts]
    if condition.how == "not":
        return None if answers[0] is None else not answers[0]
    decisive = condition.how == "any"
    if decisive in answers:
        return decisive
    return None if None in answers else not decisive


def comparisons(condition: Condition) -> Iterable[Comparison]:
    """The comparisons that a condition consists of."""
    if isinstance(condition, Comparison):
        yield condition
        return
    for part in condition.parts:
        yield from comparisons(part)


def _step(value: object, step: str | int) -> object:
    if isinstance(value, str):
        return UNREAD if is_cut(value) else MISSING
    if value is OPAQUE:
        return UNREAD
    if isinstance(step, int):
        listed = cast("list[object]", value) if isinstance(value, list) else []
        return listed[step] if -len(listed) <= step < len(listed) else MISSING
    held = cast("dict[object, object]", value) if isinstance(value, dict) else {}
    return held.get(step, MISSING)


def is_cut(text: str) -> bool:
    """Whether a text is the beginning of JSON that somebody cut off, or too long to be read."""
    return len(text) > MAX_JSON or bool(_JSON_HEAD.match(text[:64]) or _CUT.search(text[-80:]))


def _compared(one: Comparison, result: Result, arguments: Mapping[str, object]) -> bool | None:
    found = result.field(one.path)
    if found is UNREAD:
        return None
    if one.operator == "exists":
        return (found is not MISSING) is one.operand
    if found is MISSING:
        return False
    if one.operator == "equals_argument":
        wanted = field(arguments, cast("tuple[str, ...]", one.operand))
        return None if wanted is MISSING or wanted is UNREAD else equal(found, wanted)
    return _OPERATORS[one.operator](found, one.operand)


def equal(one: object, other: object, depth: int = 0) -> bool:
    """Whether two values are equal: by type, save that numbers are numbers however they are written.

    1 equals 1.0 and "1.00", but not True; "007" and "7" are two texts, and so are "A" and "a".
    """
    one, other = plain(one), plain(other)
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    if (first := number(one)) is not None:
        return first == number(other)
    if isinstance(one, dict) and isinstance(other, dict):
        return _equal_dicts(cast("dict[object, object]", one), cast("dict[object, object]", other), depth)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return _equal_lists(cast("list[object]", one), cast("list[object]", other), depth)
    return False


def _equal_dicts(one: dict[object, object], other: dict[object, object], depth: int) -> bool:
    if depth >= MAX_DEPTH or len(one) != len(other) or len(one) > _MAX_ITEMS:
        return False
    return all(key in other and equal(value, other[key], depth + 1) for key, value in one.items())


def _equal_lists(one: list[object], other: list[object], depth: int) -> bool:
    if depth >= MAX_DEPTH or len(one) != len(other) or len(one) > _MAX_ITEMS:
        return False
    return all(equal(a, b, depth + 1) for a, b in zip(one, other, strict=True))


def number(value: object) -> Decimal | None:
    """A number, or a text that spells one out as a program would; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, int) and value.bit_length() > _MAX_DIGITS * 4:
        return None
    if isinstance(value, str) and (len(value) > 2 * _MAX_DIGITS or not _NUMBER.fullmatch(value.strip())):
        return None
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _is_in(found: object, operand: object) -> bool | None:
    return any(equal(found, one) for one in cast("tuple[object, ...]", operand))


def _contains(found: object, operand: object) -> bool | None:
    if isinstance(found, str):
        held = isinstance(operand, str) and operand in found
        return held or (None if _CUT.search(found[-80:]) else False)
    if isinstance(found, dict):
        return operand in cast("dict[object, object]", found)
    listed = cast("list[object]", found) if isinstance(found, list) else []
    if any(equal(one, operand) for one in listed[:_MAX_ITEMS]):
        return True
    return None if len(listed) > _MAX_ITEMS else False


def _matches(found: object, operand: object) -> bool | None:
    """Of a long text only both ends are looked at, so that no pattern takes for ever; no match there says nothing."""
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        found = str(found)
    if not isinstance(found, str):
        return False
    pattern = cast("re.Pattern[str]", operand)
    most = cost(pattern.pattern).text
    if len(found) <= most:
        return pattern.search(found) is not None
    head = pattern.search(found, 0, most)
    if (head is not None and head.end() < most) or pattern.search(found, len(found) - most):
        return True
    return None


def _ordered(compare: Callable[[Decimal, Decimal], bool]) -> Callable[[object, object], bool | None]:
    def compared(found: object, operand: object) -> bool | None:
        one, other = number(found), number(operand)
        return one is not None and other is not None and compare(one, other)

    return compared


_OPERATORS: Final[dict[str, Callable[[object, object], bool | None]]] = {
    "equals": equal,
    "in": _is_in,
    "contains": _contains,
    "matches": _matches,
    "gt": _ordered(lambda one, other: one > other),
    "gte": _ordered(lambda one, other: one >= other),
    "lt": _ordered(lambda one, other: one < other),
    "lte": _ordered(lambda one, other: one <= other),
}
OPERATORS: Final = ("equals", "in", "exists", "contains", "matches", "gt", "gte", "lt", "lte", "equals_argument")


def of_arguments(arguments: object) -> Mapping[str, object]:
    """Arguments by name, as they are or in the JSON text that a framework records; none where they cannot be read."""
    if arguments is None:
        return {}
    value: object = cast("object", arguments) if isinstance(arguments, dict) else parse(arguments)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
