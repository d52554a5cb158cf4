"""Laws of judging results: it never raises, its work is bounded, and it does not mind form or order."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome, ToolFacts
from overclaim.outcome.results.observing import decide, http_evidence, observe, parse

WORDS = ["error", "failed", "status", "success", "Error: x", "not found", "errors", "data", "result", "202", "queued",
         "isError", "content", "type", "text", "exit_code", "stdout", "No results found", "total", "rowcount", "id",
         "Traceback (most recent call last):\n  File \"a\", line 1\nValueError: x", "Verification required",
         "{", "[", "\"", "'", "\\", "\ud800", "\x00", "é失敗", "404", "code"]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=60), st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 700),
    st.floats(allow_nan=True),
    TEXTS,
    st.binary(max_size=40),
)
KEYS = st.one_of(st.sampled_from(WORDS), st.text(max_size=12), st.integers())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6), st.dictionaries(KEYS, inner, max_size=6), st.tuples(inner, inner)
    ),
    max_leaves=30,
)
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.text(max_size=30), st.sampled_from(WORDS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.one_of(st.sampled_from(WORDS), st.text(max_size=9)), inner, max_size=5),
    ),
    max_leaves=20,
)
EFFECTS = st.sampled_from(list(Effect))
FACTS = st.builds(
    ToolFacts,
    read_only=st.sampled_from([None, True, False]),
    expected_status=st.frozensets(st.sampled_from([404, 409]), max_size=2),
    empty_ok=st.booleans(),
)
EVIDENCE = st.builds(
    Evidence,
    kind=st.sampled_from(["http_status", "exit_code", "result_text", "declared", "exception"]),
    rule=st.sampled_from(["a.b", "http.status_4xx", "http.expected"]),
    outcome=st.sampled_from([Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN]),
    grade=st.sampled_from(list(Grade)),
    value=st.sampled_from(["", "404", "200"]),
    target=st.sampled_from(["", "GET /a", "PUT /a", "GET /b"]),
    span_id=st.uuids().map(str),
)
OBSERVED = {Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN}


@given(VALUES, st.sampled_from([None, True, False]), st.one_of(st.none(), TEXTS), FACTS, EFFECTS, st.booleans())
def test_never_raises(
    value: object, is_error: bool | None, text: str | None, facts: ToolFacts, effect: Effect, captured: bool
) -> None:
    """Whatever a tool returns, there is an outcome and bounded evidence without content."""
    seen = observe(value, is_error=is_error, error_text=text, facts=facts, effect=effect, captured=captured)
    assert seen.outcome in OBSERVED
    assert len(seen.evidence) <= 32
    assert all(len(one.value) <= 80 and "\n" not in one.value for one in seen.evidence)
    parse(value)


@given(VALUES, EFFECTS)
def test_same_twice(value: object, effect: Effect) -> None:
    """Judging is a function: the same result gives the same observation."""
    assert observe(value, effect=effect) == observe(value, effect=effect)


@given(JSON_VALUES, EFFECTS, FACTS)
def test_json_text_is_judged_like_the_value(value: object, effect: Effect, facts: ToolFacts) -> None:
    """A result and its JSON text have one outcome, for a text as for an object."""
    if isinstance(value, str):
        return
    text = json.dumps(value)
    assert observe(text, effect=effect, facts=facts).outcome is observe(value, effect=effect, facts=facts).outcome
    nested = json.dumps(text)
    assert observe(nested, effect=effect, facts=facts).outcome is observe(value, effect=effect, facts=facts).outcome


@given(TEXTS)
def test_a_mark_is_never_ignored(text: str) -> None:
    """What the framework marks as an error is at most "found nothing", never a success."""
    assert observe(text, is_error=True).outcome in (Outcome.FAILURE, Outcome.EMPTY)
    assert observe(text, is_error=True, effect=Effect.WRITE).outcome is Outcome.FAILURE


@given(st.lists(EVIDENCE, max_size=8), st.randoms(use_true_random=False), st.booleans())
def test_duplicates_change_nothing(evidence: list[Evidence], order: random.Random, captured: bool) -> None:
    """Spans that arrive again, at whatever place after the first, do not change the outcome."""
    repeated = list(evidence)
    for one in evidence:
        repeated.insert(order.randint(repeated.index(one) + 1, len(repeated)), one)
    assert decide(repeated, captured=captured) == decide(evidence, captured=captured)


@given(st.lists(EVIDENCE.filter(lambda one: not one.target), max_size=8), st.randoms(use_true_random=False))
def test_order_without_targets_does_not_matter(evidence: list[Evidence], order: random.Random) -> None:
    """Where nothing is a last word, any order gives the same outcome and grade."""
    shuffled = list(evidence)
    order.shuffle(shuffled)
    one, other = decide(evidence, captured=True), decide(shuffled, captured=True)
    assert (one.outcome, one.grade) == (other.outcome, other.grade)


@given(st.lists(EVIDENCE, max_size=6))
def test_a_structured_failure_without_target_always_shows(evidence: list[Evidence]) -> None:
    """No other evidence talks an exception away."""
    failure = Evidence("exception", "exception.raised", Outcome.FAILURE, Grade.STRUCTURED, "ValueError")
    assert decide([*evidence, failure], captured=True).outcome is Outcome.FAILURE


@given(st.lists(st.integers(100, 599), min_size=1, max_size=6))
def test_last_status_decides(statuses: list[int]) -> None:
    """Of the requests to one target only the last counts."""
    tries = [http_evidence("POST", "/x", status) for status in statuses]
    assert decide(tries, captured=True).outcome is decide(tries[-1:], captured=True).outcome


def deep(depth: int) -> object:
    """A dict of lists of dicts, so many levels deep."""
    value: object = {"status": "failed"}
    for _ in range(depth):
        value = {"data": [value, value]}
    return value


HUGE: dict[str, Callable[[], object]] = {
    "deep-object": lambda: deep(5_000),
    "deep-json": lambda: '{"data":' * 50_000 + "1" + "}" * 50_000,
    "deep-brackets": lambda: "[" * 100_000,
    "deep-repr": lambda: "{'a':" * 1_500 + "1" + "}" * 1_500,
    "minus": lambda: "[" + "-" * 8_000 + "1]",
    "long-text": lambda: "Error handling " * 1_400_000,
    "long-line": lambda: "x" * 20_000_000,
    "long-words": lambda: "a " * 10_000_000,
    "long-json": lambda: '{"rows": [' + "1," * 10_000_000 + "1]}",
    "long-lines": lambda: "ok\n" * 7_000_000,
    "wide-dict": lambda: {f"key{n}": n for n in range(500_000)},
    "wide-list": lambda: [{"ok": True}] * 1_000_000,
    "many-keys-json": lambda: json.dumps({f"k{n}": n for n in range(15_000)}),
    "long-key": lambda: {"k" * 5_000_000: 1},
    "quotes": lambda: "'" * 8_000,
    "backslashes": lambda: '"' + "\\" * 200_000 + '"',
    "one-long-short-line": lambda: "no " * 199,
    "spaces": lambda: "Error" + " " * 590,
    "words-without-end": lambda: "the file name of the " * 28,
    "digits": lambda: "9" * 590,
    "content-repr": lambda: "content='" + "\\'" * 5_000_000,
    "huge-int": lambda: "[" + "9" * 200_000 + "]",
}


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("effect", list(Effect))
def test_size_and_depth_are_bounded(name: str, effect: Effect) -> None:
    """Twenty megabytes or a hundred thousand levels cost a bounded look, without a recursion error."""
    value = HUGE[name]()
    started = time.process_time()
    observe(value, effect=effect, error_text=value if isinstance(value, str) else None)
    spent = time.process_time() - started
    assert spent < 2.0


@settings(max_examples=200)
@given(st.text(alphabet="no errfaildt:.'\"(){}[]/0123456789\n", max_size=600))
def test_short_texts_take_no_time(text: str) -> None:
    """No short text sends a pattern into endless backtracking."""
    started = time.process_time()
    observe(text)
    assert time.process_time() - started < 0.25
