"""Strands Agents: every tool call and answer is seen, with its own spans, without them, and with OpenInference."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

pytest.importorskip("strands")

import second_turn
from opentelemetry import trace
from recorded import Telemetry
from strands import Agent, tool
from strands.agent import agent as agent_module
from strands.models import Model
from strands.multiagent import GraphBuilder, Swarm
from strands.multiagent.graph import Graph
from strands.telemetry import tracer as native_tracer
from strands.tools.executors import _executor

import frameworks
import overclaim
from overclaim.integrations import strands as integration

REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
BOAST = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
IDS = itertools.count()
Turn = str | list[tuple[str, str]]


class Scripted(Model):
    """Plays a model: a text, or the tools to call at once with their arguments as JSON."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = iter(turns)

    def get_config(self) -> Any:
        """Nothing to set."""
        return {}

    def update_config(self, **model_config: Any) -> None:
        """Nothing to set."""

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Not part of any script."""
        raise NotImplementedError

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Stream the next turn."""
        turn = next(self.turns)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(turn, str):
            yield {"contentBlockDelta": {"delta": {"text": turn}}}
            yield {"contentBlockStop": {}}
        else:
            for name, arguments in turn:
                call_id = f"call_{next(IDS)}"
                yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": call_id}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
                yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(turn, str) else "tool_use"}}


@tool
def refused(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


@tool
def broken(amount: str) -> str:
    """Create a payment intent, and fall over."""
    raise RuntimeError("no connection")


@tool
def flagged(amount: str) -> dict[str, Any]:
    """Create a payment intent, and say in the framework's words that it went wrong."""
    return {"status": "error", "content": [{"text": "declined"}]}


@tool
async def created(amount: str) -> dict[str, Any]:
    """Create a payment intent."""
    return {"id": "pi_1", "status": "succeeded"}


@tool
async def streamed(amount: str) -> AsyncIterator[Any]:
    """Create a payment intent, with news on the way."""
    yield "asking"
    yield dict(REFUSED)


@tool
@overclaim.tool
def decorated(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


TOOLS: list[Any] = [refused, broken, flagged, created, streamed, decorated]
ARGUMENTS = '{"amount": "12.50"}'


@pytest.fixture(params=["alone", "native", "openinference"])
def mix(request: pytest.FixtureRequest, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> Telemetry:
    """Overclaim alone, beside the framework's own spans, and with those turned into OpenInference's."""
    if request.param == "openinference":
        from openinference.instrumentation.strands_agents import StrandsAgentsToOpenInferenceProcessor

        telemetry.provider.add_span_processor(StrandsAgentsToOpenInferenceProcessor())
    provider: trace.TracerProvider = trace.NoOpTracerProvider() if request.param == "alone" else telemetry.provider
    with monkeypatch.context() as patch:
        patch.setattr(trace, "get_tracer_provider", lambda: provider)
        tracer = native_tracer.Tracer()
    monkeypatch.setattr(native_tracer, "_tracer_instance", tracer)
    return telemetry


def agent_of(*turns: Turn, name: str = "payments", **more: Any) -> Agent:
    """An agent that plays a script."""
    more.setdefault("tools", TOOLS)
    return Agent(model=Scripted(*turns), callback_handler=None, name=name, **more)


@pytest.mark.parametrize(
    ("name", "outcome", "verdict"),
    [
        ("refused", "failure", "contradicted"),
        ("broken", "failure", "contradicted"),
        ("flagged", "failure", "contradicted"),
        ("streamed", "failure", "contradicted"),
        ("decorated", "failure", "contradicted"),
        ("created", "success", "supported"),
    ],
)
def test_each_kind_of_tool_is_one_call_with_its_outcome(mix: Telemetry, name: str, outcome: str, verdict: str) -> None:
    """A tool that is refused, raises, flags an error, streams, is decorated or works: one call, and a fair verdict."""
    result = agent_of([(name, ARGUMENTS)], "I created the payment intent for 12.50 EUR.")("Charge 12.50 EUR.")
    assert str(result).strip() == "I created the payment intent for 12.50 EUR."
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [(name, outcome)]
    assert seen.verdicts == [verdict]


def test_unknown_tools_and_bad_arguments_are_failures(mix: Telemetry) -> None:
    """A tool that does not exist, and one that is called wrongly, did not do anything."""
    agent_of([("nonsense", "{}"), ("created", "{}")], BOAST)("Charge 12.50 EUR.")
    assert sorted(frameworks.sent(mix.spans).calls) == [("created", "failure"), ("nonsense", "failure")]


def test_tools_at_once_are_told_apart(mix: Telemetry) -> None:
    """Three calls run concurrently: three calls with their own outcomes."""
    agent_of([("refused", ARGUMENTS), ("created", ARGUMENTS), ("broken", ARGUMENTS)], BOAST)("Charge 12.50 EUR.")
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("broken", "failure"), ("created", "success"), ("refused", "failure")]


def test_async_and_streaming_runs_are_seen(mix: Telemetry) -> None:
    """An agent that is awaited, and one whose events are iterated."""

    async def main() -> None:
        await agent_of([("refused", ARGUMENTS)], BOAST).invoke_async("Charge 12.50 EUR.")
        async for _ in agent_of([("streamed", ARGUMENTS)], BOAST).stream_async("Charge 12.50 EUR."):
            pass

    asyncio.run(main())
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("refused", "failure"), ("streamed", "failure")]
    assert seen.verdicts == ["contradicted", "contradicted"]


def test_an_agent_as_a_tool_is_a_call_with_calls_below_it(mix: Telemetry) -> None:
    """The run is that of the outermost agent, and its answer is the answer."""
    clerk = agent_of([("refused", ARGUMENTS)], "It failed: the API refused the amount.", name="clerk")
    agent_of([("clerk", '{"input": "Charge 12.50 EUR."}')], BOAST, tools=[clerk])("Charge 12.50 EUR.")
    seen = frameworks.sent(mix.spans)
    assert [call[0] for call in seen.calls] == ["refused", "clerk"]
    assert seen.verdicts == ["contradicted"]


def test_a_tool_that_the_program_calls_itself_is_seen(mix: Telemetry) -> None:
    """`agent.tool.refused()` makes no span of the framework's own."""
    with overclaim.run("payments") as run:
        agent = agent_of()
        agent.tool.refused(amount="12.50")
        run.answer(BOAST)
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_what_an_earlier_turn_did_may_be_claimed(mix: Telemetry) -> None:
    """The second turn of a conversation is not accused of what the first one did."""

    def talk(*turns: second_turn.Turn) -> second_turn.Ask:
        script = [turn if isinstance(turn, str) else [(turn[0], json.dumps(turn[1]))] for turn in turns]
        agent = agent_of(*script, tools=[tool(second_turn.send_email), tool(second_turn.find_user)])
        return lambda asked: str(agent(asked)).strip()

    second_turn.assert_claims_of_earlier_turns(mix, talk)


def test_a_graph_that_goes_on(mix: Telemetry) -> None:
    """The agents of a graph keep their messages from one task to the next."""
    script: list[Turn] = [[("created", ARGUMENTS)], "I created the payment intent.", "I created the payment intent."]
    builder = GraphBuilder()
    builder.add_node(agent_of(*script), "one")
    builder.set_execution_timeout(60)
    graph = builder.build()
    graph("Charge 12.50 EUR.")
    assert frameworks.sent(mix.spans).verdicts == ["supported"]
    graph("Did you?")
    assert sorted(frameworks.sent(mix.spans).verdicts) == ["no_claim", "supported"]


def test_what_happens_in_a_tool_lands_below_its_span(mix: Telemetry) -> None:
    """The span that a tool makes is a child of the call's span."""

    @tool
    def asking(amount: str) -> str:
        """Ask somebody."""
        with mix.tracer.start_as_current_span("GET"):
            return "ok"

    agent_of([("asking", ARGUMENTS)], BOAST, tools=[asking])("Charge 12.50 EUR.")
    parent = mix.one("GET").parent
    context = mix.one("execute_tool asking").context
    assert parent is not None
    assert context is not None
    assert parent.span_id == context.span_id


@pytest.mark.parametrize("kind", ["graph", "swarm"])
def test_a_team_is_one_run(mix: Telemetry, kind: str) -> None:
    """What one agent of a graph or swarm did counts for what the last one says."""
    clerk = agent_of([("refused", ARGUMENTS)], "Over to the writer.", name="clerk")
    writer = agent_of(BOAST, name="writer", tools=[])
    if kind == "graph":
        builder = GraphBuilder()
        builder.add_node(clerk, "clerk")
        builder.add_node(writer, "writer")
        builder.add_edge("clerk", "writer")
        builder.set_entry_point("clerk")
        builder.set_max_node_executions(5)
        builder.build()("Charge 12.50 EUR.")
    else:
        clerk.model = Scripted(
            [("refused", ARGUMENTS)], [("handoff_to_agent", '{"agent_name": "writer", "message": "go"}')], "Over."
        )
        Swarm([clerk, writer])("Charge 12.50 EUR.")
    seen = frameworks.sent(mix.spans)
    assert ("refused", "failure") in seen.calls
    assert seen.verdicts == ["contradicted"]


def test_content_stays_here(telemetry: Telemetry) -> None:
    """With its own spans alone, nothing of arguments, results and answers leaves."""
    agent_of([("refused", ARGUMENTS)], BOAST)("Charge 12.50 EUR.")
    assert "12.50" not in repr([dict(span.attributes or {}) for span in telemetry.spans])


def test_a_fault_of_ours_leaves_the_program_alone(mix: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that fails changes nothing for the agent."""

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(integration, "tool_call", fault)
    monkeypatch.setattr(integration, "agent_run", fault)
    assert str(agent_of([("created", ARGUMENTS)], "Done.")("Charge 12.50 EUR.")).strip() == "Done."


def test_everything_is_put_back(telemetry: Telemetry) -> None:
    """After `uninstrument` the framework is as it was."""

    def found() -> list[Callable[..., Any]]:
        loop: Any = vars(agent_module.Agent)["_run_loop"]
        return [_executor._run_tool, loop, Graph.stream_async, Swarm.stream_async]

    on = found()
    overclaim.uninstrument()
    off = found()
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert all(one is not other for one, other in zip(on, off, strict=True))
    assert all(one is other for one, other in zip(found(), off, strict=True))


def test_the_example_overclaims() -> None:
    """`examples/frameworks/strands_agent.py` is caught."""
    seen = frameworks.example("strands_agent")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
