"""Values that break exporters, and secrets that leave."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

import pytest
from opentelemetry import baggage, context
from pydantic import BaseModel

import overclaim
from frameworks import sent

SECRETS = ("hunter2-very-secret", "sk-proj-ABCDEF0123456789abcdef", "p4ssw0rd")


@pytest.fixture
def content(telemetry: Any) -> Any:
    """Spans with content."""
    overclaim.uninstrument()
    overclaim.instrument(tracer_provider=telemetry.provider, capture_content=True)
    return telemetry


def everything(telemetry: Any) -> str:
    """All that leaves: names, attributes, events, statuses."""
    return " ".join(span.to_json() for span in telemetry.spans)


def test_p46_a_huge_result_is_trimmed_not_dropped(content: Any) -> None:
    """langfuse/langfuse#1676: the span is there, the payload cut."""
    overclaim.tool(name="dump")(lambda: "x" * 5_000_000)()
    assert 0 < len(content.one("execute_tool dump").attributes["gen_ai.tool.call.result"]) < 10_000


def test_p47_a_long_turn_is_kept_whole(telemetry: Any) -> None:
    """tinyhumansai/openhuman#4675: 1500 calls in one run."""
    step = overclaim.tool(name="step")(lambda n: n)
    with overclaim.run("agent"):
        for number in range(1500):
            step(number)
    assert len(telemetry.named("execute_tool step")) == 1500
    assert telemetry.one("invoke_agent agent").attributes["overclaim.run.calls"] == 1500


def test_p48_lone_surrogates_reach_the_wire(content: Any) -> None:
    """mlflow/mlflow#24123: in an argument, a key and a nested value; the batch is encoded all the same."""
    bad = "a\ud83e"
    overclaim.tool(name="say")(lambda text, more: bad)(bad, {bad: [bad]})
    assert [span.name for span in sent(content.spans).spans] == ["execute_tool say"]


def test_p50_not_a_number_stays_strict_json(content: Any) -> None:
    """langfuse/langfuse#16048: nested in a pydantic model."""

    class Point(BaseModel):
        x: float

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    overclaim.tool(name="plot")(lambda point: {"y": math.inf, "point": point})(Point(x=math.nan))
    span = content.one("execute_tool plot")
    for key, field in (("gen_ai.tool.call.arguments", "point"), ("gen_ai.tool.call.result", "y")):
        assert field in json.loads(span.attributes[key], parse_constant=refuse)


def test_p52_p53_nothing_of_ours_is_none(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """langchain-ai/langsmith-sdk#1640, existential-birds/daydream#1244: no warning about attributes of no value."""
    with caplog.at_level(logging.WARNING), overclaim.run("agent", version=None, model=None) as run:
        for _ in range(100):
            overclaim.tool(name="none")(lambda value: None)(None)
        overclaim.claim("I did it.", outcome=None, action=None, about=None)
        run.answer("Done.")
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


def test_p72_secrets_in_arguments_never_leave(content: Any) -> None:
    """langfuse/claude-observability-plugin#90: by key, by shape and inside a URL, content on; also in an exception."""

    def login(password: str, headers: dict[str, str], dsn: str) -> str:
        raise PermissionError(f"password={password} at {dsn} with {headers}")

    with pytest.raises(PermissionError):
        overclaim.tool(login)(SECRETS[0], {"Authorization": f"Bearer {SECRETS[1]}"}, f"postgres://u:{SECRETS[2]}@h/db")
    assert not [secret for secret in SECRETS if secret in everything(content)]


def test_p73_baggage_is_not_copied_to_spans(telemetry: Any) -> None:
    """langfuse/langfuse#17478: a secret in baggage stays there."""
    token = context.attach(baggage.set_baggage("api_key", SECRETS[1]))
    try:
        overclaim.tool(name="call")(lambda: "ok")()
    finally:
        context.detach(token)
    assert SECRETS[1] not in everything(telemetry)
