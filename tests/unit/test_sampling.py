"""Sampling drops spans, not counts: the counters and the guard see what no span shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import NoOpTracerProvider

import overclaim
from overclaim import Verdict
from overclaim._hooks import agent_run, tool_call

SAMPLERS = [ALWAYS_ON, ALWAYS_OFF, TraceIdRatioBased(0), ParentBased(TraceIdRatioBased(0.5))]


@overclaim.tool
def book_table(guests: int) -> dict[str, Any]:
    """Book a table."""
    return {"ok": False, "error": "no table"} if guests > 8 else {"id": "t-1", "status": "booked"}


@overclaim.tool
def plan_dinner(guests: int) -> dict[str, Any]:
    """A tool that calls another one."""
    return {"table": book_table(guests)["ok"]}


class Counted:
    """The counters of one test."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.provider = MeterProvider([self._reader], shutdown_on_exit=False)

    def points(self, name: str) -> dict[tuple[object, ...], int]:
        """The sums of a counter, by the values of its attributes in the order of their names."""
        data = self._reader.get_metrics_data()
        metrics = [one for res in data.resource_metrics for scope in res.scope_metrics for one in scope.metrics]
        points = [point for one in metrics if one.name == name for point in one.data.data_points]
        return {tuple(value for _, value in sorted(point.attributes.items())): point.value for point in points}


@pytest.fixture
def counted() -> Iterator[Counted]:
    """Counters that somebody reads."""
    made = Counted()
    yield made
    overclaim.uninstrument()
    made.provider.shutdown()


def watch(sampler: Sampler, counted: Counted) -> InMemorySpanExporter:
    """Instrument with a sampler; gives what is exported."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    overclaim.instrument(tracer_provider=provider, meter_provider=counted.provider)
    return exporter


def dinners() -> None:
    """20 runs: in half of them the booking fails, and all say that it went well."""
    for guests in (2, 12) * 10:
        with overclaim.run("host") as run:
            book_table(guests)
            run.answer("I booked the table.")


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda one: one.get_description())
def test_counters_are_the_same_under_every_sampler(sampler: Sampler, counted: Counted) -> None:
    """Calls by outcome and runs by verdict, however few of their spans leave."""
    watch(sampler, counted)
    dinners()
    assert counted.points("overclaim.calls") == {
        ("host", "book_table", "failure", "failure"): 10,
        ("host", "book_table", "success", "success"): 10,
    }
    assert counted.points("overclaim.runs") == {
        ("host", "success", "failure", "contradicted"): 10,
        ("host", "success", "success", "supported"): 10,
    }


def test_a_provider_that_makes_no_spans_counts_as_well(counted: Counted) -> None:
    """The API's own provider, which an application without tracing has."""
    overclaim.instrument(tracer_provider=NoOpTracerProvider(), meter_provider=counted.provider)
    dinners()
    assert sum(counted.points("overclaim.calls").values()) == 20
    assert sum(counted.points("overclaim.runs").values()) == 20


def test_hooked_calls_count_too(counted: Counted) -> None:
    """A framework's hook tells of a call and of a run whose spans the sampler dropped."""
    watch(ALWAYS_OFF, counted)
    run = agent_run("host")
    assert run is not None
    call = tool_call("book_table", {"guests": 12})
    assert call is not None
    call.returned({"error": "no table", "status": 409})
    run.returned("I could not book it.")
    assert sum(counted.points("overclaim.calls").values()) == 1
    assert sum(counted.points("overclaim.runs").values()) == 1


def test_nested_calls_keep_their_places_without_spans(counted: Counted) -> None:
    """A tool inside a tool leaves its run's calls in order, and evidence goes to the call around."""
    watch(ALWAYS_OFF, counted)
    with overclaim.run("host"):
        with pytest.raises(KeyError):
            plan_dinner(2)
        judgement = overclaim.check("I booked the table.")
    assert [call.tool for call in judgement.run.calls] == ["book_table", "plan_dinner"]


def test_the_guard_judges_runs_that_are_sampled_out(counted: Counted) -> None:
    """Otherwise it would guard one run in a hundred."""
    watch(ALWAYS_OFF, counted)
    with overclaim.run("host"):
        book_table(12)
        assert overclaim.check("I booked the table.").verdict is Verdict.CONTRADICTED


def test_a_sampled_run_with_an_unsampled_call_is_incomplete(counted: Counted) -> None:
    """A sampler that drops single spans: the collector must not take the call for one that never was."""

    class DropsCalls(Sampler):
        def should_sample(self, parent_context: Any, trace_id: int, name: str, *args: Any, **kwargs: Any) -> Any:
            inner = ALWAYS_OFF if name.startswith("execute_tool") else ALWAYS_ON
            return inner.should_sample(parent_context, trace_id, name, *args, **kwargs)

        def get_description(self) -> str:
            return "drops calls"

    exporter = watch(DropsCalls(), counted)
    with overclaim.run("host") as run:
        book_table(2)
        run.answer("I booked the table.")
    (span,) = (one for one in exporter.get_finished_spans() if one.name == "invoke_agent host")
    assert "overclaim.run.spans" not in span.attributes


def test_many_tools_share_a_name_in_the_counters(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that makes up tool names cannot fill the memory of the metrics."""
    monkeypatch.setattr("overclaim._metrics._MOST_PAIRS", 0)
    watch(ALWAYS_ON, counted)
    for number in range(5):
        call = tool_call(f"made_up_{number}", {})
        assert call is not None
        call.returned("ok")
    assert {key[0] for key in counted.points("overclaim.calls")} == {"_OTHER"}
