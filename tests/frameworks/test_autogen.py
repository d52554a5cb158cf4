"""AutoGen: every tool call and answer is seen, alone, with its own spans, and with OpenInference."""

from __future__ import annotations

import asyncio
import gc
import itertools
import sys
import weakref
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("autogen_agentchat")

from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_core.tools import BaseStreamTool, BaseTool, FunctionTool, StaticWorkbench, ToolOverride
from autogen_ext.models.replay import ReplayChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams
from opentelemetry import trace
from pydantic import BaseModel
from recorded import Telemetry

import frameworks
import overclaim
from overclaim.integrations import autogen as integration

REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
DONE = "I created the payment intent for 12.50 EUR."
BOAST = f"{DONE} Endpoint confirmed working."
ASKED = "Charge 12.50 EUR."
MODEL = ModelInfo(vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False)
SERVER = """
from mcp.server.fastmcp import FastMCP
server = FastMCP("pay", log_level="ERROR")

@server.tool()
def flagged(amount: str) -> str:
    raise RuntimeError("declined")

@server.tool()
def soft(amount: str) -> dict:
    return {"error": {"code": "invalid_integer"}, "status": 400}

server.run()
"""
IDS = itertools.count()
Turn = str | list[FunctionCall]


def refused(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


def broken(amount: str) -> str:
    """Create a payment intent, and fall over."""
    raise RuntimeError("no connection")


async def awaited(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


async def created(amount: str) -> dict[str, Any]:
    """Create a payment intent."""
    return {"id": "pi_1", "status": "succeeded"}


class Outcome(BaseModel):
    """A result with a schema."""

    error: str
    status: int


def modelled(amount: str) -> Outcome:
    """Create a payment intent, which the API refuses."""
    return Outcome(error="invalid_integer", status=400)


@overclaim.tool
def decorated(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


class Amount(BaseModel):
    """Arguments of the tool that streams."""

    amount: str


class Streamed(BaseStreamTool[Amount, TextMessage, Outcome]):
    """A tool that yields news before its result."""

    def __init__(self) -> None:
        super().__init__(Amount, Outcome, "streamed", "Create a payment intent.")

    async def run(self, args: Amount, cancellation_token: CancellationToken) -> Outcome:
        """Run at once."""
        return Outcome(error="invalid_integer", status=400)

    async def run_stream(
        self, args: Amount, cancellation_token: CancellationToken
    ) -> AsyncGenerator[TextMessage | Outcome, None]:
        """Run piece by piece."""
        yield TextMessage(content="asking", source="streamed")
        yield Outcome(error="invalid_integer", status=400)


TOOLS: list[Any] = [refused, broken, awaited, created, modelled, decorated, Streamed()]


class Clerk(BaseChatAgent):
    """An agent of the program's own, which calls no model."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Texts."""
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Boast."""
        return Response(chat_message=TextMessage(content=BOAST, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Nothing to forget."""


@pytest.fixture(params=["alone", "native", "openinference"])
def mix(request: pytest.FixtureRequest, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    """Overclaim alone, beside the framework's own spans, and beside OpenInference's as well."""
    from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor

    if request.param == "alone":
        yield telemetry
        return
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: telemetry.provider)
    instrumentor = AutogenAgentChatInstrumentor()
    if request.param == "openinference":
        instrumentor.instrument(tracer_provider=telemetry.provider, skip_dep_check=True)
    yield telemetry
    if request.param == "openinference":
        instrumentor.uninstrument()


def calling(*names: str, arguments: str = '{"amount": "12.50"}') -> list[FunctionCall]:
    """A turn of the model that calls tools at once."""
    return [FunctionCall(id=f"call_{next(IDS)}", name=name, arguments=arguments) for name in names]


def agent_of(*turns: Turn, name: str = "payments", tools: list[Any] = TOOLS, **more: Any) -> AssistantAgent:
    """An agent that plays a script."""

    def played(turn: Turn) -> str | CreateResult:
        if isinstance(turn, str):
            return turn
        return CreateResult(content=turn, finish_reason="function_calls", usage=RequestUsage(0, 0), cached=False)

    model = ReplayChatCompletionClient([played(turn) for turn in turns], model_info=MODEL)
    return AssistantAgent(name, model, tools=tools or None, reflect_on_tool_use=True, **more)


@pytest.mark.parametrize(
    ("name", "outcome", "verdict"),
    [
        ("refused", "failure", "contradicted"),
        ("broken", "failure", "contradicted"),
        ("awaited", "failure", "contradicted"),
        ("modelled", "failure", "contradicted"),
        ("decorated", "failure", "contradicted"),
        ("streamed", "failure", "contradicted"),
        ("created", "success", "supported"),
    ],
)
def test_each_kind_of_tool_is_one_call_with_its_outcome(mix: Telemetry, name: str, outcome: str, verdict: str) -> None:
    """A tool that is refused, raises, streams, is decorated or works: one call, and a fair verdict."""
    result = asyncio.run(agent_of(calling(name), DONE).run(task=ASKED))
    assert result.messages[-1].to_text() == DONE
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [(name, outcome)]
    assert seen.verdicts == [verdict]


def test_tools_at_once_are_told_apart(mix: Telemetry) -> None:
    """Three calls run concurrently: three calls with their own outcomes."""
    asyncio.run(agent_of(calling("refused", "created", "broken"), BOAST).run(task=ASKED))
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("broken", "failure"), ("created", "success"), ("refused", "failure")]


def test_streamed_runs_are_seen(mix: Telemetry) -> None:
    """An agent whose messages are iterated."""

    async def main() -> Any:
        return [one async for one in agent_of(calling("refused"), BOAST).run_stream(task=ASKED)][-1]

    assert isinstance(asyncio.run(main()), TaskResult)
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_bad_arguments_are_a_failure(mix: Telemetry) -> None:
    """Arguments that do not fit the tool: it is not run, and did not do anything."""
    asyncio.run(agent_of(calling("created", arguments="{}"), BOAST).run(task=ASKED))
    assert frameworks.sent(mix.spans).calls == [("created", "failure")]


def test_a_tool_that_the_workbench_lacks_is_a_failure(mix: Telemetry) -> None:
    """A call that reaches no tool."""

    async def main() -> None:
        with overclaim.run("payments") as run:
            bench = StaticWorkbench([FunctionTool(refused, "Create it.")])
            assert (await bench.call_tool("create_payment", {})).is_error
            run.answer(BOAST)

    asyncio.run(main())
    assert frameworks.sent(mix.spans).calls == [("create_payment", "failure")]


def test_a_workbench_may_rename_its_tools(mix: Telemetry) -> None:
    """Tools that are called by themselves, by the workbench, or by another name."""

    async def main() -> None:
        with overclaim.run("payments"):
            tool = FunctionTool(refused, "Create it.")
            bench = StaticWorkbench([tool], tool_overrides={"refused": ToolOverride(name="pay")})
            await bench.call_tool("pay", {"amount": "1"})
            await tool.run_json({"amount": "1"}, CancellationToken())

    asyncio.run(main())
    assert frameworks.sent(mix.spans).calls == [("refused", "failure")] * 2


def test_an_agent_as_a_tool_is_a_call_with_calls_below_it(mix: Telemetry) -> None:
    """The run is that of the outermost agent, and its answer is the answer."""
    clerk = agent_of(calling("refused"), "It failed: the API refused the amount.", name="clerk")
    ask = calling("clerk", arguments='{"task": "Charge 12.50 EUR."}')
    asyncio.run(agent_of(ask, BOAST, tools=[AgentTool(clerk, return_value_as_last_message=True)]).run(task=ASKED))
    seen = frameworks.sent(mix.spans)
    assert [call[0] for call in seen.calls] == ["refused", "clerk"]
    assert seen.verdicts == ["contradicted"]


@pytest.mark.parametrize("nested", [False, True])
def test_a_team_is_one_run(mix: Telemetry, nested: bool) -> None:
    """What one agent of a team did counts for what the last one says; teams may be members of teams."""

    async def main() -> TaskResult:
        clerk: Any = agent_of(calling("refused"), "Over to the boss.", name="clerk")
        if nested:
            clerk = RoundRobinGroupChat([clerk], termination_condition=MaxMessageTermination(2))
        team = RoundRobinGroupChat([clerk, Clerk("boss", "Boasts.")], max_turns=2)
        return await team.run(task=ASKED)

    assert asyncio.run(main()).messages[-1].to_model_text() == BOAST  # pyright: ignore
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_tools_of_an_mcp_server_are_seen(mix: Telemetry) -> None:
    """A server's tool that fails in MCP's words, and one that gives back an error as its result: a call each."""

    async def main() -> None:
        async with McpWorkbench(StdioServerParams(command=sys.executable, args=["-c", SERVER])) as bench:
            agent = agent_of(calling("flagged", "soft"), BOAST, tools=[], workbench=bench)
            await agent.run(task=ASKED)

    asyncio.run(main())
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("flagged", "failure"), ("soft", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_a_conversation_goes_on(mix: Telemetry) -> None:
    """What the agent did in an earlier run may be claimed in a later one; with a team it is the same."""

    async def main() -> None:
        agent = agent_of(calling("created"), DONE, DONE, DONE)
        for runner in (agent, agent, RoundRobinGroupChat([agent], max_turns=1)):
            await runner.run(task=ASKED)

    asyncio.run(main())
    assert sorted(frameworks.sent(mix.spans).verdicts) == ["no_claim", "no_claim", "supported"]


def test_a_claim_without_any_call_is_unsupported(mix: Telemetry) -> None:
    """An agent that only says that it did it, whoever wrote the agent."""
    asyncio.run(Clerk("clerk", "Boasts.").run(task=ASKED))
    assert frameworks.sent(mix.spans).verdicts == ["unsupported"]


def test_what_happens_in_a_tool_lands_below_its_span(mix: Telemetry) -> None:
    """The span that a tool makes in its thread is a child of the call's span."""

    def asking(amount: str) -> str:
        """Ask somebody."""
        with mix.tracer.start_as_current_span("GET"):
            return "ok"

    asyncio.run(agent_of(calling("asking"), BOAST, tools=[asking]).run(task=ASKED))
    parent = mix.one("GET").parent
    assert parent is not None
    assert parent.span_id == mix.one("execute_tool asking").get_span_context().span_id


def test_content_stays_here(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of arguments, results and answers leaves; its own spans are enriched, not doubled."""
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: telemetry.provider)
    asyncio.run(agent_of(calling("refused"), BOAST).run(task=ASKED))
    assert "12.50" not in repr([dict(span.attributes or {}) for span in telemetry.spans])
    assert len(telemetry.named("execute_tool refused")) == len(telemetry.named("invoke_agent payments")) == 1


def test_a_fault_of_ours_leaves_the_program_alone(mix: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that fails changes nothing for the agent."""

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    for name in ("tool_call", "agent_run", "_patch_class"):
        monkeypatch.setattr(integration, name, fault)
    result = asyncio.run(agent_of(calling("created"), "Done.").run(task=ASKED))
    assert result.messages[-1].to_text() == "Done."


def test_everything_is_put_back(telemetry: Telemetry) -> None:
    """After `uninstrument` the framework is as it was, classes that were used included."""

    def found() -> list[Any]:
        tools = [BaseTool.run_json, BaseStreamTool.run_json_stream, StaticWorkbench.call_tool, FunctionTool.run]
        agents = [AssistantAgent.on_messages, AssistantAgent.on_messages_stream]
        return [*tools, *agents, BaseChatAgent.run, BaseChatAgent.run_stream, BaseGroupChat.run_stream]

    asyncio.run(agent_of(calling("refused"), BOAST).run(task=ASKED))
    on = found()
    overclaim.uninstrument()
    off = found()
    overclaim.instrument(tracer_provider=telemetry.provider)
    asyncio.run(agent_of(calling("refused"), BOAST).run(task=ASKED))
    overclaim.uninstrument()
    assert all(one is not other for one, other in zip(on, off, strict=True))
    assert all(one is other for one, other in zip(found(), off, strict=True))


class Peek(BaseModel):
    """The arguments of a tool."""

    x: int


def test_classes_that_go_away_are_let_go(telemetry: Telemetry) -> None:
    """A class of tools that a program makes per session is not kept alive by being watched, and is put back else."""

    def made() -> BaseTool[Peek, str]:
        class PerSession(BaseTool[Peek, str]):
            def __init__(self) -> None:
                super().__init__(Peek, str, "peek", "Look.")

            async def run(self, args: Peek, cancellation_token: CancellationToken) -> str:
                return "seen"

        return PerSession()

    async def used() -> weakref.ref[type]:
        tool = made()
        await tool.run_json({"x": 1}, CancellationToken())
        return weakref.ref(type(tool))

    async def main() -> list[weakref.ref[type]]:
        return [await used() for _ in range(5)]

    kinds = asyncio.run(main())
    gc.collect()
    assert not any(kind() for kind in kinds)
    assert len(telemetry.named("execute_tool peek")) == 5
    kept = made()
    before = vars(type(kept))["run"]
    asyncio.run(kept.run_json({"x": 1}, CancellationToken()))
    assert vars(type(kept))["run"] is not before
    overclaim.uninstrument()
    assert vars(type(kept))["run"] is before


def test_the_example_overclaims() -> None:
    """`examples/frameworks/autogen_agent.py` is caught."""
    seen = frameworks.example("autogen_agent")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
