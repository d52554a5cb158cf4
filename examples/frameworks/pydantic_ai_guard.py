"""An agent of Pydantic AI that may mend an answer that claims too much, with a scripted model: no network, no key.

python examples/frameworks/pydantic_ai_guard.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import overclaim
from overclaim.guards.pydantic_ai import guard

overclaim.instrument(service_name="payments-agent")


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A scripted model: it calls the tool, claims too much, and is told so."""
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("create_payment_intent", {"amount": "12.50", "currency": "eur"})])
    if len(messages) == 3:
        answer = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
        return ModelResponse(parts=[TextPart(answer)])
    print(f"The model was told:\n{messages[-1].parts[0].content}\n")
    return ModelResponse(parts=[TextPart("I could not create the payment intent: the API refused the amount.")])


agent = Agent(FunctionModel(model), name="payments")
agent.output_validator(guard())


@agent.tool_plain
def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent. The amount is in the smallest unit of the currency."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


print(agent.run_sync("Charge 12.50 EUR.").output)
