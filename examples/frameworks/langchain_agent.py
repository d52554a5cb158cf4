"""A LangChain agent that says more than it did.

python examples/frameworks/langchain_agent.py

The payment API refuses 12.50 as an amount, since it wants whole cents. The tool returns that error like any other
result, the model overlooks it, and the user is told that all is well. A fake model stands in for a real one here.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

import overclaim

overclaim.instrument(service_name="payments")  # the one line; all of the rest is an ordinary agent


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
    answer = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
    model = FakeModel(messages=iter([AIMessage(content="", tool_calls=[call]), AIMessage(content=answer)]))
    agent = create_agent(model, tools=[create_payment_intent], name="payments_agent")
    result = agent.invoke({"messages": [("user", "Create a payment intent for 12.50 EUR.")]})
    print(result["messages"][-1].text)


if __name__ == "__main__":
    main()
