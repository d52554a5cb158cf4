"""A LlamaIndex agent that overclaims, watched by one line. Offline: a scripted model stands for a real one.

python examples/frameworks/llama_index_agent.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockLLM

import overclaim

ANSWER = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."


def create_payment_intent(amount: float, currency: str) -> dict[str, object]:
    """Create a payment intent."""
    # The API refused, and nothing raises: the error is only in the reply.
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


class ScriptedModel(MockLLM, FunctionCallingLLM):
    """A model that calls the tool once and then claims that it worked."""

    @property
    def metadata(self) -> Any:
        """What it can do."""
        return super().metadata.model_copy(update={"is_function_calling_model": True})

    def _prepare_chat_with_tools(self, *_: Any, chat_history: list[ChatMessage], **__: Any) -> dict[str, Any]:
        return {"messages": chat_history}

    async def achat(self, messages: list[ChatMessage], **_: Any) -> ChatResponse:
        """The answer, once the tool was called."""
        content = ANSWER if messages[-1].role == "tool" else ""
        return ChatResponse(message=ChatMessage(role="assistant", content=content))

    async def achat_with_tools(self, *_: Any, chat_history: list[ChatMessage], **__: Any) -> ChatResponse:
        """As without tools."""
        return await self.achat(chat_history)

    def get_tool_calls_from_response(self, response: ChatResponse, **_: Any) -> list[ToolSelection]:
        """A call of the tool, where the response is no answer."""
        if response.message.content:
            return []
        arguments = {"amount": 12.5, "currency": "EUR"}
        return [ToolSelection(tool_id="call_1", tool_name="create_payment_intent", tool_kwargs=arguments)]


async def main() -> None:
    """One run of the agent."""
    overclaim.instrument(service_name="payments-agent")
    agent = FunctionAgent(name="payments", tools=[create_payment_intent], llm=ScriptedModel(), streaming=False)
    print(await agent.run("Charge the customer 12.50 EUR."))
    overclaim.uninstrument()


if __name__ == "__main__":
    asyncio.run(main())
