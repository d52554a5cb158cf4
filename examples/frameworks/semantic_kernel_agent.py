"""An agent of Semantic Kernel that overclaims, with a scripted model: no network, no key.

python examples/frameworks/semantic_kernel_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.contents import AuthorRole, ChatHistory, ChatMessageContent, FunctionCallContent
from semantic_kernel.functions import kernel_function

import overclaim

overclaim.instrument(service_name="payments-agent")


class ScriptedModel(ChatCompletionClientBase):
    """Plays a model: each turn says the next line of a script, a tool call or a text."""

    SUPPORTS_FUNCTION_CALLING: ClassVar[bool] = True
    turns: list[Any]

    def get_prompt_execution_settings_class(self) -> type[PromptExecutionSettings]:
        """The plainest settings."""
        return PromptExecutionSettings

    def _update_function_choice_settings_callback(self) -> Callable[..., None]:
        return lambda *_: None

    def _reset_function_choice_settings(self, settings: PromptExecutionSettings) -> None:
        pass

    async def _inner_get_chat_message_contents(
        self, chat_history: ChatHistory, settings: PromptExecutionSettings
    ) -> list[ChatMessageContent]:
        turn = self.turns.pop(0)
        if isinstance(turn, str):
            return [ChatMessageContent(role=AuthorRole.ASSISTANT, content=turn)]
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, items=[turn])]


class Payments:
    """A plugin with one function."""

    @kernel_function
    def create_payment_intent(self, amount: str, currency: str) -> dict[str, Any]:
        """Create a payment intent of an amount in the smallest unit of a currency."""
        error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
        return {"error": error, "status": 400}


async def main() -> None:
    """Ask the agent once."""
    arguments = '{"amount": "12.50", "currency": "eur"}'
    call = FunctionCallContent(id="call_1", name="Payments-create_payment_intent", arguments=arguments)
    boast = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
    model = ScriptedModel(ai_model_id="scripted", turns=[call, boast])
    agent = ChatCompletionAgent(service=model, name="payments", plugins=[Payments()])
    print(await agent.get_response("Charge 12.50 EUR."))


asyncio.run(main())
