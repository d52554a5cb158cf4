"""`instrument()` and `uninstrument()`: twice, off, by entry point, with every kind of provider."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from importlib.metadata import entry_points
from typing import Any

import pytest
from opentelemetry import trace

import overclaim
from overclaim._instrument import OverclaimInstrumentor


@overclaim.tool
def ping() -> str:
    """Answer."""
    return "pong"


def in_new_process(code: str, **env: str) -> str:
    """The standard output of a Python program; global providers can be set only once per process."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin", **env}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_twice_is_once(telemetry: Any) -> None:
    """A second `instrument()` adds no second processor and no second span."""
    overclaim.instrument(tracer_provider=telemetry.provider)
    ping()
    with telemetry.tracer.start_as_current_span("t", attributes={"gen_ai.operation.name": "execute_tool"}):
        pass
    assert len(telemetry.spans) == 2


def test_uninstrument_and_back(telemetry: Any) -> None:
    """After `uninstrument()` nothing is made or labelled; `instrument()` brings it back."""
    overclaim.uninstrument()
    ping()
    with telemetry.tracer.start_as_current_span("t", attributes={"gen_ai.operation.name": "execute_tool"}):
        pass
    (span,) = telemetry.spans
    assert not any(name.startswith("overclaim.") for name in span.attributes)
    overclaim.instrument(tracer_provider=telemetry.provider)
    ping()
    assert telemetry.one("execute_tool ping")


def test_only_what_we_switched_on_is_switched_off(telemetry: Any) -> None:
    """An instrumentor that the user switched on stays on."""
    import requests  # noqa: F401 # ours is switched on when the program imports the client
    from opentelemetry.instrumentation.requests import RequestsInstrumentor

    assert RequestsInstrumentor().is_instrumented_by_opentelemetry
    overclaim.uninstrument()
    assert not RequestsInstrumentor().is_instrumented_by_opentelemetry
    RequestsInstrumentor().instrument(tracer_provider=telemetry.provider)
    try:
        overclaim.instrument(tracer_provider=telemetry.provider)
        overclaim.uninstrument()
        assert RequestsInstrumentor().is_instrumented_by_opentelemetry
    finally:
        RequestsInstrumentor().uninstrument()


def test_provider_without_processors_still_gives_tool_spans(telemetry: Any) -> None:
    """A provider that takes no span processors disables the gathering, not the tool spans."""

    class Bare(trace.TracerProvider):
        def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
            return telemetry.provider.get_tracer(*args, **kwargs)

    overclaim.uninstrument()
    overclaim.instrument(tracer_provider=Bare())
    assert ping() == "pong"
    assert telemetry.one("execute_tool ping").attributes["overclaim.observed.outcome"] == "success"


def test_provider_that_fails_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    """`instrument()` never raises; it says in one warning what went wrong."""

    class Broken(trace.TracerProvider):
        def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
            raise RuntimeError("no tracer today")

    overclaim.instrument(tracer_provider=Broken())
    assert ping() == "pong"
    assert "not instrumented: RuntimeError: no tracer today" in caplog.text


def test_disabled_sdk_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """OTEL_SDK_DISABLED=true: tools run and nothing is set up."""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "TRUE")
    before = trace.get_tracer_provider()
    overclaim.instrument()
    assert ping() == "pong"
    assert trace.get_tracer_provider() is before


def test_own_provider_where_none_is_set() -> None:
    """Without a provider, one is made with the given service name, and it is the global one."""
    out = in_new_process(
        """
        import overclaim
        overclaim.instrument(service_name="shop")
        from opentelemetry import trace
        print(trace.get_tracer_provider().resource.attributes["service.name"])
        """,
        OTEL_TRACES_EXPORTER="none",
    )
    assert out.strip() == "shop"


def test_existing_provider_is_reused() -> None:
    """The user's provider stays the global one and gets our processor."""
    out = in_new_process(
        """
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        mine, kept = TracerProvider(), InMemorySpanExporter()
        mine.add_span_processor(SimpleSpanProcessor(kept))
        trace.set_tracer_provider(mine)
        import overclaim
        overclaim.instrument(service_name="ignored")
        overclaim.tool(lambda: 1)()
        print(trace.get_tracer_provider() is mine, len(kept.get_finished_spans()))
        """
    )
    assert out.strip() == "True 1"


def test_console_exporter_by_variable() -> None:
    """OTEL_TRACES_EXPORTER=console prints the spans, and OTEL_SERVICE_NAME names the service."""
    out = in_new_process(
        """
        import overclaim
        overclaim.instrument()
        overclaim.tool(name="ping")(lambda: 1)()
        """,
        OTEL_TRACES_EXPORTER="console",
        OTEL_SERVICE_NAME="from-env",
    )
    assert "execute_tool ping" in out
    assert "from-env" in out


def test_entry_point_loads_the_instrumentor(telemetry: Any) -> None:
    """`opentelemetry-instrument` finds one instrumentor that switches us on and off."""
    (point,) = entry_points(group="opentelemetry_instrumentor", name="overclaim")
    instrumentor = point.load()()
    assert instrumentor is OverclaimInstrumentor()
    assert not list(instrumentor.instrumentation_dependencies())
    overclaim.uninstrument()
    instrumentor.instrument(skip_dep_check=True, tracer_provider=telemetry.provider)
    assert instrumentor.is_instrumented_by_opentelemetry
    ping()
    instrumentor.uninstrument()
    assert len(telemetry.spans) == 1
