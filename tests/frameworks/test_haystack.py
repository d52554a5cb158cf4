"""Haystack: every tool call and answer is seen, alone, with its own spans, and with OpenInference."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

pytest.importorskip("haystack")
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Pipeline, tracing
from haystack.components.agents import Agent
from haystack.components.agents import agent as agent_module
from haystack.components.generators.chat.mock import MockChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import ComponentTool, Tool, tool
from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer
from recorded import Telemetry

import frameworks
import overclaim
from overclaim.integrations import haystack as integration

REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
DONE = "I created the payment intent for 12.50 EUR."
BOAST = f"{DONE} Endpoint confirmed working."
ASKED = [ChatMessage.from_user("Charge 12.50 EUR.")]
Amount = Annotated[str, "What to charge."]


@tool
def refused(amount: Amount) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


@tool
def broken(amount: Amount) -> str:
    """Create a payment intent, and fall over."""
    raise RuntimeError("no connection")


@tool
def created(amount: Amount) -> dict[str, Any]:
    """Create a payment intent."""
    return {"id": "pi_1", "status": "succeeded"}


@tool
@overclaim.tool
def decorated(amount: Amount) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


async def _awaited(amount: str) -> dict[str, Any]:
    return dict(REFUSED)


PARAMETERS = {"type": "object", "properties": {"amount": {"type": "string"}}, "required": ["amount"]}
awaited = Tool(name="awaited", description="Create it.", parameters=PARAMETERS, async_function=_awaited)
TOOLS: list[Any] = [refused, broken, created, decorated, awaited]


@pytest.fixture(params=["alone", "native", "openinference"])
def mix(request: pytest.FixtureRequest, telemetry: Telemetry) -> Iterator[Telemetry]:
    """Overclaim alone, beside the framework's own spans, and beside OpenInference's as well."""
    from openinference.instrumentation.haystack import HaystackInstrumentor

    instrumentor = HaystackInstrumentor()
    if request.param != "alone":
        tracing.enable_tracing(OpenTelemetryTracer(telemetry.provider.get_tracer("haystack")))
    if request.param == "openinference":
        instrumentor.instrument(tracer_provider=telemetry.provider, skip_dep_check=True)
    try:
        yield telemetry
    finally:
        tracing.disable_tracing()
        if request.param == "openinference":
            instrumentor.uninstrument()


def calling(*names: str, **given: str) -> ChatMessage:
    """A turn of the model that calls tools at once."""
    calls = [ToolCall(name, given or {"amount": "12.50"}, id=f"call_{n}") for n, name in enumerate(names)]
    return ChatMessage.from_assistant(tool_calls=calls)


def agent_of(*turns: ChatMessage | str, tools: list[Any] = TOOLS, **more: Any) -> Agent:
    """An agent that plays a script."""
    return Agent(chat_generator=MockChatGenerator(responses=list(turns)), tools=tools, **more)


@pytest.mark.parametrize(
    ("name", "outcome", "verdict"),
    [
        ("refused", "failure", "contradicted"),
        ("broken", "failure", "contradicted"),
        ("decorated", "failure", "contradicted"),
        ("created", "success", "supported"),
    ],
)
def test_each_kind_of_tool_is_one_call_with_its_outcome(mix: Telemetry, name: str, outcome: str, verdict: str) -> None:
    """A tool that is refused, raises, is decorated or works: one call, and a fair verdict, run either way."""
    agent = agent_of(calling(name), DONE)
    assert agent.run(list(ASKED))["last_message"].text == DONE
    assert asyncio.run(agent.run_async(list(ASKED)))["last_message"].text == DONE
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [(name, outcome)] * 2
    assert seen.verdicts == [verdict] * 2


def test_asynchronous_tools_are_seen(mix: Telemetry) -> None:
    """A tool with nothing but a coroutine function."""
    asyncio.run(agent_of(calling("awaited"), BOAST).run_async(list(ASKED)))
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("awaited", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_tools_at_once_are_told_apart(mix: Telemetry) -> None:
    """Three calls run in three threads: three calls with their own outcomes, in one run."""
    agent_of(calling("refused", "created", "broken"), BOAST).run(list(ASKED))
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("broken", "failure"), ("created", "success"), ("refused", "failure")]


def test_a_failure_that_ends_the_agent_is_the_programs(mix: Telemetry) -> None:
    """Where the program wants the exception, it gets it, and the call is a failure still."""
    with pytest.raises(Exception, match="no connection"):
        agent_of(calling("broken"), BOAST, raise_on_tool_invocation_failure=True).run(list(ASKED))
    assert frameworks.sent(mix.spans).calls == [("broken", "failure")]


def test_a_streamed_answer_is_heard(mix: Telemetry) -> None:
    """A callback takes the pieces of the answer."""
    pieces: list[str] = []
    agent_of(calling("refused"), BOAST).run(list(ASKED), streaming_callback=lambda one: pieces.append(one.content))
    assert BOAST in "".join(pieces)
    assert frameworks.sent(mix.spans).verdicts == ["contradicted"]


def test_an_agent_as_a_tool_is_a_call_with_calls_below_it(mix: Telemetry) -> None:
    """The run is that of the outermost agent, and its answer is the answer."""
    clerk = agent_of(calling("refused"), "It failed: the API refused the amount.")
    described = ComponentTool(component=clerk, name="clerk", description="Ask the clerk.")
    ask = ChatMessage.from_assistant(
        tool_calls=[ToolCall("clerk", {"messages": [{"role": "user", "content": [{"text": "Charge"}]}]}, id="c")]
    )
    agent_of(ask, BOAST, tools=[described]).run(list(ASKED))
    seen = frameworks.sent(mix.spans)
    assert [call[0] for call in seen.calls] == ["refused", "clerk"]
    assert seen.verdicts == ["contradicted"]


def test_an_agent_in_a_pipeline_is_a_run(mix: Telemetry) -> None:
    """What OpenInference shows of pipelines does not come between."""
    pipeline = Pipeline()
    pipeline.add_component("agent", agent_of(calling("refused"), BOAST))
    pipeline.run({"agent": {"messages": list(ASKED)}})
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["contradicted"]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("name", ["refused", "created"])
def test_agents_of_one_pipeline_are_one_run(mix: Telemetry, name: str, awaited: bool) -> None:
    """What one agent did counts for what the next one says, and the honest are not accused."""
    pipeline = Pipeline()
    pipeline.add_component("clerk", agent_of(calling(name), "Over to the writer."))
    pipeline.add_component("writer", agent_of(DONE, tools=[created]))
    pipeline.connect("clerk.messages", "writer.messages")
    asked = {"clerk": {"messages": list(ASKED)}}
    done = asyncio.run(pipeline.run_async(asked)) if awaited else pipeline.run(asked)
    assert done["writer"]["last_message"].text == DONE
    seen = frameworks.sent(mix.spans)
    assert [call[0] for call in seen.calls] == [name]
    assert seen.verdicts == ["contradicted" if name == "refused" else "supported"]


def test_a_conversation_goes_on(telemetry: Telemetry) -> None:
    """What the agent did in an earlier run may be claimed in a later one."""
    first = agent_of(calling("created"), DONE).run(list(ASKED))["messages"]
    agent_of(DONE).run([*first, ChatMessage.from_user("Really?")])
    assert sorted(frameworks.sent(telemetry.spans).verdicts) == ["no_claim", "supported"]


def test_a_run_that_begins_with_results(mix: Telemetry) -> None:
    """A call whose result the agent is given was made before, such as by the program."""
    call = ToolCall(tool_name="created", arguments={"amount": "12.50"}, id="call_1")
    given = [ChatMessage.from_assistant(tool_calls=[call]), ChatMessage.from_tool("pi_1", origin=call)]
    agent_of(DONE).run([*ASKED, *given])
    assert frameworks.sent(mix.spans).verdicts == ["no_claim"]


def test_a_claim_without_any_call_is_unsupported(mix: Telemetry) -> None:
    """An agent that only says that it did it."""
    agent_of(DONE).run(list(ASKED))
    assert frameworks.sent(mix.spans).verdicts == ["unsupported"]


def test_what_happens_in_a_tool_lands_below_its_span(mix: Telemetry) -> None:
    """The span that a tool makes is a child of the call's span."""

    @tool
    def asking(amount: Amount) -> str:
        """Ask somebody."""
        with mix.tracer.start_as_current_span("GET"):
            return "ok"

    agent_of(calling("asking"), BOAST, tools=[asking]).run(list(ASKED))
    parent = mix.one("GET").parent
    labelled = [one for one in mix.spans if "overclaim.observed.outcome" in (one.attributes or {})]
    assert parent is not None
    assert parent.span_id == labelled[0].get_span_context().span_id


def test_its_own_spans_are_enriched_not_doubled(telemetry: Telemetry) -> None:
    """With its own spans, none of ours stands beside them."""
    tracing.enable_tracing(OpenTelemetryTracer(telemetry.provider.get_tracer("haystack")))
    try:
        agent_of(calling("refused"), BOAST).run(list(ASKED))
    finally:
        tracing.disable_tracing()
    assert not telemetry.named("execute_tool refused")
    assert not telemetry.named("invoke_agent")
    assert "overclaim.observed.outcome" in (telemetry.one("haystack.agent.step.tool").attributes or {})
    assert "12.50" not in repr([dict(span.attributes or {}) for span in telemetry.spans])


def test_content_stays_here(telemetry: Telemetry) -> None:
    """Nothing of arguments, results and answers leaves."""
    agent_of(calling("refused"), BOAST).run(list(ASKED))
    assert "12.50" not in repr([dict(span.attributes or {}) for span in telemetry.spans])


def test_a_fault_of_ours_leaves_the_program_alone(mix: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that fails changes nothing for the agent."""

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    for name in ("tool_call", "agent_run", "answered"):
        monkeypatch.setattr(integration, name, fault)
    assert agent_of(calling("created"), "Done.").run(list(ASKED))["last_message"].text == "Done."


def test_everything_is_put_back(telemetry: Telemetry) -> None:
    """After `uninstrument` the framework is as it was."""

    def found() -> list[Any]:
        pipelines = [Pipeline.run, Pipeline.run_async, Pipeline.run_async_generator]
        return [Tool.invoke, Tool.invoke_async, Agent._create_agent_span, agent_module._public_outputs, *pipelines]

    on = found()
    overclaim.uninstrument()
    off = found()
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert all(one is not other for one, other in zip(on, off, strict=True))
    assert all(one is other for one, other in zip(found(), off, strict=True))


def test_the_example_overclaims() -> None:
    """`examples/frameworks/haystack_agent.py` is caught."""
    seen = frameworks.example("haystack_agent")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
