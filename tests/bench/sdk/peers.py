"""Each SDK set up as its documentation says, with its spans kept in memory.

Runs in the environment of the SDK; nothing here imports more than one of them. Endpoints are closed ports of this host.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CLOSED = "http://127.0.0.1:9"
ENVIRONMENT = {
    "AGENTOPS_LOG_LEVEL": "CRITICAL", "DO_NOT_TRACK": "true", "LANGFUSE_BASE_URL": CLOSED, "LANGFUSE_HOST": CLOSED,
    "LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-1", "LANGSMITH_API_KEY": "x",
    "LANGSMITH_ENDPOINT": CLOSED, "LANGSMITH_OTEL_ENABLED": "true", "LANGSMITH_OTEL_ONLY": "true",
    "LANGSMITH_TRACING": "true", "LMNR_PROJECT_API_KEY": "x" * 64, "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false", "OPIK_ANALYTICS_ENABLED": "false", "OPIK_SENTRY_ENABLE": "false",
    "OPIK_URL_OVERRIDE": CLOSED, "TRACELOOP_TELEMETRY": "false",
}  # fmt: skip


@dataclass
class Seen:
    """One span: its name, its status, the ids of its trace and parent, all its attributes and events as text."""

    name: str
    status: str
    trace: object
    parent: object
    text: str
    attributes: dict[str, Any]


@dataclass
class Peer:
    """One SDK. decorate: makes a tool of a function. spans: those that ended since the last `clear`."""

    decorate: Callable[[Any], Any]
    spans: Callable[[], list[Seen]]
    clear: Callable[[], object]


def set_up(name: str, endpoint: str | None = None) -> Peer:
    """Set up the SDK of that name. endpoint: where it sends, for those that are only to exit."""
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value.replace(CLOSED, endpoint) if endpoint else value)
    return globals()[f"_{name}"](endpoint or CLOSED)


def kept() -> tuple[Any, Any]:
    """An exporter that keeps spans, and the processor that hands them to it at once."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    return exporter, SimpleSpanProcessor(exporter)


def _provider() -> tuple[Any, Any]:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    exporter, processor = kept()
    provider = TracerProvider()
    provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)
    return provider, exporter


def _of(decorate: Callable[[Any], Any], exporter: Any, flush: Callable[[], object] = lambda: None) -> Peer:
    def spans() -> list[Seen]:
        flush()
        return [_seen(span) for span in exporter.get_finished_spans()]

    def clear() -> None:
        flush()
        exporter.clear()

    return Peer(decorate, spans, clear)


def _seen(span: Any) -> Seen:
    attributes = dict(span.attributes or {})
    text = json.dumps(
        [attributes, span.status.description, [dict(e.attributes or {}) for e in span.events]], default=str
    )
    parent = span.parent.span_id if span.parent else None
    return Seen(span.name, span.status.status_code.name, span.context.trace_id, parent, text, attributes)


def _overclaim(_: str, *, content: bool = False) -> Peer:
    import overclaim

    provider, exporter = _provider()
    overclaim.instrument(tracer_provider=provider, capture_content=content)
    return _of(overclaim.tool, exporter)


def _overclaim_content(endpoint: str) -> Peer:
    return _overclaim(endpoint, content=True)


def _langfuse(_: str) -> Peer:
    from langfuse import Langfuse, observe

    provider, exporter = _provider()
    Langfuse(tracer_provider=provider, timeout=1)
    return _of(lambda function: observe(as_type="tool")(function), exporter)


def _traceloop(_: str) -> Peer:
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import tool

    exporter, _processor = kept()
    Traceloop.init(app_name="bench", exporter=exporter, disable_batch=True, telemetry_enabled=False)
    return _of(lambda function: tool(name=getattr(function, "__name__", "tool"))(function), exporter)


def _logfire(_: str) -> Peer:
    import logfire

    exporter, processor = kept()
    logfire.configure(send_to_logfire=False, console=False, additional_span_processors=[processor], metrics=False)
    return _of(lambda function: logfire.instrument(record_return=True)(function), exporter)


def _openinference(_: str) -> Peer:
    from openinference.instrumentation import TracerProvider

    exporter, processor = kept()
    provider = TracerProvider()
    provider.add_span_processor(processor)
    return _of(provider.get_tracer("bench").tool, exporter)


def _openlit(endpoint: str) -> Peer:
    import openlit

    _, exporter = _provider()
    openlit.init(disable_metrics=True, disable_events=True)
    return _of(openlit.trace, exporter)


def _lmnr(_: str) -> Peer:
    import lmnr.opentelemetry_lib.tracing as tracing
    from lmnr import Laminar, observe

    exporter, processor = kept()
    Laminar.initialize(base_url="http://127.0.0.1", http_port=9, grpc_port=9, force_http=True, instruments=set())
    tracing._tracer_provider.add_span_processor(processor)
    return _of(lambda function: observe(span_type="TOOL")(function), exporter)


def _agentops(endpoint: str) -> Peer:
    import agentops
    from agentops.sdk.core import tracer
    from agentops.sdk.decorators import tool

    exporter, processor = kept()
    key = "00000000-0000-0000-0000-000000000000"
    agentops.init(api_key=key, endpoint=endpoint, auto_start_session=False, instrument_llm_calls=False)
    tracer.provider.add_span_processor(processor)
    return _of(tool, exporter)


def _langsmith(endpoint: str) -> Peer:
    from langsmith import Client, traceable

    _, exporter = _provider()
    client = Client()

    def flush() -> None:
        client.flush()
        time.sleep(0.15)

    return _of(lambda function: traceable(run_type="tool", client=client)(function), exporter, flush)


def _mlflow(_: str) -> Peer:
    import mlflow
    from mlflow.entities import SpanType

    mlflow.set_tracking_uri(f"sqlite:///mlflow_{os.getpid()}.db")
    experiment = mlflow.set_experiment("bench").experiment_id
    read: set[str] = set()

    def spans() -> list[Seen]:
        mlflow.flush_trace_async_logging()
        found: list[Seen] = []
        for one in mlflow.search_traces(return_type="list", locations=[experiment]):
            if one.info.trace_id not in read:
                read.add(one.info.trace_id)
                found += [_seen_mlflow(span) for span in one.data.spans]
        return found

    return Peer(lambda function: mlflow.trace(span_type=SpanType.TOOL)(function), spans, spans)


def _seen_mlflow(span: Any) -> Seen:
    status = getattr(span.status.status_code, "value", str(span.status.status_code))
    text = json.dumps([span.attributes, span.status.description], default=str)
    return Seen(span.name, status, span.trace_id, span.parent_id, text, dict(span.attributes))


def _opik(_: str) -> Peer:
    import opik
    from opik.api_objects import local_recording

    recordings: list[Any] = []

    def begin() -> None:
        if recordings:
            recordings.pop()[0].__exit__(None, None, None)
        manager = local_recording.record_traces_locally()
        recordings.append((manager, manager.__enter__()))

    def spans() -> list[Seen]:
        found: list[Seen] = []
        for tree in recordings[-1][1].trace_trees:
            _walk_opik(tree.spans, tree.id, None, found)
        return found

    begin()
    return Peer(lambda function: opik.track(type="tool")(function), spans, begin)


def _walk_opik(spans: Any, trace: object, parent: object, found: list[Seen]) -> None:
    for span in spans:
        status = "ERROR" if span.error_info else "UNSET"
        text = json.dumps([span.input, span.output, span.error_info], default=str)
        found.append(Seen(span.name, status, trace, parent, text, {"input": span.input, "output": span.output}))
        _walk_opik(span.spans, trace, span.id, found)
