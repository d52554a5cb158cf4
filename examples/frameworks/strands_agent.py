"""An agent of Strands Agents that overclaims, with a scripted model: no network, no key.

python examples/frameworks/strands_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.models import Model

import overclaim

overclaim.instrument(service_name="payments-agent")


class ScriptedModel(Model):
    """Plays a model: each turn says the next line of a script, a tool call or a text."""

    def __init__(self, *turns: dict[str, Any] | str) -> None:
        self.turns = iter(turns)

    def get_config(self) -> dict[str, Any]:
        """A model that is no model has nothing to set."""
        return {"model_id": "scripted"}

    def update_config(self, **model_config: Any) -> None:
        """Nothing to set."""

    async def structured_output(self, *args: Any, **kwargs: Any) -> AsyncIterator[dict[str, Any]]:
        """Not part of the script."""
        raise NotImplementedError
        yield {}

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Stream the next turn as the real models do."""
        turn = next(self.turns)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(turn, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": turn}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": turn["name"], "toolUseId": "call_1"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": turn["input"]}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(turn, str) else "tool_use"}}


@tool
def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent.

    Args:
        amount: What to charge, in the smallest unit of the currency.
        currency: The currency, such as eur.
    """
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


model = ScriptedModel(
    {"name": "create_payment_intent", "input": '{"amount": "12.50", "currency": "eur"}'},
    "I created the payment intent for 12.50 EUR. Endpoint confirmed working.",
)
agent = Agent(model=model, tools=[create_payment_intent], callback_handler=None, name="payments")
print(agent("Charge 12.50 EUR."))
