"""An agent of AutoGen that overclaims, with a scripted model: no network, no key.

python examples/frameworks/autogen_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import asyncio
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

import overclaim

overclaim.instrument(service_name="payments-agent")


def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent of an amount in the smallest unit of a currency."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


async def main() -> None:
    """Ask the agent once."""
    call = FunctionCall(id="call_1", name="create_payment_intent", arguments='{"amount": "12.50", "currency": "eur"}')
    model = ReplayChatCompletionClient(
        [
            CreateResult(content=[call], finish_reason="function_calls", usage=RequestUsage(0, 0), cached=False),
            "I created the payment intent for 12.50 EUR. Endpoint confirmed working.",
        ],
        model_info=ModelInfo(
            vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False
        ),
    )
    agent = AssistantAgent("payments", model, tools=[create_payment_intent], reflect_on_tool_use=True)
    result = await agent.run(task="Charge 12.50 EUR.")
    print(result.messages[-1].to_text())


asyncio.run(main())
