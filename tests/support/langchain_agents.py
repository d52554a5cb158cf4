"""Agents of LangChain that play a script, and what is seen of them beside other instrumentors.

python tests/support/langchain_agents.py MIX prints the calls and the verdicts of each agent, run each way, as JSON.
That is a process of its own, since not every instrumentor can be switched off again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException, tool
from opentelemetry import trace
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from recorded import Telemetry

import frameworks
import overclaim

CREATED = "I created the payment intent for 12.50 EUR."
REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}


class FakeModel(BaseChatModel):
    """Answers from a script, whatever it is asked."""

    script: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.script.pop(0))])

    def bind_tools(self, tools: Any, **kwargs: Any) -> FakeModel:
        """Take the tools."""
        return self


@tool
def refused(amount: float) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


@tool
def created(amount: float) -> dict[str, Any]:
    """Create a payment intent."""
    return {"id": "pi_1", "status": "succeeded"}


@tool
def broken(amount: float) -> str:
    """Create a payment intent, and fall over."""
    raise RuntimeError("no connection")


@tool
def handled(amount: float) -> str:
    """Create a payment intent, and say by LangChain's own exception that it went wrong."""
    raise ToolException("declined by the bank")


handled.handle_tool_error = True


@tool
@overclaim.tool
def decorated(amount: float) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


@tool
async def waited(amount: float) -> dict[str, Any]:
    """Create a payment intent without blocking, which the API refuses."""
    await asyncio.sleep(0)
    return dict(REFUSED)


@tool
def requesting(amount: float) -> str:
    """Create a payment intent over HTTP."""
    with trace.get_tracer_provider().get_tracer("somebody.http").start_as_current_span("POST") as span:
        span.set_attributes({"http.request.method": "POST", "url.full": "http://x/y", "http.response.status_code": 500})
        span.set_status(trace.StatusCode.ERROR)
    return "ok"


TOOLS = [refused, created, broken, handled, decorated, waited, requesting]


def asks(*names: str) -> AIMessage:
    """The model asks for tools, all at once."""
    calls = [{"name": name, "args": {"amount": 12.5}, "id": f"call_{n}"} for n, name in enumerate(names)]
    return AIMessage(content="", tool_calls=calls)


def agent_of(*turns: AIMessage | str, tools: Any = None, **more: Any) -> Any:
    """An agent that plays a script."""
    script = [turn if isinstance(turn, AIMessage) else AIMessage(content=turn) for turn in turns]
    return create_agent(FakeModel(script=script), tools=TOOLS if tools is None else tools, **more)


ASKED = {"messages": [HumanMessage("Create a payment intent for 12.50 EUR.")]}


def invoked(agent: Any) -> Any:
    """Run it and wait."""
    return agent.invoke(ASKED)


def invoked_async(agent: Any) -> Any:
    """Run it in an event loop."""
    return asyncio.run(agent.ainvoke(ASKED))


def streamed(agent: Any) -> Any:
    """Read what it streams."""
    return list(agent.stream(ASKED, stream_mode="updates"))


def streamed_async(agent: Any) -> Any:
    """Read the tokens that it streams, in an event loop."""

    async def read() -> list[Any]:
        return [part async for part in agent.astream(ASKED, stream_mode="messages")]

    return asyncio.run(read())


Way = Callable[[Any], Any]
WAYS = [invoked, invoked_async, streamed, streamed_async]


def _instrumentors(name: str) -> list[BaseInstrumentor]:
    from openinference.instrumentation.langchain import LangChainInstrumentor as OpenInference
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as GenAI
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor as OpenLLMetry

    kinds: dict[str, list[type[BaseInstrumentor]]] = {
        "alone": [], "openinference": [OpenInference], "openllmetry": [OpenLLMetry], "genai": [GenAI],
        "two": [OpenInference, OpenLLMetry],
    }  # fmt: skip
    return [kind() for kind in kinds[name]]


MIXES = ("openinference", "openllmetry", "genai", "two")
CASES = {
    "refused": "failure",
    "handled": "failure",
    "decorated": "failure",
    "requesting": "failure",
    "created": "success",
}


def main(mix: str) -> None:
    """Run each agent each way, with overclaim after the others or before them."""
    name, _, first = mix.partition(" ")
    made = Telemetry()
    trace.set_tracer_provider(made.provider)
    others = _instrumentors(name)
    if not first:
        overclaim.instrument(tracer_provider=made.provider)
    for one in others:
        one.instrument(tracer_provider=made.provider)
    if first:
        overclaim.instrument(tracer_provider=made.provider)
    found: dict[str, Any] = {}
    for case in CASES:
        for way in WAYS:
            made.exporter.clear()
            way(agent_of(asks(case), CREATED))
            seen = frameworks.sent(made.spans)
            found[f"{case} {way.__name__}"] = [seen.calls, seen.verdicts]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
