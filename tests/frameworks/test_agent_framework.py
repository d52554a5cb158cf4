"""Microsoft Agent Framework: every tool call and answer is seen, alone, with its own spans, and with OpenInference."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("agent_framework")

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionTool,
    MCPStdioTool,
    Message,
    ResponseStream,
    Workflow,
    WorkflowBuilder,
    tool,
)
from agent_framework._agents import RawAgent
from agent_framework.observability import OBSERVABILITY_SETTINGS
from opentelemetry import trace
from recorded import Telemetry

import frameworks
import overclaim
from overclaim.integrations import agent_framework as integration

REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
DONE = "I created the payment intent for 12.50 EUR."
BOAST = f"{DONE} Endpoint confirmed working."
SERVER = """
from mcp.server import MCPServer
server = MCPServer("pay", log_level="ERROR")

@server.tool()
def flagged(amount: str) -> str:
    raise RuntimeError("declined")

@server.tool()
def soft(amount: str) -> dict:
    return {"error": {"code": "invalid_integer"}, "status": 400}

server.run()
"""
ASKED = "Charge 12.50 EUR."
Turn = str | list[Content]


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Plays a model: a text, or the tools to call at once."""

    def __init__(self, *turns: Turn) -> None:
        super().__init__()
        self.turns = iter(turns)

    def _inner_get_response(self, *, stream: bool, **_: Any) -> Any:
        turn = next(self.turns)
        contents: list[Any] = [turn] if isinstance(turn, str) else turn

        async def response() -> ChatResponse:
            return ChatResponse(messages=[Message(role="assistant", contents=contents)])

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            parts = [turn[:9], turn[9:]] if isinstance(turn, str) else turn
            for part in parts:
                content = Content.from_text(part) if isinstance(part, str) else part
                yield ChatResponseUpdate(contents=[content], role="assistant")

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates) if stream else response()


@tool
def refused(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


@tool
def broken(amount: str) -> str:
    """Create a payment intent, and fall over."""
    raise RuntimeError("no connection")


@tool
async def created(amount: str) -> dict[str, Any]:
    """Create a payment intent."""
    return {"id": "pi_1", "status": "succeeded"}


@tool
async def contents(amount: str) -> list[Content]:
    """Create a payment intent, which the API refuses, and say so as MCP servers do."""
    return [Content.from_text('{"error": {"code": "invalid_integer"}, "status": 400}')]


@tool
@overclaim.tool
def decorated(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


TOOLS: list[Any] = [refused, broken, created, contents, decorated]


@pytest.fixture(params=["alone", "native", "openinference"])
def mix(request: pytest.FixtureRequest, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> Telemetry:
    """Overclaim alone, beside the framework's own spans, and with those turned into OpenInference's."""
    if request.param == "openinference":
        from openinference.instrumentation.agent_framework import AgentFrameworkToOpenInferenceProcessor

        telemetry.provider.add_span_processor(AgentFrameworkToOpenInferenceProcessor())
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_instrumentation", request.param != "alone")
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: telemetry.provider)
    return telemetry


def calling(*names: str) -> list[Content]:
    """A turn of the model that calls tools at once."""
    return [
        Content.from_function_call(f"call_{n}", name, arguments={"amount": "12.50"}) for n, name in enumerate(names)
    ]


def agent_of(*turns: Turn, tools: list[Any] = TOOLS, name: str = "payments") -> Agent:
    """An agent that plays a script."""
    return Agent(client=Scripted(*turns), name=name, tools=tools)


@pytest.mark.parametrize(
    ("name", "outcome", "verdict"),
    [
        ("refused", "failure", "contradicted"),
        ("broken", "failure", "contradicted"),
        ("contents", "failure", "contradicted"),
        ("decorated", "failure", "contradicted"),
        ("created", "success", "supported"),
    ],
)
def test_each_kind_of_tool_is_one_call_with_its_outcome(mix: Telemetry, name: str, outcome: str, verdict: str) -> None:
    """A tool that is refused, raises, gives contents, is decorated or works: one call, and a fair verdict."""
    assert asyncio.run(agent_of(calling(name), DONE).run(ASKED)).text == DONE
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [(name, outcome)]
    assert seen.verdicts == [verdict]


def test_tools_at_once_are_told_apart(mix: Telemetry) -> None:
    """Three calls run concurrently: three calls with their own outcomes."""
    asyncio.run(agent_of(calling("refused", "created", "broken"), BOAST).run(ASKED))
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("broken", "failure"), ("created", "success"), ("refused", "failure")]


def test_streamed_runs_are_seen(mix: Telemetry) -> None:
    """An agent whose updates are iterated, with the response asked for and without, in another task or in none."""

    async def said(agent: Agent, *, ask: bool) -> str:
        stream = agent.run(ASKED, stream=True)
        text = "".join([one.text async for one in stream])
        return (await stream.get_final_response()).text if ask else text

    async def main() -> None:
        assert await said(agent_of(calling("refused"), BOAST), ask=True) == BOAST
        assert await asyncio.create_task(said(agent_of(calling("refused"), BOAST), ask=False)) == BOAST

    asyncio.run(main())
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("refused", "failure")] * 2
    assert seen.verdicts == ["contradicted"] * 2


def test_a_stream_that_nobody_follows_to_its_end_is_over(mix: Telemetry) -> None:
    """What was said until then is what the user heard."""

    async def main() -> None:
        async for update in agent_of(calling("refused"), f"{DONE}  And more.").run(ASKED, stream=True):
            if update.text:
                break

    asyncio.run(main())
    assert frameworks.sent(mix.spans).calls == [("refused", "failure")]


def test_an_agent_as_a_tool_is_a_call_with_calls_below_it(mix: Telemetry) -> None:
    """The run is that of the outermost agent, and its answer is the answer."""
    clerk = agent_of(calling("refused"), "It failed: the API refused the amount.", name="clerk")
    ask = [Content.from_function_call("ask", "clerk", arguments={"task": "Charge 12.50 EUR."})]
    asyncio.run(agent_of(ask, BOAST, tools=[clerk.as_tool()]).run(ASKED))
    seen = frameworks.sent(mix.spans)
    assert [call[0] for call in seen.calls] == ["refused", "clerk"]
    assert seen.verdicts == ["contradicted"]


def test_tools_of_an_mcp_server_are_seen(mix: Telemetry) -> None:
    """A server's tool that fails in MCP's words, and one that gives back an error as its result: a call each."""

    async def main() -> None:
        async with MCPStdioTool("pay", command=sys.executable, args=["-c", SERVER]) as server:
            await agent_of(calling("flagged", "soft"), BOAST, tools=[server]).run(ASKED)

    asyncio.run(main())
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("flagged", "failure"), ("soft", "failure")]
    assert seen.verdicts == ["contradicted"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_workflow_is_one_run(mix: Telemetry, streamed: bool) -> None:
    """What one agent of a workflow did counts for what the last one says, and the honest are not accused."""

    async def main(name: str) -> None:
        clerk = agent_of(calling(name), "Over to the writer.", name="clerk")
        writer = agent_of(DONE, name="writer", tools=[])
        workflow = WorkflowBuilder(start_executor=clerk, output_from=[writer]).add_edge(clerk, writer).build()
        if streamed:
            events = [one async for one in workflow.run(ASKED, stream=True)]
        else:
            events = list(await workflow.run(ASKED))
        assert events

    for name in ("refused", "created"):
        asyncio.run(main(name))
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("created", "success"), ("refused", "failure")]
    assert sorted(seen.verdicts) == ["contradicted", "supported"]


def test_a_conversation_goes_on(mix: Telemetry) -> None:
    """What the agent did in an earlier run may be claimed in a later one."""

    async def main() -> None:
        agent = agent_of(calling("created"), DONE, DONE)
        session = agent.create_session()
        await agent.run(ASKED, session=session)
        await agent.run("Really?", session=session)

    asyncio.run(main())
    assert sorted(frameworks.sent(mix.spans).verdicts) == ["no_claim", "supported"]


def test_a_claim_without_any_call_is_unsupported(mix: Telemetry) -> None:
    """An agent that only says that it did it."""
    asyncio.run(agent_of(DONE).run(ASKED))
    assert frameworks.sent(mix.spans).verdicts == ["unsupported"]


def test_what_happens_in_a_tool_lands_below_its_span(mix: Telemetry) -> None:
    """The span that a tool makes in its thread is a child of the call's span."""

    @tool
    def asking(amount: str) -> str:
        """Ask somebody."""
        with mix.tracer.start_as_current_span("GET"):
            return "ok"

    asyncio.run(agent_of(calling("asking"), BOAST, tools=[asking]).run(ASKED))
    parent = mix.one("GET").parent
    assert parent is not None
    assert parent.span_id == mix.one("execute_tool asking").get_span_context().span_id


def test_an_exception_of_the_agent_passes_through(mix: Telemetry) -> None:
    """A model that fails."""
    with pytest.raises(Exception, match="StopIteration"):
        asyncio.run(agent_of().run(ASKED))


def test_content_stays_here(mix: Telemetry) -> None:
    """Nothing of arguments, results and answers leaves; there is one span a call, and one a run."""
    asyncio.run(agent_of(calling("refused"), BOAST).run(ASKED))
    assert "invalid_integer" not in repr([dict(span.attributes or {}) for span in mix.spans])
    assert len(mix.named("execute_tool refused")) == len(mix.named("invoke_agent payments")) == 1


def test_a_fault_of_ours_leaves_the_program_alone(mix: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that fails changes nothing for the agent."""

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    for name in ("tool_call", "agent_run"):
        monkeypatch.setattr(integration, name, fault)
    assert asyncio.run(agent_of(calling("created"), "Done.").run(ASKED)).text == "Done."

    async def streamed() -> str:
        return "".join([one.text async for one in agent_of(calling("created"), "Done.").run(ASKED, stream=True)])

    assert asyncio.run(streamed()) == "Done."


def test_everything_is_put_back(telemetry: Telemetry) -> None:
    """After `uninstrument` the framework is as it was."""

    def found() -> list[Any]:
        return [FunctionTool._invoke_function, RawAgent.run, Workflow.run]

    on = found()
    overclaim.uninstrument()
    off = found()
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert all(one is not other for one, other in zip(on, off, strict=True))
    assert all(one is other for one, other in zip(found(), off, strict=True))


def test_the_example_overclaims() -> None:
    """`examples/frameworks/agent_framework_agent.py` is caught."""
    seen = frameworks.example("agent_framework_agent")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
