"""A LangChain agent that says more than it did, is told so, and mends its answer.

python examples/frameworks/langchain_guard.py

The tool returns an error, and the model overlooks it. The guard asks whether the answer is borne out by the calls, and
hands back to the model what they show. A fake model stands in for a real one here.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

import overclaim
from overclaim.guards.langchain import guard

overclaim.instrument(service_name="payments")


class FakeModel(GenericFakeChatModel):
    """Answers from a script, whatever it is asked."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> FakeModel:
        """Take the tools."""
        return self


@tool
def create_payment_intent(amount: float, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    return {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}


def main() -> None:
    """Ask the agent for a payment."""
    call = {"name": "create_payment_intent", "args": {"amount": 12.50, "currency": "eur"}, "id": "call_1"}
    script = [
        AIMessage(content="", tool_calls=[call]),
        AIMessage(content="I created the payment intent for 12.50 EUR. Endpoint confirmed working."),
        AIMessage(content="I could not create the payment intent: the API refused the amount."),
    ]
    agent = create_agent(
        FakeModel(messages=iter(script)), tools=[create_payment_intent], middleware=[guard()], name="payments_agent"
    )
    result = agent.invoke({"messages": [("user", "Create a payment intent for 12.50 EUR.")]})
    for message in result["messages"][-3:]:
        print(f"{message.type}: {message.text}\n")


if __name__ == "__main__":
    main()
