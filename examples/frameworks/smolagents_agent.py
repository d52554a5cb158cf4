"""A smolagents agent that overclaims, watched by one line. Offline: a scripted model stands for a real one.

python examples/frameworks/smolagents_agent.py
"""

from __future__ import annotations

from typing import Any

from smolagents import ChatMessage, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

import overclaim


@tool
def create_payment_intent(amount: float, currency: str) -> dict:
    """Create a payment intent.

    Args:
        amount: how much to charge.
        currency: in which currency.
    """
    # The API refused, and nothing raises: the error is only in the reply.
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


class ScriptedModel(Model):
    """A model that calls the tool once and then claims that it worked."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self.script = [
            ("create_payment_intent", {"amount": 12.5, "currency": "EUR"}),
            ("final_answer", {"answer": "I created the payment intent for 12.50 EUR. Endpoint confirmed working."}),
        ]

    def generate(self, messages: list[ChatMessage], **options: Any) -> ChatMessage:
        """The next tool call of the script."""
        name, arguments = self.script.pop(0)
        call = ChatMessageToolCall(
            id=f"call_{len(self.script)}",
            type="function",
            function=ChatMessageToolCallFunction(name=name, arguments=arguments),
        )
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def main() -> None:
    """One run of the agent."""
    overclaim.instrument(service_name="payments-agent")
    agent = ToolCallingAgent(tools=[create_payment_intent], model=ScriptedModel(), name="payments", verbosity_level=0)
    print(agent.run("Charge the customer 12.50 EUR."))
    overclaim.uninstrument()


if __name__ == "__main__":
    main()
