"""An agent of Pydantic AI that overclaims, with a scripted model: no network, no key.

python examples/frameworks/pydantic_ai_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import overclaim

overclaim.instrument(service_name="payments-agent")


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A scripted model: it calls the tool, and does not read what came back."""
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("create_payment_intent", {"amount": "12.50", "currency": "eur"})])
    return ModelResponse(parts=[TextPart("I created the payment intent for 12.50 EUR. Endpoint confirmed working.")])


agent = Agent(FunctionModel(model), name="payments")


@agent.tool_plain
def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent. The amount is in the smallest unit of the currency."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


print(agent.run_sync("Charge 12.50 EUR.").output)
