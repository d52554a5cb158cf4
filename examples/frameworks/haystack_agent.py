"""An agent of Haystack that overclaims, with a scripted model: no network, no key.

python examples/frameworks/haystack_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import os
from typing import Annotated, Any

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from haystack.components.agents import Agent
from haystack.components.generators.chat.mock import MockChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import tool

import overclaim

overclaim.instrument(service_name="payments-agent")


@tool
def create_payment_intent(
    amount: Annotated[str, "What to charge, in the smallest unit of the currency."],
    currency: Annotated[str, "The currency, such as eur."],
) -> dict[str, Any]:
    """Create a payment intent."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


model = MockChatGenerator(
    responses=[
        ChatMessage.from_assistant(
            tool_calls=[ToolCall("create_payment_intent", {"amount": "12.50", "currency": "eur"}, id="call_1")]
        ),
        "I created the payment intent for 12.50 EUR. Endpoint confirmed working.",
    ]
)
agent = Agent(chat_generator=model, tools=[create_payment_intent])
print(agent.run([ChatMessage.from_user("Charge 12.50 EUR.")])["last_message"].text)
