"""Spans recorded by the real OpenTelemetry SDK, for the tests of the SDK."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import overclaim


class Telemetry:
    """A tracer provider of the real SDK that keeps the spans it would send."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("somebody.else")

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """All spans that ended, in the order of their ends."""
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of that name."""
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only span of that name."""
        (span,) = self.named(name)
        return span


@pytest.fixture(autouse=True)
def nothing_current() -> Iterator[None]:
    """Each test begins with nothing current, whatever one before it left."""
    token = attach(Context())
    yield
    detach(token)


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    """Spans of one test: overclaim watches a provider of its own."""
    made = Telemetry()
    overclaim.instrument(tracer_provider=made.provider)
    try:
        yield made
    finally:
        overclaim.uninstrument()
        made.provider.shutdown()
