"""Calls that a framework announces: the spans that other instrumentors open for one are one call with ours."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from opentelemetry.context import attach, detach
from opentelemetry.trace import Span
from recorded import Telemetry, telemetry

import frameworks
import overclaim
from overclaim import _hooks
from overclaim._announced import Announced, announced
from overclaim.outcome.judge import judge
from overclaim.reading.traces import runs

__all__ = ["telemetry"]

INFERENCE = "openinference.instrumentation.langchain"
REFUSED = {"error": "no", "status": 400}


def opened(telemetry: Telemetry, *scopes: str) -> tuple[Announced, list[Span]]:
    """A call of `pay` is announced, and each scope opens a span for it elsewhere in the tree."""
    call = Announced("pay")
    call.begin()
    spans = [telemetry.provider.get_tracer(scope).start_span("pay") for scope in scopes]
    call.close()
    return call, spans


def run_of(call: Announced, spans: list[Span], result: Any = REFUSED) -> None:
    """The tool runs; the others learn of its end after us, and say only then that their spans are a tool's."""
    around = call.around()
    token = attach(around) if around is not None else None
    scope = _hooks.tool_call("pay", {"amount": 12.5})
    if token is not None:
        detach(token)
    assert scope is not None
    scope.returned(result)
    for span in spans:
        span.set_attribute("openinference.span.kind", "TOOL")
        span.end()
    call.end()


def test_a_span_that_is_not_current_is_joined(telemetry: Telemetry) -> None:
    """What another instrumentor opens during the announcement stands for the call, though it is current nowhere."""
    with overclaim.run("agent") as run:
        run_of(*opened(telemetry, INFERENCE))
        run.answer("I paid.")
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("pay", "failure")]
    assert seen.labelled("overclaim.run.calls") == [1]
    assert [span.name for span in seen.spans if span.scope == "overclaim"] == ["overclaim.claim", "invoke_agent agent"]


def test_spans_of_two_instrumentors_are_one_call(telemetry: Telemetry) -> None:
    """Two that know nothing of each other: one call, however the spans arrive."""
    with overclaim.run("agent") as run:
        run_of(*opened(telemetry, INFERENCE, "opentelemetry.instrumentation.langchain"))
        run.answer("I paid.")
    seen = frameworks.sent(telemetry.spans)
    assert seen.labelled("overclaim.run.calls") == [1]
    for spans in itertools.permutations(seen.spans):
        (found,) = runs(spans)
        assert [(call.tool, call.observed.outcome.value) for call in found.calls] == [("pay", "failure")]
        assert judge(found).verdict.value == "contradicted"


@pytest.mark.parametrize("scope", ["somebody.else", "my.code"])
def test_a_span_of_nobody_that_shows_calls_is_left_alone(telemetry: Telemetry, scope: str) -> None:
    """A span that happens to begin meanwhile is no call, and the call gets a span of its own."""
    with overclaim.run("agent"):
        call, spans = opened(telemetry, scope)
        assert call.around() is None
        call.end()
        spans[0].end()
    assert frameworks.sent(telemetry.spans).calls == []


def test_an_announcement_ends_where_it_began(telemetry: Telemetry) -> None:
    """After it nothing is announced, a span that begins then is none of its business, and ending twice is harmless."""
    call, spans = opened(telemetry)
    assert announced() is call
    late = telemetry.provider.get_tracer(INFERENCE).start_span("pay")
    assert call.around() is None
    call.end()
    call.end()
    late.end()
    assert announced() is None
    assert spans == []


def test_a_span_that_ended_too_early_is_not_current(telemetry: Telemetry) -> None:
    """Who ends a span before the tool runs gives nothing to join."""
    call, spans = opened(telemetry, INFERENCE)
    spans[0].end()
    assert call.around() is None
    call.end()
