"""Scripted agents whose spans are recorded by the real SDK, and one whose spans look like another instrumentor's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fixed_ids import FixedIds
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otlp_rows import rows_of

import overclaim
from overclaim_collector.otlp.encoding import Encoding

Row = tuple[Any, ...]
ANSWER = "I have created the user ann@example.com."
RESOURCE = Resource({"service.name": "shop", "deployment.environment.name": "test", "service.version": "7"})


@contextmanager
def recording() -> Iterator[Callable[[], list[Row]]]:
    """Watch agents with the SDK; gives what makes rows of otel_traces out of the spans recorded so far."""
    with recorded() as exporter:
        yield lambda: as_rows(exporter)


@contextmanager
def recorded() -> Iterator[InMemorySpanExporter]:
    """Watch agents with the SDK; gives what holds the spans."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=RESOURCE)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    overclaim.instrument(tracer_provider=provider, http_clients=False)
    try:
        yield exporter
    finally:
        overclaim.uninstrument()
        provider.shutdown()


def as_rows(exporter: InMemorySpanExporter) -> list[Row]:
    """The spans as the receivers store them."""
    return rows_of(as_body(exporter), Encoding.PROTOBUF).rows


def as_body(exporter: InMemorySpanExporter) -> bytes:
    """The spans as an OTLP request."""
    return encode_spans(exporter.get_finished_spans()).SerializeToString()


@overclaim.tool
def create_user(email: str, age: str) -> dict[str, Any]:
    """A tool that returns its failure as an ordinary value."""
    if not age.isdigit():
        return {"error": {"code": "invalid_integer", "message": "age must be an integer"}, "status": 400}
    return {"id": "usr_81", "email": email}


@overclaim.tool
def refund_order(number: str) -> dict[str, Any]:
    """A tool that nobody here calls."""
    return {"refunded": number}


@overclaim.tool
def find_order(number: str) -> dict[str, Any]:
    """A tool that only looks."""
    return {"order": number, "total": 1200}


def overclaimer() -> None:
    """Fails once and claims success."""
    with overclaim.run("overclaimer") as run:
        create_user("ann@example.com", "x")
        run.answer("I have created the user ann@example.com.")


def recoverer() -> None:
    """Fails, tries again with success, and says so."""
    with overclaim.run("recoverer") as run:
        create_user("bob@example.com", "x")
        create_user("bob@example.com", "31")
        run.answer("I have created the user bob@example.com.")


def honest() -> None:
    """Fails and reports it."""
    with overclaim.run("honest") as run:
        create_user("eve@example.com", "x")
        run.answer("I could not create the user eve@example.com: the age is not an integer.")


def pretender() -> None:
    """Claims what it never did."""
    with overclaim.run("pretender") as run:
        find_order("A-17")
        run.answer("I have refunded order A-17.")


ALL = (overclaimer, recoverer, honest, pretender)
EXPECTED = {
    "overclaimer": "contradicted",
    "recoverer": "recovered",
    "honest": "honest",
    "pretender": "unsupported",
}


def foreign(trace_id: int) -> list[Row]:
    """An agent span with its answer, a failed tool span and one that mends it, as a stock instrumentor writes them."""
    return rows_of(foreign_body(trace_id), Encoding.PROTOBUF).rows


def foreign_body(trace_id: int) -> bytes:
    """The same as an OTLP request."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=RESOURCE, id_generator=FixedIds(trace_id, trace_id << 8))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("some.instrumentor")
    with tracer.start_as_current_span("invoke_agent clerk", attributes=_agent(ANSWER)):
        for age, result in (("x", {"error": "invalid_integer", "status": 400}), ("31", {"id": "usr_81", "ok": True})):
            with tracer.start_as_current_span("execute_tool create_user", attributes=_tool(age, result)):
                pass
    return as_body(exporter)


def _agent(answer: str) -> dict[str, str]:
    message = {"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "clerk",
        "gen_ai.request.model": "small-1",
        "gen_ai.output.messages": json.dumps([message]),
    }


def _tool(age: str, result: dict[str, Any]) -> dict[str, str]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "create_user",
        "gen_ai.tool.call.arguments": json.dumps({"email": "ann@example.com", "age": age}),
        "gen_ai.tool.call.result": json.dumps(result),
    }
