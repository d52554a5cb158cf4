from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from overclaim.expectations import When
from overclaim.outcome.conditions import Result, equal, holds, path_of, telling

RESULT = {
    "status": "active", "amount": "45.00", "count": 3, "ok": True, "nothing": None, "tags": ["new", 7],
    "user": {"id": "u-17", "mails": [{"to": "ann@example.com"}, {"to": "bob@example.com"}]}, "a.b": {"c": 1},
}  # fmt: skip


def answer(condition: dict[str, Any], result: object = RESULT, **arguments: object) -> bool | None:
    """What a condition makes of a result."""
    return holds(When.model_validate(condition).compiled(), Result(result), arguments)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"field": "status", "equals": "active"}, True),
        ({"field": "status", "equals": "Active"}, False),
        ({"field": "count", "equals": 3.0}, True),
        ({"field": "amount", "equals": 45}, True),
        ({"field": "ok", "equals": True}, True),
        ({"field": "ok", "equals": 1}, False),
        ({"field": "nothing", "equals": None}, True),
        ({"field": "missing", "equals": None}, False),
        ({"field": "tags", "equals": ["new", 7]}, True),
        ({"field": "status", "in": ["active", "new"]}, True),
        ({"field": "status", "in": ["gone"]}, False),
        ({"field": "user.id", "exists": True}, True),
        ({"field": "user.name", "exists": True}, False),
        ({"field": "user.name", "exists": False}, True),
        ({"field": "nothing", "exists": True}, True),
        ({"field": "tags", "contains": "new"}, True),
        ({"field": "tags", "contains": 7.0}, True),
        ({"field": "status", "contains": "act"}, True),
        ({"field": "user", "contains": "id"}, True),
        ({"field": "count", "contains": 3}, False),
        ({"field": "user.id", "matches": r"^u-\d+$"}, True),
        ({"field": "count", "matches": r"^\d$"}, True),
        ({"field": "user", "matches": "u"}, False),
        ({"field": "count", "gt": 2}, True),
        ({"field": "count", "gt": 3}, False),
        ({"field": "count", "gte": 3, "lte": 3}, True),
        ({"field": "count", "gte": 3, "lt": 3}, False),
        ({"field": "amount", "gt": 44.99}, True),
        ({"field": "status", "gt": 1}, False),
        ({"field": "user.mails[0].to", "equals": "ann@example.com"}, True),
        ({"field": "user.mails[-1].to", "equals": "bob@example.com"}, True),
        ({"field": "user.mails[2].to", "exists": True}, False),
        ({"field": '["a.b"].c', "equals": 1}, True),
        ({"any": [{"field": "status", "equals": "no"}, {"field": "count", "equals": 3}]}, True),
        ({"all": [{"field": "status", "equals": "active"}, {"field": "count", "equals": 4}]}, False),
        ({"not": {"field": "status", "equals": "no"}}, True),
        ({"not": {"any": [{"field": "ok", "equals": True}]}}, False),
    ],
)
def test_each_comparison(condition: dict[str, Any], expected: bool) -> None:
    """What each comparison makes of a result, with types that count and numbers that are numbers in any writing."""
    assert answer(condition) is expected


def test_an_argument_is_what_the_call_was_given() -> None:
    """A field may have to equal an argument of the call; without that argument nobody can say."""
    condition = {"field": "amount", "equals_argument": "order.amount"}
    assert answer(condition, order={"amount": 45}) is True
    assert answer(condition, order={"amount": 46}) is False
    assert answer(condition) is None


@pytest.mark.parametrize(
    "result",
    [
        {"data": {"status": "active"}},
        '{"status": "active"}',
        {"content": [{"type": "text", "text": '{"status": "active"}'}], "isError": False},
        [{"type": "text", "text": '{"status": "active"}'}],
    ],
)
def test_envelopes_may_be_left_out(result: object) -> None:
    """The result within its envelope is meant, whether the envelope is named in the path or not."""
    assert answer({"field": "status", "equals": "active"}, result) is True


def test_envelopes_may_be_named() -> None:
    """A path through the envelope works as well."""
    assert answer({"field": "data.status", "equals": "active"}, {"data": {"status": "active"}}) is True


@dataclass
class Row:
    """A result that is an object."""

    status: str


def test_objects_are_read_by_their_fields() -> None:
    """A dataclass is read like a mapping; an object without public fields cannot be read."""
    assert answer({"field": "status", "equals": "on"}, Row("on")) is True
    assert answer({"field": "status", "equals": "on"}, object()) is None


@pytest.mark.parametrize("result", ['{"id": 7, "status": "act', '[{"status": "x"', '{"a": 1, ... [truncated]'])
def test_what_was_cut_off_is_unknown(result: str) -> None:
    """A field that may stand behind the cut is neither there nor missing."""
    assert answer({"field": "status", "equals": "active"}, result) is None
    assert answer({"not": {"field": "status", "equals": "active"}}, result) is None


def test_the_whole_result_is_the_empty_path() -> None:
    """A text is compared as it is."""
    assert answer({"field": "", "equals": "done"}, "done") is True
    assert answer({"field": "", "matches": "^re_"}, "re_17") is True
    assert answer({"field": "status", "equals": "done"}, "done") is False


def test_a_pattern_sees_both_ends_of_a_long_text() -> None:
    """What stands in the middle of a very long text is not looked for, and so not denied."""
    long = "x" * 20_000
    assert answer({"field": "", "matches": r"\d passed$"}, long + "3 passed") is True
    assert answer({"field": "", "matches": "^3 passed"}, "3 passed" + long) is True
    assert answer({"field": "", "matches": "3 passed"}, long + "3 passed" + long) is None


def test_the_deciding_field_is_named() -> None:
    """Of several conditions the one that failed is shown, and never what stood there."""
    both = When.model_validate({"all": [{"field": "status", "equals": "active"}, {"field": "count", "equals": 4}]})
    assert telling(both.compiled(), Result(RESULT), {}, False) == "count"
    assert telling(both.compiled(), Result(RESULT), {}, True) == "status"
    assert telling(When.model_validate({"field": "", "equals": 1}).compiled(), Result("x"), {}, False) == "result"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()), ("a", ("a",)), ("a.b[0].c", ("a", "b", 0, "c")), ("[0]", (0,)), ('a["b.c"].d', ("a", "b.c", "d")),
        (".a", None), ("a.", None), ("a..b", None), ("a[x]", None), ("a[0", None), ("a" + ".a" * 40, None),
    ],
)  # fmt: skip
def test_paths(text: str, path: tuple[str | int, ...] | None) -> None:
    """What is a path and what is none."""
    assert path_of(text) == path


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True), (1, "1.00", True), ("1", "1.0", False), ("007", 7, False), (True, 1, False), (0, False, False),
        (None, None, True), (None, "", False), ({"a": [1]}, {"a": ["1"]}, True), ([1], [1, 2], False),
        ("A", "a", False),
        (10**400, 10**400, False), (float("nan"), float("nan"), False),
    ],
)  # fmt: skip
def test_equality(one: object, other: object, same: bool) -> None:
    """Types count, the writing of numbers does not, and a number beyond all measure equals nothing."""
    assert equal(one, other) is same
