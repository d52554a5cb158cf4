"""One tool call by an SDK that sends as it does in production, then the end of the process: PEER ENDPOINT.

Prints the time before the interpreter exits; exit code 7 has to come out.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from peers import CLOSED, ENVIRONMENT

logging.disable(logging.CRITICAL)


def _overclaim(endpoint: str) -> Any:
    import overclaim

    overclaim.instrument(endpoint=endpoint)
    return overclaim.tool


_overclaim_content = _overclaim


def _otel(endpoint: str) -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    tracer = provider.get_tracer("bench")
    return lambda function: tracer.start_as_current_span("call")(function)


def _langfuse(_: str) -> Any:
    from langfuse import observe

    return observe(as_type="tool")


def _traceloop(endpoint: str) -> Any:
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import tool

    Traceloop.init(app_name="bench", api_endpoint=endpoint, api_key="x", telemetry_enabled=False)
    return tool(name="call")


def _logfire(endpoint: str) -> Any:
    import logfire

    there = logfire.AdvancedOptions(base_url=endpoint)
    logfire.configure(send_to_logfire=True, token="pylf_v1_us_x", console=False, advanced=there)
    return logfire.instrument()


def _openinference(endpoint: str) -> Any:
    from openinference.instrumentation import TracerProvider
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    return provider.get_tracer("bench").tool


def _openlit(endpoint: str) -> Any:
    import openlit

    openlit.init(otlp_endpoint=endpoint, disable_metrics=True, disable_events=True)
    return openlit.trace


def _lmnr(endpoint: str) -> Any:
    from lmnr import Laminar, observe

    port = int(endpoint.rpartition(":")[2])
    Laminar.initialize(base_url="http://127.0.0.1", http_port=port, force_http=True, instruments=set())
    return observe()


def _agentops(endpoint: str) -> Any:
    import agentops
    from agentops.sdk.decorators import tool

    key, there = "00000000-0000-0000-0000-000000000000", f"{endpoint}/v1/traces"
    agentops.init(
        api_key=key, endpoint=endpoint, exporter_endpoint=there, auto_start_session=False, instrument_llm_calls=False
    )
    return tool


def _langsmith(_: str) -> Any:
    from langsmith import traceable

    return traceable(run_type="tool")


def _opik(_: str) -> Any:
    import opik

    return opik.track(type="tool")


def _mlflow(_: str) -> Any:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///mlflow_{os.getpid()}.db")
    return mlflow.trace


def call(x: int) -> int:
    """The tool."""
    return x


if __name__ == "__main__":
    name, endpoint = sys.argv[1:]
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value.replace(CLOSED, endpoint))
    made: Callable[[str], Any] = globals()[f"_{name}"]
    made(endpoint)(call)(1)
    print(f"\n{time.time()}", flush=True)
    sys.exit(7)
