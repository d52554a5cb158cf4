"""A loop around Anthropic's client that overclaims, with nothing decorated. A scripted server: no network, no key.

python examples/frameworks/anthropic_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import json
from typing import Any

import httpx2
from anthropic import Anthropic

import overclaim

overclaim.instrument(service_name="payments-agent")

INPUT = {"amount": "12.50", "currency": "eur"}
SCRIPT: list[dict[str, Any]] = [
    {"type": "tool_use", "id": "toolu_1", "name": "create_payment_intent", "input": INPUT},
    {"type": "text", "text": "I created the payment intent for 12.50 EUR. Endpoint confirmed working."},
]


def serve(request: httpx2.Request) -> httpx2.Response:
    """Plays the API: each request gets the next block of the script."""
    block = SCRIPT.pop(0)
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 0, "output_tokens": 0}
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [block]}
    return httpx2.Response(200, json={**body, "stop_reason": reason, "stop_sequence": None, "usage": usage})


client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(serve)))


def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


FUNCTIONS = {"create_payment_intent": create_payment_intent}
SCHEMA = {"type": "object", "properties": {"amount": {"type": "string"}, "currency": {"type": "string"}}}
TOOLS: list[Any] = [
    {"name": "create_payment_intent", "description": "Create a payment intent.", "input_schema": SCHEMA}
]


def agent(request: str) -> str:
    """Let the model call tools until it answers."""
    messages: list[Any] = [{"role": "user", "content": request}]
    while True:
        reply: Any = client.messages.create(model="scripted", max_tokens=1000, messages=messages, tools=TOOLS)
        messages.append({"role": "assistant", "content": reply.content})
        uses = [block for block in reply.content if block.type == "tool_use"]
        if not uses:
            return reply.content[0].text
        results = [(use.id, json.dumps(FUNCTIONS[use.name](**use.input))) for use in uses]
        content = [{"type": "tool_result", "tool_use_id": id, "content": result} for id, result in results]
        messages.append({"role": "user", "content": content})


print(agent("Charge 12.50 EUR."))
