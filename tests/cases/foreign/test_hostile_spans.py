"""Spans of other instrumentors with whatever a program may write into them: nothing raises, and no role changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases.foreign.spoken import DONE, HONEST, MODEL, REFUSED, SPOKEN, TOOL, Spoken

from overclaim._foreign import role
from overclaim._foreign import tool_name as live_tool_name
from overclaim.outcome.judge import judge
from overclaim.reading.conventions import CONVENTIONS, ROLE_ATTRIBUTES, keys
from overclaim.reading.dialects import role_of
from overclaim.reading.dimensions import MOST_TOKENS
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs
from overclaim_detectors.rows import CALL_COLUMNS, RUN_COLUMNS, trace_rows

MEANINGS = (
    "tool", "described", "call_id", "arguments", "result", "answer", "request", "agent", "trace_name", "model",
    "provider", "tokens_in", "tokens_out", "session", "prompt_name", "prompt_version", "instructions", "agent_version",
    "tool_version", "release", "environment",
)  # fmt: skip
KNOWN = sorted(
    {key for meaning in MEANINGS for key in keys(meaning)} | {mark for one in CONVENTIONS for mark, _ in one.failed}
)
KINDS = {kind for kind, _ in ROLE_ATTRIBUTES}
DEEP = "[" * 3_000 + "]" * 3_000
HALF = "half \ud83d of a pair"


def nested(depth: int) -> object:
    """An object in an object in an object, with a list of messages in the innermost."""
    value: Any = [{"role": "system", "content": [{"type": "text", "text": 5}]}, ["system"], None, {"kwargs": []}]
    for name in ("messages", "inputs", "kwargs", "output", "data")[:depth]:
        value = {name: value, "type": "tool", "content": None}
    return value


SHAPES = st.integers(0, 5).map(nested)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.text(st.characters(), max_size=40),
    st.sampled_from(
        ["", HALF, DEEP, '"', '""', '"\\ud800"', "{", "[1", "null", "NaN", "-1", "1" * 400, "\0", "system"]
    ),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.binary(max_size=8),
    st.lists(st.text(max_size=4), max_size=3),
    SHAPES,
    SHAPES.map(json.dumps),
)
SPANS = st.sampled_from(SPOKEN)


def all_of_it(spans: list[Span]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Everything that is ever made of spans: roles, runs, verdicts, rows; the rows of runs and of calls."""
    found = runs(spans)
    for run in found:
        judge(run)
    made = trace_rows(found, spans, 1)
    columns = ((RUN_COLUMNS, made.runs), (CALL_COLUMNS, made.calls))
    return tuple([dict(zip(names, row, strict=True)) for row in its] for names, its in columns)  # pyright: ignore[reportReturnType]


def changed(spans: list[Span], change: Callable[[Span], dict[str, object]]) -> list[Span]:
    """The spans with more attributes."""
    return [replace(span, attributes=span.attributes | change(span)) for span in spans]


@settings(max_examples=80, deadline=None)
@given(SPANS, st.dictionaries(st.sampled_from(KNOWN), VALUES, max_size=6), st.booleans())
def test_hostile_values_never_raise_nor_change_a_role(spoken: Spoken, hostile: dict[str, Any], content: bool) -> None:
    """In any attribute of the table that does not tell the kind of a span."""
    spans = spoken.spans(REFUSED, HONEST, content=content)
    hurt = changed(spans, lambda _: hostile)
    bare = {key for key in hostile if key != "gen_ai.tool.name"}  # where no kind is told, this one tells it
    assert [role_of(one) for one in changed(spans, lambda _: {key: hostile[key] for key in bare})] == [
        role_of(one) for one in spans
    ]
    run_rows, call_rows = all_of_it(hurt)
    assert json.dumps([run_rows, call_rows], ensure_ascii=False).encode()
    for row in run_rows:
        assert all(0 <= row[name] <= MOST_TOKENS for name in ("InputTokens", "OutputTokens"))
        assert all(len(row[name]) <= 128 for name in ("Model", "Provider", "Prompt", "ServiceVersion"))


@pytest.mark.parametrize("value", [HALF, json.dumps(HALF), DEEP, nested(5), [HALF], 10**400, b"\xff", {HALF: HALF}])
@pytest.mark.parametrize("spoken", SPOKEN, ids=[one.name for one in SPOKEN])
def test_one_hostile_value_in_every_attribute(spoken: Spoken, value: object) -> None:
    """What is then stored can be encoded."""
    kept = changed(spoken.spans(), lambda span: {key: value for key in KNOWN if key in span.attributes})
    more = changed(spoken.spans(), lambda _: dict.fromkeys(KNOWN, value))
    for spans in (kept, more):
        found = all_of_it(spans)
        assert json.dumps(found, ensure_ascii=False).encode()


@settings(max_examples=60, deadline=None)
@given(SPANS, st.dictionaries(st.text(min_size=1, max_size=20), VALUES, max_size=6))
def test_unknown_attributes_change_nothing(spoken: Spoken, unknown: dict[str, Any]) -> None:
    """Whatever a program notes on its spans beside what the conventions know."""
    new = {f"acme.{key}": value for key, value in unknown.items()}
    spans = spoken.spans(REFUSED, DONE)
    assert all_of_it(changed(spans, lambda _: new)) == all_of_it(spans)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(KINDS)), VALUES, st.text(max_size=30))
def test_kinds_that_nobody_knows_are_none(kind: str, value: Any, name: str) -> None:
    """A kind of another type, or of another word, raises nothing; spans are read live as they are from a store."""
    for told in (value, [value], {"x": value}):
        span = Span("f" * 32, "a" * 16, name=name, attributes={kind: told})
        assert role(name, span.attributes) is role_of(span) or name == "overclaim.claim"
        live_tool_name(name, span.attributes)
        all_of_it([span])


@pytest.mark.parametrize("spoken", SPOKEN, ids=[one.name for one in SPOKEN])
def test_a_megabyte_of_everything(spoken: Spoken) -> None:
    """In every attribute of the convention, content or not; what is stored of it stays small."""
    spans = spoken.spans(REFUSED, HONEST)
    long = "x " * 500_000

    def grown(span: Span) -> dict[str, object]:
        return {key: f"{value}{long}" if isinstance(value, str) else value
                for key, value in span.attributes.items() if key not in KINDS}  # fmt: skip

    run_rows, call_rows = all_of_it(changed(spans, grown))
    kept = [row[name] for row in run_rows for name in RUN_COLUMNS if name != "Agent"]
    kept += [row["ToolVersion"] for row in call_rows]
    assert len(repr(kept)) < 4_000


@settings(max_examples=60, deadline=None)
@given(SPANS, st.from_regex(r"Zq[A-Za-z0-9]{10,20}", fullmatch=True), st.booleans())
def test_nothing_but_hashes_is_kept(spoken: Spoken, secret: str, content: bool) -> None:
    """Of what instructions, arguments, results and requests say, and of what sessions are called; content on or off."""
    told = spoken.told(secret) if spoken.told else {}
    own = {TOOL: spoken.given({"holder": secret}) | spoken.returned({"renewed": True, "note": secret}), MODEL: told}
    sessions = dict.fromkeys(keys("session"), secret)
    spans = changed(
        spoken.spans(content=content), lambda span: sessions | (own.get(span.span_id, {}) if content else {})
    )
    run_rows, call_rows = all_of_it(spans)
    assert secret not in repr([run_rows, call_rows])
