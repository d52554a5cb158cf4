"""A CrewAI agent that overclaims, watched by one line. Offline: a scripted model stands for a real one.

python examples/frameworks/crewai_agent.py
"""

from __future__ import annotations

from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool

import overclaim

CALL = """Thought: I create it.
Action: create_payment_intent
Action Input: {"amount": 12.5, "currency": "EUR"}"""
ANSWER = """Thought: I now know the final answer
Final Answer: I created the payment intent for 12.50 EUR. Endpoint confirmed working."""


@tool
def create_payment_intent(amount: float, currency: str) -> dict[str, object]:
    """Create a payment intent."""
    # The API refused, and nothing raises: the error is only in the reply.
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


class ScriptedModel(BaseLLM):
    """A model that calls the tool once and then claims that it worked."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        """The answer, once the tool was called."""
        return ANSWER if "invalid_integer" in str(messages) else CALL


def main() -> None:
    """One run of a crew of one agent."""
    overclaim.instrument(service_name="payments-agent")
    clerk = Agent(role="Payments clerk", goal="Charge customers", backstory="Diligent.", llm=ScriptedModel(model="x"))
    clerk.tools = [create_payment_intent]
    task = Task(description="Charge the customer 12.50 EUR.", expected_output="What was done.", agent=clerk)
    print(Crew(name="payments", agents=[clerk], tasks=[task]).kickoff())
    overclaim.uninstrument()


if __name__ == "__main__":
    main()
