"""An agent of Google ADK that overclaims, with a scripted model: no network, no key.

python examples/frameworks/google_adk_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, Part

import overclaim

overclaim.instrument(service_name="payments-agent")


class ScriptedModel(BaseLlm):
    """Plays a model: each turn says the next line of a script, a tool call or a text."""

    turns: list[Part]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Say the next turn as the real models do."""
        yield LlmResponse(content=Content(role="model", parts=[self.turns.pop(0)]))


def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent.

    Args:
        amount: What to charge, in the smallest unit of the currency.
        currency: The currency, such as eur.
    """
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


model = ScriptedModel(
    model="scripted",
    turns=[
        Part.from_function_call(name="create_payment_intent", args={"amount": "12.50", "currency": "eur"}),
        Part(text="I created the payment intent for 12.50 EUR. Endpoint confirmed working."),
    ],
)
agent = LlmAgent(name="payments", model=model, tools=[create_payment_intent])


async def main() -> None:
    """Ask the agent and print what it answers."""
    runner = InMemoryRunner(agent=agent, app_name="payments")
    session = await runner.session_service.create_session(app_name="payments", user_id="ann")
    asked = Content(role="user", parts=[Part(text="Charge 12.50 EUR.")])
    async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=asked):
        if event.is_final_response() and event.content and event.content.parts:
            print(event.content.parts[0].text)


asyncio.run(main())
