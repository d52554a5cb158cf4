"""An agent of Agno that overclaims, with a scripted model: no network, no key.

python examples/frameworks/agno_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse

import overclaim

overclaim.instrument(service_name="payments-agent")


@dataclass
class ScriptedModel(Model):
    """Plays a model: each turn says the next reply of a script."""

    id: str = "scripted"
    replies: list[ModelResponse] = field(default_factory=list)

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The next reply."""
        return self.replies.pop(0)

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The next reply."""
        return self.replies.pop(0)

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
        """The next reply, in one piece."""
        yield self.replies.pop(0)

    async def ainvoke_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ModelResponse]:
        """The next reply, in one piece."""
        yield self.replies.pop(0)

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent.

    Args:
        amount: What to charge, in the smallest unit of the currency.
        currency: The currency, such as eur.
    """
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


call = {"name": "create_payment_intent", "arguments": '{"amount": "12.50", "currency": "eur"}'}
model = ScriptedModel(
    replies=[
        ModelResponse(role="assistant", tool_calls=[{"id": "call_1", "type": "function", "function": call}]),
        ModelResponse(
            role="assistant", content="I created the payment intent for 12.50 EUR. Endpoint confirmed working."
        ),
    ]
)
agent = Agent(name="payments", model=model, tools=[create_payment_intent], telemetry=False)
print(agent.run("Charge 12.50 EUR.").content)
