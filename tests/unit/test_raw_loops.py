"""Loops around a model's client, over a client that is built as the real ones are, in the words of each of the APIs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from recorded import Telemetry

import overclaim
from frameworks import sent
from overclaim.integrations.anthropic import MESSAGES
from overclaim.integrations.openai import CHAT, RESPONSES
from overclaim.integrations.raw_clients import Client, Dialect

REFUSED = json.dumps({"error": {"code": "invalid_integer"}, "status": 400})
BOAST = "I created the payment intent."
TOOL = {"name": "create_payment_intent", "description": "Create a payment intent."}
GIVEN = {"amount": "12.50"}


class Library:
    """A library with a client that answers requests from a script."""

    def __init__(self, *replies: Any) -> None:
        class SyncAPIClient:
            def request(self, cast_to: Any, options: Any, *, stream: bool = False) -> Any:
                return replying.pop(0)

        class AsyncAPIClient(SyncAPIClient):
            async def request(self, cast_to: Any, options: Any, *, stream: bool = False) -> Any:
                return replying.pop(0)

        replying = list(replies)
        self.base = ModuleType("scripted._base_client")
        vars(self.base).update(SyncAPIClient=SyncAPIClient, AsyncAPIClient=AsyncAPIClient)
        self.client = SyncAPIClient()

    def ask(self, path: str, body: dict[str, Any]) -> Any:
        """Send a request."""
        return self.client.request(dict, SimpleNamespace(url=path, json_data={"model": "scripted", **body}))


@pytest.fixture
def library(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Library]]:
    """Makes watched libraries."""
    client = Client("scripted", {"/chat/completions": CHAT, "/responses": RESPONSES, "/v1/messages": MESSAGES})

    def make(*replies: Any) -> Library:
        made = Library(*replies)
        monkeypatch.setitem(sys.modules, "scripted._base_client", made.base)
        client.on(TracerProvider(shutdown_on_exit=False))
        return made

    yield make
    client.off()


def chat(make: Callable[..., Library]) -> None:
    """Chat completions."""
    function = {"name": TOOL["name"], "arguments": json.dumps(GIVEN)}
    asking = {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
    made = make({"choices": [{"message": asking}]}, {"choices": [{"message": {"content": BOAST}}]})
    body: dict[str, Any] = {"tools": [{"type": "function", "function": TOOL}], "messages": [{"role": "user"}]}
    made.ask("/chat/completions", body)
    told = {"role": "tool", "tool_call_id": "call_1", "content": REFUSED}
    made.ask("/chat/completions", {**body, "messages": [*body["messages"], asking, told]})


def responses(make: Callable[..., Library]) -> None:
    """Responses, each of which names the one before."""
    call = {"type": "function_call", "call_id": "call_1", "name": TOOL["name"], "arguments": json.dumps(GIVEN)}
    said = {"type": "message", "content": [{"type": "output_text", "text": BOAST}]}
    made = make({"output": [call]}, {"output": [said]})
    tools = [{"type": "function", **TOOL}]
    made.ask("/responses", {"tools": tools, "input": "Charge 12.50 EUR."})
    told = {"type": "function_call_output", "call_id": "call_1", "output": REFUSED}
    made.ask("/responses", {"tools": tools, "input": [told], "previous_response_id": "resp_1"})


def messages(make: Callable[..., Library]) -> None:
    """Anthropic's messages."""
    use = {"type": "tool_use", "id": "toolu_1", "name": TOOL["name"], "input": GIVEN}
    made = make({"content": [use]}, {"content": [{"type": "text", "text": BOAST}]})
    body: dict[str, Any] = {"tools": [TOOL], "messages": [{"role": "user", "content": "Charge 12.50 EUR."}]}
    made.ask("/v1/messages?beta=true", body)
    told = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": REFUSED}]}
    more = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [told]}]
    made.ask("/v1/messages", {**body, "messages": [*body["messages"], *more]})


@pytest.mark.parametrize("loop", [chat, responses, messages])
@pytest.mark.parametrize("within", [True, False])
def test_a_call_is_a_pair_of_request_and_result(
    telemetry: Telemetry, library: Callable[..., Library], loop: Callable[..., None], within: bool
) -> None:
    """What a reply asks for and the next request hands back is one call, of the open run or of one of its own."""
    if within:
        with overclaim.run("payments"):
            loop(library)
    else:
        loop(library)
    got = sent(telemetry.spans)
    assert got.calls == [("create_payment_intent", "failure")]
    assert got.verdicts == ["contradicted"]


def test_other_requests_are_left_alone(telemetry: Telemetry, library: Callable[..., Library]) -> None:
    """Requests to other endpoints, without tools, and in shapes that nobody knows go through and leave nothing."""
    made = library({"data": []}, {"choices": [{"message": {"content": BOAST}}]}, "text", None)
    assert made.ask("/embeddings", {"input": "x"}) == {"data": []}
    made.ask("/chat/completions", {"messages": [{"role": "user", "content": "Write."}]})
    tools = [{"type": "function", "function": TOOL}]
    assert made.ask("/chat/completions", {"messages": "none", "tools": tools}) == "text"
    assert made.ask("/chat/completions", {"messages": [None, 3, {"role": "tool"}], "tools": tools}) is None
    assert telemetry.spans == ()


@pytest.mark.parametrize(
    ("dialect", "body", "forced"),
    [
        (CHAT, {"tool_choice": {"type": "function", "function": {"name": "save"}}}, True),
        (CHAT, {"function_call": {"name": "save"}}, True),
        (CHAT, {"tool_choice": "required", "tools": [{"type": "function", "function": TOOL}]}, True),
        (CHAT, {"tool_choice": "required", "tools": [{"type": "function", "function": TOOL}] * 2}, False),
        (CHAT, {"tool_choice": "auto", "function_call": "auto", "tools": [{"function": TOOL}]}, False),
        (RESPONSES, {"tool_choice": {"type": "function", "name": "save"}}, True),
        (RESPONSES, {"tool_choice": "auto"}, False),
        (MESSAGES, {"tool_choice": {"type": "tool", "name": "save"}}, True),
        (MESSAGES, {"tool_choice": {"type": "any"}, "tools": [TOOL]}, True),
        (MESSAGES, {"tool_choice": {"type": "auto"}, "tools": [TOOL]}, False),
    ],
)
def test_a_call_that_the_model_must_make(dialect: Dialect, body: dict[str, Any], forced: bool) -> None:
    """Each API has a way to make the model call one certain tool."""
    assert dialect.request(body).forced is forced


def test_calls_of_one_message_with_one_id() -> None:
    """Calls and results that have the same id are paired by their order."""
    uses: list[Any] = [{"type": "tool_use", "id": "x", "name": name, "input": {}} for name in ("read", "save")]
    results = [{"type": "tool_result", "tool_use_id": "x", "content": text} for text in ("1", "2")]
    messages: list[Any] = [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    request = MESSAGES.request({"messages": messages})
    assert [(request.asked[told.id].tool, told.result) for told in request.told] == [("read", "1"), ("save", "2")]


def test_a_library_that_is_built_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the functions are missing it says so, and nothing stays patched."""
    made = Library()
    before = made.base.SyncAPIClient.request
    vars(made.base).pop("AsyncAPIClient")
    monkeypatch.setitem(sys.modules, "scripted._base_client", made.base)
    with pytest.raises(AttributeError, match="AsyncAPIClient"):
        Client("scripted", {}).on(TracerProvider(shutdown_on_exit=False))
    assert made.base.SyncAPIClient.request is before
