"""Agents of the OpenAI Agents SDK that play a script, and what is seen of them beside other instrumentors.

python tests/support/openai_agents_runs.py MIX prints the calls and the verdicts of each agent, run each way, as JSON.
That is a process of its own, since not every instrumentor can be switched off again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from agents import Agent, Runner, function_tool, set_trace_processors, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from opentelemetry import trace
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from recorded import Telemetry

import frameworks
import overclaim

CREATED = "I created the payment intent for 12.50 EUR."
REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}


@function_tool
def refused(amount: float) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


@function_tool
async def created(amount: float) -> dict[str, Any]:
    """Create a payment intent."""
    return {"id": "pi_1", "status": "succeeded"}


@function_tool
def broken(amount: float) -> str:
    """Create a payment intent, and fall over, which the model is told in the SDK's own words."""
    raise RuntimeError("no connection")


@function_tool(failure_error_function=lambda context, error: "Sorry.")
async def excused(amount: float) -> str:
    """Create a payment intent, and fall over, which the model is told in friendly words."""
    raise RuntimeError("no connection")


@function_tool(timeout=0.01)
async def slow(amount: float) -> str:
    """Create a payment intent, too slowly."""
    await asyncio.sleep(5)
    return "never"


@function_tool
@overclaim.tool
def decorated(amount: float) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


@function_tool
def requesting(amount: float) -> str:
    """Create a payment intent over HTTP."""
    with trace.get_tracer_provider().get_tracer("somebody.http").start_as_current_span("POST") as span:
        span.set_attributes({"http.request.method": "POST", "url.full": "http://x/y", "http.response.status_code": 500})
        span.set_status(trace.StatusCode.ERROR)
    return "ok"


TOOLS: list[Any] = [refused, created, broken, excused, slow, decorated, requesting]
CASES = dict.fromkeys(("refused", "broken", "excused", "slow", "decorated", "requesting"), "failure")
CASES["created"] = "success"


def asks(*names: str) -> list[Any]:
    """The model asks for tools, all at once."""
    return [function_call(name, {"amount": 12.5}, call_id=f"call_{n}") for n, name in enumerate(names)]


def agent_of(*turns: Any, name: str = "payments", **more: Any) -> Agent[Any]:
    """An agent that plays a script."""
    steps = [[assistant_message(turn)] if isinstance(turn, str) else turn for turn in turns]
    more.setdefault("tools", TOOLS)
    return Agent(name=name, model=ScriptedModel(steps), **more)


ASKED = "Create a payment intent for 12.50 EUR."


def finished(agent: Agent[Any], asked: Any = ASKED) -> Any:
    """Run it and wait. The SDK leaves the event loop open, for whoever comes next."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return Runner.run_sync(agent, asked)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def run(agent: Agent[Any]) -> Any:
    """Run it in an event loop."""
    return asyncio.run(Runner.run(agent, ASKED)).final_output


def run_sync(agent: Agent[Any]) -> Any:
    """Run it and wait."""
    return finished(agent).final_output


def run_streamed(agent: Agent[Any]) -> Any:
    """Read what it streams."""

    async def read() -> Any:
        result = Runner.run_streamed(agent, ASKED)
        async for _ in result.stream_events():
            pass
        return result.final_output

    return asyncio.run(read())


Way = Callable[[Agent[Any]], Any]
WAYS: list[Way] = [run, run_sync, run_streamed]
MIXES = ("openinference", "openllmetry", "genai", "two")


def _instrumentors(name: str) -> list[BaseInstrumentor]:
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenInference
    from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor as GenAI
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenLLMetry

    kinds: dict[str, list[type[BaseInstrumentor]]] = {
        "openinference": [OpenInference], "openllmetry": [OpenLLMetry], "genai": [GenAI],
        "two": [OpenInference, OpenLLMetry],
    }  # fmt: skip
    return [kind() for kind in kinds[name]]


def main(mix: str) -> None:
    """Run each agent each way, with overclaim after the others or before them."""
    name, _, first = mix.partition(" ")
    made = Telemetry()
    trace.set_tracer_provider(made.provider)
    set_trace_processors([])
    set_tracing_disabled(False)
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
