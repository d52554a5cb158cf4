"""Laws of conditions: they never raise, whatever the result, and come to an end soon."""

from __future__ import annotations

import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from overclaim.expectations import When
from overclaim.outcome.conditions import Result, equal, holds, telling
from overclaim.outcome.model import NO_FACTS, Outcome, ToolFacts
from overclaim.outcome.results.observing import observe

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
KEYS = st.sampled_from("ab.c0") | st.text(max_size=3)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)
PATHS = st.sampled_from(["", "a", "a.b", "b[0]", "[0].a", "a[-1].c", '["."]'])
PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TESTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries({"field": PATHS, "equals": PLAIN | st.lists(PLAIN, max_size=3)}),
    st.fixed_dictionaries({"field": PATHS, "in": st.lists(PLAIN, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"field": PATHS, "exists": st.booleans()}),
    st.fixed_dictionaries({"field": PATHS, "contains": PLAIN}),
    st.fixed_dictionaries({"field": PATHS, "matches": st.sampled_from(["^a", r"\d+$", "[a-c]{2}", "a|b", ".*x.*y"])}),
    *(st.fixed_dictionaries({"field": PATHS, name: NUMBERS}) for name in ("gt", "gte", "lt", "lte")),
    st.fixed_dictionaries({"field": PATHS, "equals_argument": st.sampled_from(["a", "a.b", "c[0]"])}),
)
CONDITIONS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"any": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"all": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=5,
)


@given(CONDITIONS, JSON, st.dictionaries(st.sampled_from("abc"), JSON, max_size=3))
def test_no_condition_raises_on_any_json(
    declared: dict[str, Any], result: object, arguments: dict[str, object]
) -> None:
    """Every condition gives yes, no or unknown on every result, and names a field."""
    try:
        condition = When.model_validate(declared).compiled()
    except (ValidationError, ValueError):
        return  # nested too deep
    found = holds(condition, Result(result), arguments)
    assert found in (True, False, None)
    assert telling(condition, Result(result), arguments, found)


@given(CONDITIONS, JSON)
def test_not_turns_the_answer_around(declared: dict[str, Any], result: object) -> None:
    """`not` of an answer is the other one, and of unknown unknown."""
    try:
        condition, other = (When.model_validate(one).compiled() for one in (declared, {"not": declared}))
    except (ValidationError, ValueError):
        return
    found, turned = holds(condition, Result(result), {}), holds(other, Result(result), {})
    assert turned is (None if found is None else not found) or turned is None


@given(JSON, JSON)
def test_equality_is_symmetric(one: object, other: object) -> None:
    """It does not matter which of two values is the one compared with."""
    assert equal(one, other) is equal(other, one)


@given(CONDITIONS, JSON)
def test_a_declared_condition_decides(declared: dict[str, Any], result: object) -> None:
    """Where success_when holds the call is a success and where it does not a failure, however the result reads."""
    try:
        condition = When.model_validate(declared).compiled()
    except (ValidationError, ValueError):
        return
    found = holds(condition, Result(result), {})
    observed = observe(result, facts=ToolFacts(success_when=condition))
    expected = {True: Outcome.SUCCESS, False: Outcome.FAILURE, None: observed.outcome}[found]
    assert observed.outcome is expected
    assert observe(result, facts=NO_FACTS) == observe(result)


@settings(deadline=None, max_examples=60)
@given(
    st.text(alphabet="ab. x1", max_size=6000), st.sampled_from([".*a.*b", "[ab]+x[ab]+1", r"\w+\s\w+x", "a.*b.*x.*1"])
)
def test_patterns_end_soon(text: str, pattern: str) -> None:
    """No pattern that may be declared takes long on any text."""
    condition = When.model_validate({"field": "", "matches": pattern}).compiled()
    start = time.perf_counter()
    holds(condition, Result(text), {})
    assert time.perf_counter() - start < 5


def test_a_hostile_text_does_not_hold_a_pattern_up() -> None:
    """The texts that are worst for three open ends still come to an end within seconds."""
    condition = When.model_validate({"field": "", "matches": "a.*a.*a.*b"}).compiled()
    start = time.perf_counter()
    assert holds(condition, Result("a" * 50_000), {}) is None
    assert time.perf_counter() - start < 10


def test_deep_and_looping_values_end() -> None:
    """A list that holds itself, and one nested a thousand deep, are compared to an end."""
    loop: list[object] = []
    loop.append(loop)
    deep: object = 1
    for _ in range(1000):
        deep = [deep]
    assert equal(loop, loop) in (True, False)
    assert equal(deep, deep) in (True, False)
    condition = When.model_validate({"field": "[0][0][0]", "equals": [1]}).compiled()
    assert holds(condition, Result(loop), {}) is False
