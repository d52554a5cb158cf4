"""An agent of the Microsoft Agent Framework that overclaims, with a scripted model: no network, no key.

python examples/frameworks/agent_framework_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message, tool

import overclaim

overclaim.instrument(service_name="payments-agent")


class ScriptedClient(FunctionInvocationLayer, BaseChatClient):
    """Plays a model: each turn says the next line of a script, a tool call or a text."""

    def __init__(self, *turns: Content | str) -> None:
        super().__init__()
        self.turns = iter(turns)

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> ChatResponse:
        return ChatResponse(messages=[Message(role="assistant", contents=[next(self.turns)])])


@tool
def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent of an amount in the smallest unit of a currency."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


async def main() -> None:
    """Ask the agent once."""
    client = ScriptedClient(
        Content.from_function_call("call_1", "create_payment_intent", arguments={"amount": "12.50", "currency": "eur"}),
        "I created the payment intent for 12.50 EUR. Endpoint confirmed working.",
    )
    agent = Agent(client=client, name="payments", tools=[create_payment_intent])
    print((await agent.run("Charge 12.50 EUR.")).text)


asyncio.run(main())
