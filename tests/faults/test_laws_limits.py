"""Limits and samplers that take away from our spans: less may be known then, but nobody is accused for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult

import overclaim
from frameworks import Seen, sent

FAILED = {"error": {"code": "invalid"}, "status": 400}
LIMITS = [
    SpanLimits(max_span_attributes=count, max_attribute_length=length)
    for count in (None, 128, 16, 12, 8, 4, 1) for length in (None, 64, 32, 16, 8, 3)
] + [SpanLimits(max_events=0, max_links=0), SpanLimits(max_links=0, max_span_attributes=8)]  # fmt: skip


class Sampled(Sampler):
    """Decides the same each time, and gives the span these attributes instead of its own."""

    def __init__(self, decision: Decision, attributes: dict[str, Any] | None) -> None:
        self._result = decision, attributes

    def should_sample(self, *_: Any, **__: Any) -> SamplingResult:
        """As said."""
        decision, attributes = self._result
        return SamplingResult(decision, dict(attributes) if attributes is not None else None)

    def get_description(self) -> str:
        """Its name."""
        return "Sampled"


SAMPLERS = [
    Sampled(decision, attributes)
    for decision in Decision
    for attributes in (None, {}, {"sampler.rule": "x"}, {"gen_ai.operation.name": "chat", "gen_ai.tool.name": "other"})
]


@overclaim.tool
def create_order(number: int) -> dict[str, Any]:
    """Create an order; odd ones fail."""
    return FAILED if number % 2 else {"id": number, "status": "created"}


@overclaim.tool
def send_email(to: str) -> dict[str, Any]:
    """Send it."""
    return {"sent": True, "to": to}


def honest_agents() -> None:
    """Runs whose answers are true: after a success, a retry, a failure that is told, several deeds, nothing at all."""
    with overclaim.run("one") as run:
        create_order(2)
        run.answer("I created the order.")
    with overclaim.run("retry") as run:
        create_order(1)
        create_order(1 + 1)
        send_email("anna@example.org")
        run.answer("I created the order and sent the email to anna@example.org.")
    with overclaim.run("honest") as run:
        create_order(1)
        run.answer("The order could not be created: the request was invalid.")
    with overclaim.run("several") as run:
        for to in ("a@example.org", "b@example.org", "c@example.org"):
            send_email(to)
        run.answer("I sent the email to a@example.org, b@example.org and c@example.org.")
    with overclaim.run("talk") as run:
        run.answer("How can I help?")


def foreign_agent(tracer: Any) -> None:
    """The same by spans of another instrumentor: its tools' results are read off the spans, cut or not."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_order"}
    with tracer.start_as_current_span("invoke_agent helper", attributes=agent) as span:
        for result in ('{"error": null, "failed": 0, "id": 17, "message": "No errors."}', "No errors found: created"):
            with tracer.start_as_current_span("execute_tool create_order", attributes=tool) as call:
                call.set_attribute("gen_ai.tool.call.result", result)
        said = "I created the order. No error was reported, and it was not cancelled."
        span.set_attribute("gen_ai.output.messages", f'[{{"parts": [{{"type": "text", "content": "{said}"}}]}}]')


@pytest.fixture(autouse=True)
def quiet_sdk() -> Iterator[None]:
    """The OpenTelemetry SDK warns of each value that it cuts."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def seen(*, limits: SpanLimits | None = None, sampler: Sampler = ALWAYS_ON) -> Seen:
    """What a collector got of the honest agents, and makes of it."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler, span_limits=limits, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    overclaim.instrument(tracer_provider=provider, http_clients=False)
    try:
        honest_agents()
        foreign_agent(provider.get_tracer("somebody.else"))
    finally:
        overclaim.uninstrument()
        provider.shutdown()
    return sent(exporter.get_finished_spans())


def test_without_limits_the_honest_are_believed() -> None:
    """So that the other tests test something."""
    assert seen().verdicts.count("supported") >= 3


@pytest.mark.parametrize(
    "limits", LIMITS, ids=lambda one: f"{one.max_span_attributes}-{one.max_span_attribute_length}-{one.max_links}"
)
def test_what_a_limit_cuts_off_accuses_nobody(limits: SpanLimits) -> None:
    """Labels that are gone or cut make a run unsure, never a lie."""
    assert not [one for one in seen(limits=limits).judged if one.verdict.accuses]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda one: f"{one._result}")
def test_samplers_that_take_or_replace_attributes(sampler: Sampler) -> None:
    """The sampler decides which attributes a span begins with: it may leave ours out. Nobody is accused for that."""
    assert not [one for one in seen(sampler=sampler).judged if one.verdict.accuses]


def test_a_sampler_without_attributes_costs_no_tool_name() -> None:
    """A sampler that forgets to hand on the attributes would leave spans that nobody knows for a tool's."""
    found = seen(sampler=Sampled(Decision.RECORD_AND_SAMPLE, None))
    assert ("create_order", "failure") in found.calls
    assert found.verdicts.count("supported") >= 3


@pytest.mark.parametrize("sampler", [one for one in SAMPLERS if one._result[0] is not Decision.RECORD_AND_SAMPLE])
def test_the_guard_needs_no_span(sampler: Sampler) -> None:
    """Whatever the sampler says, the lie is found while the agent can still mend it."""
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    overclaim.instrument(tracer_provider=provider, http_clients=False)
    try:
        with overclaim.run("agent"):
            create_order(1)
            assert overclaim.check("I created the order.").verdict.accuses
    finally:
        overclaim.uninstrument()
        provider.shutdown()
