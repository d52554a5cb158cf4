"""A loop around OpenAI's client that overclaims, with nothing decorated. A scripted server: no network, no key.

python examples/frameworks/openai_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import json
from typing import Any

import httpx2
from openai import OpenAI

import overclaim

overclaim.instrument(service_name="payments-agent")

CALL = {"name": "create_payment_intent", "arguments": '{"amount": "12.50", "currency": "eur"}'}
SCRIPT: list[dict[str, Any]] = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": CALL}]},
    {"role": "assistant", "content": "I created the payment intent for 12.50 EUR. Endpoint confirmed working."},
]


def serve(request: httpx2.Request) -> httpx2.Response:
    """Plays the API: each request gets the next message of the script."""
    message = SCRIPT.pop(0)
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
    return httpx2.Response(200, json=body)


client = OpenAI(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(serve)))


def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


TOOLS = {"create_payment_intent": create_payment_intent}
PARAMETERS = {"type": "object", "properties": {"amount": {"type": "string"}, "currency": {"type": "string"}}}
SPEC = {"name": "create_payment_intent", "description": "Create a payment intent.", "parameters": PARAMETERS}


def agent(request: str) -> str:
    """Let the model call tools until it answers."""
    messages: list[Any] = [{"role": "user", "content": request}]
    while True:
        reply: Any = client.chat.completions.create(
            model="scripted", messages=messages, tools=[{"type": "function", "function": SPEC}]
        )
        message = reply.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(agent("Charge 12.50 EUR."))
