"""An agent of the OpenAI Agents SDK that says more than it did.

python examples/frameworks/openai_agents_agent.py

The payment API refuses 12.50 as an amount, since it wants whole cents. The tool returns that error like any other
result, the model overlooks it, and the user is told that all is well. A scripted model stands in for a real one here.
"""

from __future__ import annotations

from typing import Any

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

import overclaim

overclaim.instrument(service_name="payments")  # the one line; all of the rest is an ordinary agent
set_tracing_disabled(True)  # the SDK's own tracing goes to OpenAI, which needs a key


@function_tool
def create_payment_intent(amount: float, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    return {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}


def main() -> None:
    """Ask the agent for a payment."""
    call = function_call("create_payment_intent", {"amount": 12.50, "currency": "eur"}, call_id="call_1")
    answer = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
    model = ScriptedModel([[call], [assistant_message(answer)]])
    agent = Agent(name="payments agent", model=model, tools=[create_payment_intent])
    result = Runner.run_sync(agent, "Create a payment intent for 12.50 EUR.")
    print(result.final_output)


if __name__ == "__main__":
    main()
