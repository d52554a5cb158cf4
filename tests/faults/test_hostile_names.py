"""Names that nobody chose: of tools that a model made up, of calls, agents and services. All of it stays bounded."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import overclaim
from overclaim._hooks import agent_run, tool_call

NAMES = [
    "x" * 1_000_000,
    "a\nb\r\0c",
    "\u202eevil",
    "\ud800",
    "",
    " ",
    "é" * 500,
    "a" * 300 + "\n",
    "{}%s%n",
    "x" * 40 + "é",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_any_name_of_a_tool(telemetry: Any, name: str) -> None:
    """A call by any name is one call with a short printable name, which can be sent."""
    scope = agent_run(name, model=name)
    call = tool_call(name, {}, call_id=name, description=name)
    assert call is not None
    assert scope is not None
    call.returned({"ok": True})
    scope.returned("Done.")
    assert len(telemetry.spans) >= 2
    for span in telemetry.spans:
        assert str(span.attributes).encode()
        assert len(span.name) <= 256 + len("execute_tool ")
        assert span.name.isprintable()
        assert all(len(str(one)) <= 600 for one in span.attributes.values())


def test_any_number_of_names_is_bounded(telemetry: Any) -> None:
    """Thousands of made-up tools and agents share one name in the metrics, and leave little memory behind."""
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader])
    overclaim.instrument(tracer_provider=telemetry.provider, meter_provider=meters)

    def calls(first: int, count: int) -> None:
        for number in range(first, first + count):
            scope = agent_run(f"agent {number}")
            call = tool_call(f"tool_{number}" + "x" * 5000, {f"k{number}": number}, call_id=f"c{number}")
            for one in (call, scope):
                if one is not None:
                    one.returned({"ok": True})
            telemetry.exporter.clear()

    calls(0, 2200)
    tracemalloc.start()
    calls(10_000, 300)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 4_000_000
    (metrics,) = reader.get_metrics_data().resource_metrics[0].scope_metrics  # type: ignore[union-attr]
    assert all(len(list(one.data.data_points)) <= 2100 for one in metrics.metrics)
    meters.shutdown()


def test_any_name_of_a_foreign_span(telemetry: Any) -> None:
    """A span of another instrumentor with an endless name costs no more than a short one."""
    given = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x\n" * 500_000}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "y\n" * 500_000}
    began = time.thread_time()
    with telemetry.tracer.start_as_current_span("invoke_agent " + "z" * 1_000_000, attributes=agent):
        for _ in range(3):
            with telemetry.tracer.start_as_current_span("execute_tool " + "x" * 1_000_000, attributes=given):
                pass
    assert time.thread_time() - began < 1
    ours = [value for span in telemetry.spans for key, value in span.attributes.items() if key.startswith("overclaim.")]
    assert ours
    assert all(len(str(one)) <= 600 for one in ours)


@pytest.mark.parametrize("service", [object(), b"shop", 5, ["shop"], "x" * 1_000_000, "a\nb", ""])
def test_any_service_name(telemetry: Any, service: Any) -> None:
    """Whatever is given as a name of the service, calls are watched."""
    overclaim.instrument(tracer_provider=telemetry.provider, service_name=service)

    @overclaim.tool
    def echo(text: str) -> str:
        return text

    assert echo("a") == "a"
    assert telemetry.one("execute_tool echo").attributes["overclaim.call.args_shape"]


VARIABLES = (
    "OTEL_TRACES_EXPORTER OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROTOCOL OTEL_SDK_DISABLED"
    " OVERCLAIM_EXPECTATIONS OVERCLAIM_HASH_KEY OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    " OTEL_BSP_SCHEDULE_DELAY OTEL_SERVICE_NAME"
)


@pytest.mark.parametrize(
    "value", ["x" * 100_000, "a\nb\x1b[31m", "\udcff", "http://bob:Hq7hunter2Zx@[", "-1", "%", ","]
)
@pytest.mark.parametrize("variable", VARIABLES.split())
def test_any_environment(
    telemetry: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str, value: str
) -> None:
    """No variable stops a program or fills its log, and its secrets stay out of it."""
    overclaim.uninstrument()
    monkeypatch.setenv(variable, value)
    overclaim.instrument(tracer_provider=telemetry.provider)

    @overclaim.tool
    def echo(text: str) -> str:
        return text

    assert echo("a") == "a"
    assert all(len(one.getMessage()) < 1000 for one in caplog.records)
    assert "Hq7hunter2Zx" not in caplog.text
