"""An agent of the OpenAI Agents SDK that says more than it did, is told so, and mends its answer.

python examples/frameworks/openai_agents_guard.py

The tool returns an error, and the model overlooks it. The guard asks whether the answer is borne out by the calls, and
hands back to the agent what they show. A scripted model stands in for a real one here.
"""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

import overclaim
from overclaim.guards.openai_agents import run

overclaim.instrument(service_name="payments")
set_tracing_disabled(True)  # the SDK's own tracing goes to OpenAI, which needs a key


@function_tool
def create_payment_intent(amount: float, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    return {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}


async def main() -> None:
    """Ask the agent for a payment."""
    script = [
        [function_call("create_payment_intent", {"amount": 12.50, "currency": "eur"}, call_id="call_1")],
        [assistant_message("I created the payment intent for 12.50 EUR. Endpoint confirmed working.")],
        [assistant_message("I could not create the payment intent: the API refused the amount.")],
    ]
    agent = Agent(name="payments agent", model=ScriptedModel(script), tools=[create_payment_intent])
    result = await run(agent, "Create a payment intent for 12.50 EUR.")
    print(f"The agent was told:\n{result.input[-1]['content']}\n")
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
