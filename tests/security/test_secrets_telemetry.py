"""No secret leaves by any way there is: spans, metrics, log records, errors; with content off and on."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry import baggage, context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import overclaim
from overclaim._hooks import Reply, agent_run, answered, tool_call

S = "Hq7hunter2Zx"
URL = f"https://bob:{S}@api.example.com/v1?api_key={S}#access_token={S}"
HEADERS: dict[str, Any] = {"Authorization": f"Bearer {S}", "x-api-key": S, "Cookie": f"sid={S}"}
HELD: dict[str, Any] = {
    "url": URL, "headers": HEADERS, "pairs": list(HEADERS.items()), "auth": ("bob", S), "env": [f"DB_PASSWORD={S}"],
    "named": [{"name": name, "value": value} for name, value in HEADERS.items()],
    "login": {"user": "bob", "password": S},
}  # fmt: skip


@pytest.fixture(params=[False, True], ids=["content off", "content on"])
def watched(request: pytest.FixtureRequest, telemetry: Any, caplog: pytest.LogCaptureFixture) -> Any:
    """Spans, metrics and log records of everything, with content off and on."""
    overclaim.uninstrument()
    telemetry.reader = InMemoryMetricReader()
    telemetry.meters = MeterProvider([telemetry.reader])
    telemetry.content = request.param
    caplog.set_level(logging.DEBUG, "overclaim")
    overclaim.instrument(
        tracer_provider=telemetry.provider, meter_provider=telemetry.meters, capture_content=request.param
    )
    yield telemetry
    telemetry.meters.shutdown()


def all_that_left(watched: Any, caplog: pytest.LogCaptureFixture) -> str:
    """Spans, metrics and log records as one text."""
    spans = encode_spans(watched.spans).SerializeToString().decode("utf-8", "replace")
    metrics = watched.reader.get_metrics_data()
    records = "\n".join(f"{one.getMessage()} {one.exc_text} {one.exc_info}" for one in caplog.records)
    return f"{spans}\n{metrics.to_json() if metrics else ''}\n{records}"


class RefusedError(Exception):
    """An error whose text holds secrets."""


RESULTS: list[Any] = [
    HELD,
    {"ok": False, "error": f"refused for {URL}", "code": f"token={S}"},
    {"status": f"password={S}", "error": {"type": f"secret:{S}", "code": f"Bearer {S}"}},
    f"Error: connecting to postgres://bob:{S}@db/x failed",
    f"Authorization: {S}\nHTTP 401",
    [HELD, HELD],
]


@pytest.mark.parametrize("result", RESULTS, ids=range(len(RESULTS)))
def test_a_decorated_agent(watched: Any, caplog: pytest.LogCaptureFixture, result: Any) -> None:
    """Arguments, results, errors, answers, claims, observations and baggage keep their secrets."""

    @overclaim.tool
    def create_user(**given: Any) -> Any:
        overclaim.observe("failure", rule=f"token={S}", value=f"password={S}")
        return result

    @overclaim.tool
    def fail() -> None:
        raise RefusedError(f"{URL} says: Authorization: Bearer {S}")

    token = context.attach(baggage.set_baggage("password", S))
    with (
        suppress(RefusedError),
        overclaim.run(f"agent token={S}", id=f"password={S}", model=URL, version=f"pwd={S}") as run,
    ):
        create_user(**HELD)
        with suppress(RefusedError):
            fail()
        overclaim.claim(f"I created the user with password={S}.")
        overclaim.claim(f"I opened {URL}.", action="create", targets=[URL, S])
        overclaim.check(f"I created the user. The password is {S}.")
        run.answer(f"I created the user bob. The password is {S}, the link is {URL}.")
        raise RefusedError(f"password={S}")
    context.detach(token)
    left = all_that_left(watched, caplog)
    assert S not in left
    assert len(watched.spans) > 5
    assert ("gen_ai.tool.call.arguments" in left) is watched.content


def test_a_framework(watched: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A model may call a tool by any name, with any id, and a framework may describe it and its error by anything."""
    scope = agent_run(f"clerk api_key={S}", model=f"https://u:{S}@h/m", version=f"secret={S}")
    assert scope is not None
    call = tool_call(
        f"login(password='{S}')", f'{{"password": "{S}"}}', call_id=f"token={S}", description=f"Use the password {S}.",
        read=lambda given: Reply(given, is_error=True, error_text=f"password={S}"),
    )  # fmt: skip
    assert call is not None
    call.returned(HELD)
    answered(f"I created the user with password: {S}.")
    scope.returned(f"I created the user with password: {S}.")
    left = all_that_left(watched, caplog)
    assert S not in left
    assert "execute_tool login(password=" in left


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: overclaim.claim(action=f"token={S}"),
        lambda: overclaim.claim(outcome=f"password={S}"),
        lambda: overclaim.observe(f"Bearer {S}"),
        lambda: overclaim.instrument(endpoint=f"ftp://bob:{S}@host"),
        lambda: overclaim.instrument(capture_content=f"password={S}"),  # pyright: ignore[reportArgumentType]
        lambda: overclaim.instrument(service_name=[f"password={S}"]),  # pyright: ignore[reportArgumentType]
    ],
)
def test_warnings_quote_no_secret(caplog: pytest.LogCaptureFixture, wrong: Any) -> None:
    """What a program does wrong is named in a warning without the secret in it."""
    caplog.set_level(logging.DEBUG, "overclaim")
    wrong()
    overclaim.uninstrument()
    assert S not in caplog.text


@pytest.mark.parametrize("said", ["false", "no", "True", 1, "NO_CONTENT", object()])
def test_content_is_on_only_where_that_is_said(telemetry: Any, said: Any) -> None:
    """A text or a number in the place of True leaves content off, for "false" is a text that is not empty."""
    overclaim.instrument(tracer_provider=telemetry.provider, capture_content=said)

    @overclaim.tool
    def echo(text: str) -> str:
        return text

    echo("a private note")
    assert b"a private note" not in encode_spans(telemetry.spans).SerializeToString()


def test_our_own_faults_quote_nothing(telemetry: Any, caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    """A hook that fails is told of by its place, for the message of its error may quote what the program handles."""
    caplog.set_level(logging.DEBUG, "overclaim")

    def broken(*_: Any, **__: Any) -> None:
        raise ValueError(f"cannot read {S}")

    monkeypatch.setattr("overclaim._calls.shape_hash", broken)
    monkeypatch.setattr("overclaim._calls.operation", broken)

    @overclaim.tool
    def echo(text: str) -> str:
        return text

    assert echo(S) == S
    assert "ValueError" in caplog.text
    assert S not in caplog.text
