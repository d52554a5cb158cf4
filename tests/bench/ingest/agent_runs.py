"""The spans that are sent: runs of agents, about 15 attributes on calls, encoded as the stock SDK does it."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

SPANS_PER_RUN = 13


@dataclass(frozen=True, slots=True)
class Body:
    """One request: its bytes, and how many spans are in it."""

    content: bytes
    spans: int


def bodies(spans: int, batch: int, *, as_json: bool = False, packed: bool = False) -> list[Body]:
    """Requests of `batch` spans that carry so many."""
    return list(_bodies(finished_spans(spans), batch, as_json, packed))


def _bodies(spans: Sequence[ReadableSpan], batch: int, as_json: bool, packed: bool) -> Iterator[Body]:
    for start in range(0, len(spans), batch):
        some = spans[start : start + batch]
        message = encode_spans(some)
        content = otlp_json(message) if as_json else message.SerializeToString()
        yield Body(gzip.compress(content, 6) if packed else content, len(some))


def finished_spans(count: int) -> list[ReadableSpan]:
    """So many spans of agent runs."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "bench", "service.version": "1"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for number in range(count // SPANS_PER_RUN + 1):
        agent_run(provider.get_tracer("bench", "1"), number)
    return list(exporter.get_finished_spans())[:count]


def agent_run(tracer: Tracer, number: int) -> None:
    """One agent run: four turns of a model call and a tool call with an HTTP request below it."""
    with tracer.start_as_current_span("invoke_agent planner", attributes=agent()):
        for turn in range(4):
            with tracer.start_as_current_span("chat model-1", attributes=chat(number, turn)):
                pass
            with tracer.start_as_current_span("execute_tool search", attributes=call(number, turn)) as span:
                with tracer.start_as_current_span("GET", attributes=fetch(number)):
                    pass
                span.add_event("note", {"turn": turn})
                if number % 10 == 0:
                    span.set_status(Status(StatusCode.ERROR, "400"))


def agent() -> dict[str, Any]:
    """Attributes of a run."""
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}


def chat(number: int, turn: int) -> dict[str, Any]:
    """Attributes of a model call."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "model-1",
        "gen_ai.response.model": "model-1-2026",
        "gen_ai.provider.name": "example",
        "gen_ai.usage.input_tokens": 400 + number % 97,
        "gen_ai.usage.output_tokens": 40 + turn,
        "gen_ai.request.temperature": 0.3,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.response.id": f"answer-{number}-{turn}",
        "server.address": "model.example",
        "server.port": 443,
        "gen_ai.conversation.id": f"talk-{number}",
    }


def call(number: int, turn: int) -> dict[str, Any]:
    """Attributes of a tool call."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": f"call-{number}-{turn}",
        "gen_ai.tool.call.arguments": json.dumps({"query": f"word {number}" * 3, "limit": 10}),
        "gen_ai.tool.call.result": json.dumps({"items": list(range(20)), "text": "y" * (number % 120)}),
        "overclaim.claimed.outcome": "success",
        "overclaim.observed.outcome": "success",
        "overclaim.observed.grade": "inferred",
        "overclaim.evidence.kind": ["http_status"],
        "overclaim.evidence.rule": ["http.status"],
        "overclaim.evidence.value": ["200"],
        "overclaim.call.operation": f"{number:016x}",
        "overclaim.call.effect": "read",
        "overclaim.run.id": f"run-{number}",
    }


def fetch(number: int) -> dict[str, Any]:
    """Attributes of an HTTP request."""
    return {
        "http.request.method": "GET",
        "url.full": f"https://api.example/v1/items/{number}",
        "server.address": "api.example",
        "server.port": 443,
        "http.response.status_code": 200,
        "network.protocol.version": "1.1",
    }


def otlp_json(message: Any) -> bytes:
    """A request in OTLP/JSON: protobuf's JSON with hex ids."""
    data = MessageToDict(message, use_integers_for_enums=True)
    for resource in data["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in {"traceId", "spanId", "parentSpanId"} & span.keys():
                    span[key] = base64.b64decode(span[key]).hex()
    return json.dumps(data).encode()
