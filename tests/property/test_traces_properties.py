from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from overclaim.outcome.judge import judge
from overclaim.reading.traces import Link, Span, runs

SECOND = 1_000_000_000
RESULTS = ('{"ok": true}', '{"error": "refused", "status": 400}', '{"status": "queued"}', "[]", None)
ANSWERS = ("I created the order A-1.", "It failed.", "Done.", None)
Draw = Callable[..., Any]


def _attributes(draw: Draw, role: str) -> dict[str, object]:
    """What a span of this role carries."""
    if role == "agent":
        answer = draw(st.sampled_from(ANSWERS))
        said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
        content = {"gen_ai.output.messages": json.dumps(said)} if answer else {}
        return {"gen_ai.operation.name": "invoke_agent"} | content
    if role == "tool":
        result = draw(st.sampled_from(RESULTS))
        name = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": draw(st.sampled_from(["create_order", "get_order"])),
        }
        id = {"gen_ai.tool.call.id": draw(st.sampled_from(["c1", "c2"]))}
        return name | id | ({"gen_ai.tool.call.result": result} if result else {})
    if role == "http":
        return {"http.request.method": "POST", "url.full": "https://a.example.com/x"} | {
            "http.response.status_code": draw(st.sampled_from([200, 404, 500]))
        }
    return {"overclaim.claim.outcome": "success", "overclaim.claim.action": "create"} if role == "claim" else {}


@st.composite
def traces(draw: Draw) -> list[Span]:
    """Spans of up to two traces with random trees, roles, times and gaps."""
    spans: list[Span] = []
    for number in range(draw(st.integers(1, 12))):
        trace = f"{draw(st.integers(1, 2)):032x}"
        role = draw(st.sampled_from(["agent", "tool", "tool", "http", "claim", "plain"]))
        start = draw(st.integers(0, 5)) * SECOND
        spans.append(
            Span(
                trace,
                f"{number + 1:016x}",
                draw(st.sampled_from(["", *(f"{n:016x}" for n in range(1, 14))])),
                "overclaim.claim" if role == "claim" else role,
                kind=draw(st.sampled_from(["Internal", "Client", "Server"])),
                service=draw(st.sampled_from(["a", "b"])),
                start_ns=start,
                end_ns=start + draw(st.integers(0, 5)) * SECOND,
                status=draw(st.sampled_from(["Unset", "Ok", "Error"])),
                attributes=_attributes(draw, role),
                links=[Link(trace, f"{draw(st.integers(1, 12)):016x}")] if role == "claim" else [],
            )
        )
    return spans


@settings(max_examples=150, deadline=None)
@given(traces(), st.data())
def test_any_order_and_any_duplication_give_the_same_runs(spans: list[Span], data: st.DataObject) -> None:
    """Delivery is at least once and in no order; runs and verdicts must not notice."""
    extra = data.draw(st.lists(st.sampled_from(spans), max_size=6))
    mixed = data.draw(st.permutations([*spans, *extra]))
    assert runs(mixed) == runs(spans)
    assert [judge(run) for run in runs(mixed)] == [judge(run) for run in runs(spans)]


@settings(max_examples=100, deadline=None)
@given(traces())
def test_every_tool_span_belongs_to_one_call_at_most_and_calls_are_numbered(spans: list[Span]) -> None:
    """No tool span is counted twice, and the indexes of a run are 0, 1, 2, ..."""
    found = runs(spans)
    ids = [(run.trace_id, call.span_id) for run in found for call in run.calls]
    assert len(ids) == len(set(ids))
    for run in found:
        assert [call.index for call in run.calls] == list(range(len(run.calls)))


@settings(max_examples=100, deadline=None)
@given(traces(), st.data())
def test_a_trace_is_read_alike_alone_and_among_others(spans: list[Span], data: st.DataObject) -> None:
    """Traces do not touch each other."""
    trace = data.draw(st.sampled_from(sorted({span.trace_id for span in spans})))
    alone = runs(span for span in spans if span.trace_id == trace)
    assert alone == [run for run in runs(spans) if run.trace_id == trace]


@settings(max_examples=100, deadline=None)
@given(traces())
def test_a_store_that_keeps_only_texts_gives_the_same_runs(spans: list[Span]) -> None:
    """Columns of strings hold numbers as digits and lists as JSON."""
    texts = [replace(span, attributes={k: _text(v) for k, v in span.attributes.items()}) for span in spans]
    assert runs(texts) == runs(spans)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
