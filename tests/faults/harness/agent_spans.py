"""Spans of an agent that overclaims, as a stock instrumentor writes them: one run, two calls, a contradicted claim."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

ANSWER = "I have created the user ann@example.com."
CALLS_PER_RUN = 2
FEWEST_SPANS = 1 + CALLS_PER_RUN


class Agents:
    """Runs agents one after another. Not for several threads."""

    def __init__(self, service: str) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(resource=Resource({"service.name": service}))
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._tracer = provider.get_tracer("some.instrumentor", "1")

    def run(self, spans: int) -> tuple[str, Sequence[ReadableSpan]]:
        """The id of one run's trace, and its spans: so many, numbered, of which most are requests below the calls."""
        self._exporter.clear()
        with self._tracer.start_as_current_span("invoke_agent clerk", attributes=_agent()):
            with _call(self._tracer, "find_user", {"found": False}):
                pass
            with _call(self._tracer, "create_user", {"error": "invalid_integer", "status": 400}):
                for number in range(spans - FEWEST_SPANS):
                    self._tracer.start_span(f"GET {number}", attributes={"number": number}).end()
        made = self._exporter.get_finished_spans()
        context = made[0].context
        assert context
        return f"{context.trace_id:032x}", made


@contextmanager
def _call(tracer: Tracer, tool: str, result: object) -> Iterator[None]:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.arguments": json.dumps({"email": "ann@example.com", "age": "x"}),
        "gen_ai.tool.call.result": json.dumps(result),
    }
    with tracer.start_as_current_span(f"execute_tool {tool}", attributes=attributes):
        yield


def _agent() -> dict[str, str]:
    message = {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "clerk",
        "gen_ai.output.messages": json.dumps([message]),
    }
