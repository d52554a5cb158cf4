"""What the agent's program handles stays in its process: not one byte of it is sent unless the user wants that."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.trace import SpanKind

import overclaim

MARKER = "Zq7Kx9marker4Wv"
URL = f"https://{MARKER}:{MARKER}@api.example.com/{MARKER}/v1?token={MARKER}#{MARKER}"


class MarkedError(Exception):
    """An error whose text holds the marker."""


def results() -> list[Any]:
    """Results with the marker where failures, states, counts and texts are looked for."""
    fields = [
        "error",
        "message",
        "status",
        "code",
        "detail",
        "reason",
        "type",
        "state",
        "id",
        "url",
        "stderr",
        "result",
    ]
    shapes: list[Any] = [{"ok": False, name: MARKER} for name in fields]
    shapes += [{name: f"{MARKER} was refused"} for name in fields]
    shapes += [{"error": {name: MARKER, "status": 400}} for name in fields]
    shapes += [{"isError": True, "content": [{"type": "text", "text": f"Error: {MARKER} not found"}]}]
    shapes += [{MARKER: {"error": MARKER}}, [{"error": MARKER}, {"id": MARKER}], {"failed": [MARKER], "deleted": 1}]
    shapes += [{"status": 404, "url": URL}, {"exit_code": 2, "stderr": f"{MARKER}: not found", "stdout": ""}]
    texts = ("Error: {}", "{}Error: refused", "HTTP 404 {}", "{} failed", "Traceback (most recent call last):\n{}: {}")
    shapes += [text.format(MARKER, MARKER) for text in (*texts, "fatal: {}", "exit code 1: {}", "{}")]
    return shapes + [json.dumps(shape) for shape in shapes]


def agent(tracer: Any, result: Any) -> None:
    """An agent that handles the marker in every way there is."""

    def call_api(url: str, amount: Any, **more: Any) -> Any:
        with tracer.start_as_current_span("POST", kind=SpanKind.CLIENT) as span:
            span.set_attributes({"http.request.method": "POST", "http.response.status_code": 400})
        return result

    @overclaim.tool
    async def raise_error(text: str) -> None:
        raise MarkedError(f"{text} was refused at {URL}")

    def stream() -> Any:
        yield MARKER
        yield result

    # The first line of a docstring is read for the tool's effect, but never sent.
    call_api.__doc__ = stream.__doc__ = f"Delete {MARKER}."
    call_api, stream = overclaim.tool(call_api), overclaim.tool(stream)
    with overclaim.run("clerk", id="r-1") as run:
        call_api(URL, {"card": MARKER}, extra=[MARKER], **{MARKER: MARKER})
        list(stream())
        with suppress(MarkedError):
            asyncio.run(raise_error(MARKER))
        overclaim.claim(f"I deleted {MARKER}.")
        overclaim.claim(action="create", targets=[MARKER, URL])
        answer = f'I created the user {MARKER}@example.com and refunded 12 of 15 orders for "{MARKER}".'
        overclaim.check(answer)
        run.answer(answer)


def sent(telemetry: Any) -> bytes:
    """All spans as the bytes of an OTLP request."""
    return encode_spans(telemetry.spans).SerializeToString()


@pytest.mark.parametrize("result", results(), ids=lambda one: str(one)[:60])
def test_no_byte_of_content_is_sent(telemetry: Any, result: Any) -> None:
    """With content off the marker is in no span, event, link, status or resource, in whatever spelling."""
    agent(telemetry.tracer, result)
    assert len(telemetry.spans) >= 7
    body = sent(telemetry)
    assert MARKER.encode() not in body
    assert MARKER.lower().encode() not in body.lower()


def test_marker_is_found_where_content_is_wanted(telemetry: Any) -> None:
    """The same agent with content on does send it, so that looking for it means something."""
    overclaim.instrument(tracer_provider=telemetry.provider, capture_content=True)
    agent(telemetry.tracer, {"id": MARKER})
    assert sent(telemetry).count(MARKER.encode()) > 5


WORDS = st.text(st.characters(codec="utf-8"), min_size=0, max_size=12).map(lambda text: f"{text}{MARKER}{text}")
VALUES = st.recursive(WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES)
def test_no_byte_of_any_result_is_sent(telemetry: Any, value: Any) -> None:
    """The same for results of any shape, and for answers of any text."""
    telemetry.exporter.clear()

    @overclaim.tool
    def echo(given: Any) -> Any:
        return value

    with overclaim.run("clerk") as run:
        echo(value)
        run.answer(str(value))
    assert MARKER.encode() not in sent(telemetry)


def test_labels_on_foreign_spans_hold_no_content(telemetry: Any) -> None:
    """What another instrumentor sends is its own affair; what we add to its spans has no content."""
    given = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "call_api"}
    content = {"gen_ai.tool.call.arguments": json.dumps({"url": URL}), "gen_ai.tool.call.result": f"Error: {MARKER}"}
    request = {"http.request.method": "GET", "url.full": URL, "http.response.status_code": 404}
    said = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": f"I sent {MARKER}."}])}
    start = telemetry.tracer.start_as_current_span
    with (
        start("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"} | said),
        start("execute_tool call_api", attributes=given | content),
        start("GET", kind=SpanKind.CLIENT, attributes=request),
    ):
        pass
    ours = [{key: value for key, value in span.attributes.items() if "overclaim" in key} for span in telemetry.spans]
    assert any(ours)
    assert MARKER.lower() not in str(ours).lower()


# One value of each shape of secret, put together here so that no scanner takes this file for a leak.
SECRETS = {
    "api key": "sk-" + "proj-AbCd1234EfGh5678IjKl",
    "stripe key": "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
    "aws key": "AKIA" + "IOSFODNN7EXAMPLQ",
    "github token": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "slack token": "xoxb-" + "1234567890-abcdefghijkl",
    "google key": "AIza" + "SyD4hT0qjWk3mNp9rXvBz2LcQeUa7YsGf1o",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3In0." + "c2lnbmF0dXJl",
}
TEXTS = {name: (f"the key {secret} is used", secret) for name, secret in SECRETS.items()} | {
    "bearer": ("Authorization: Bearer abcdef.ghijkl-123456", "abcdef.ghijkl-123456"),
    "password in a URL": ("postgres://bob:h0rse-battery@db.example.com/x", "h0rse-battery"),
    "password": ("password=h0rse-battery", "h0rse-battery"),
    "query": ("https://api.example.com/x?api_key=h0rse-battery&y=1", "h0rse-battery"),
    "private key": ("-----BEGIN RSA PRIVATE KEY-----\nMIIEvQh0rse\n-----END RSA PRIVATE KEY-----", "MIIEvQh0rse"),
    "escaped key": ("-----BEGIN PRIVATE KEY-----\\nMIIEvQh0rse\\n-----END PRIVATE KEY-----", "MIIEvQh0rse"),
    "card": ("card 4242 4242 4242 4242", "4242 4242 4242"),
}


@pytest.mark.parametrize(("text", "secret"), TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("where", ["argument", "field", "deep", "result", "json", "error", "answer", "claim"])
def test_secrets_stay_even_where_content_is_wanted(telemetry: Any, text: str, secret: str, where: str) -> None:
    """With content on, secrets of known shapes are masked wherever they stand."""
    overclaim.instrument(tracer_provider=telemetry.provider, capture_content=True)

    @overclaim.tool
    def work(given: Any = None) -> Any:
        if where == "error":
            raise MarkedError(text)
        return {"result": text, "json": json.dumps({"a": {"b": text}})}.get(where)

    arguments = {"argument": text, "field": {"note": text}, "deep": {"a": [{"b": [text]}]}}
    with overclaim.run("clerk") as run:
        with suppress(MarkedError):
            work(arguments.get(where))
        if where == "claim":
            overclaim.claim(f"I created {text}.")
        run.answer(f"I created the user: {text}." if where == "answer" else "Done.")
    assert secret.encode() not in sent(telemetry)
    assert b"gen_ai.tool.call.arguments" in sent(telemetry)


def test_answer_in_the_shape_of_the_conventions(telemetry: Any) -> None:
    """With content on, the answer stands on the agent span as one assistant message with a text part."""
    overclaim.instrument(tracer_provider=telemetry.provider, capture_content=True)
    with overclaim.run("clerk") as run:
        run.answer("Looking.")
        run.answer('I created the "user" für Ann.')
    raw = telemetry.one("invoke_agent clerk").attributes["gen_ai.output.messages"]
    (message,) = json.loads(raw)
    assert message == {
        "role": "assistant",
        "parts": [{"type": "text", "content": 'I created the "user" für Ann.'}],
        "finish_reason": "stop",
    }


def test_without_content_there_is_no_answer_on_the_span(telemetry: Any) -> None:
    """By default the agent span has no messages at all."""
    with overclaim.run("clerk") as run:
        run.answer("I created the user.")
    assert "gen_ai.output.messages" not in telemetry.one("invoke_agent clerk").attributes
