"""Google ADK: every tool call and answer is seen, with its own spans, without them, and with OpenInference."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("google.adk.runners")

import second_turn
from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent
from google.adk.agents.context import Context
from google.adk.apps import App
from google.adk.flows.llm_flows.tools import _caller, _live_caller
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import InMemoryRunner, Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai.types import CodeExecutionResult, Content, ExecutableCode, Part
from opentelemetry import trace
from recorded import Telemetry

import frameworks
import overclaim
from overclaim.integrations import google_adk as integration

REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
CREATED = "I created the payment intent for 12.50 EUR."
BOAST = f"{CREATED} Endpoint confirmed working."


class Scripted(BaseLlm):
    """Plays a model: a text, the tools to call at once, or the parts of a reply."""

    turns: list[Any]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Say the next turn."""
        turn = self.turns.pop(0)
        if isinstance(turn, str):
            parts = [Part(text=turn)]
            if stream:
                yield LlmResponse(content=Content(role="model", parts=[Part(text=turn[:9])]), partial=True)
        elif isinstance(turn[0], Part):
            parts = turn
        else:
            parts = [Part.from_function_call(name=name, args=args) for name, args in turn]
        yield LlmResponse(content=Content(role="model", parts=parts))


def refused(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


async def broken(amount: str) -> str:
    """Create a payment intent, and fall over."""
    raise RuntimeError("no connection")


async def created(amount: str) -> dict[str, Any]:
    """Create a payment intent."""
    return {"id": "pi_1", "status": "succeeded"}


def said(amount: str) -> str:
    """Create a payment intent, and say in words that it went wrong."""
    return "Error: the API refused the amount"


@overclaim.tool
def decorated(amount: str) -> dict[str, Any]:
    """Create a payment intent, which the API refuses."""
    return dict(REFUSED)


TOOLS: list[Any] = [refused, broken, created, said, decorated]
ARGUMENTS = {"amount": "12.50"}


@pytest.fixture(params=["alone", "native", "openinference"])
def mix(request: pytest.FixtureRequest, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    """Overclaim alone, beside the framework's own spans, and with OpenInference's in their place."""
    quiet = request.param == "alone"
    provider: trace.TracerProvider = trace.NoOpTracerProvider() if quiet else telemetry.provider
    for name, module in list(sys.modules.items()):
        if name.startswith("google.adk.") and isinstance(vars(module).get("tracer"), trace.Tracer):
            monkeypatch.setattr(module, "tracer", provider.get_tracer("gcp.vertex.agent"))
    if request.param != "openinference":
        yield telemetry
        return
    from openinference.instrumentation.google_adk import GoogleADKInstrumentor

    instrumentor = GoogleADKInstrumentor()
    instrumentor.instrument(tracer_provider=telemetry.provider)
    yield telemetry
    instrumentor.uninstrument()


def agent_of(*turns: Any, name: str = "payments", **more: Any) -> LlmAgent:
    """An agent that plays a script."""
    more.setdefault("tools", TOOLS)
    return LlmAgent(name=name, model=Scripted(model="scripted", turns=list(turns)), **more)


async def asked(agent: BaseAgent, **more: Any) -> list[str]:
    """The texts of the final responses."""
    runner = InMemoryRunner(agent=agent, app_name="payments")
    session = await runner.session_service.create_session(app_name="payments", user_id="ann")
    message = Content(role="user", parts=[Part(text="Charge 12.50 EUR.")])
    texts: list[str] = []
    async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=message, **more):
        if event.is_final_response() and event.content and event.content.parts:
            texts += [part.text for part in event.content.parts if part.text]
    return texts


@pytest.mark.parametrize(
    ("name", "outcome", "verdict"),
    [
        ("refused", "failure", "contradicted"),
        ("said", "failure", "contradicted"),
        ("decorated", "failure", "contradicted"),
        ("created", "success", "supported"),
    ],
)
def test_each_kind_of_tool_is_one_call_with_its_outcome(mix: Telemetry, name: str, outcome: str, verdict: str) -> None:
    """A tool that is refused, says that it failed, is decorated or works: one call, and a fair verdict."""
    assert asyncio.run(asked(agent_of([(name, ARGUMENTS)], CREATED))) == [CREATED]
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [(name, outcome)]
    assert seen.verdicts == [verdict]


def test_a_tool_that_raises_is_a_failure(mix: Telemetry) -> None:
    """The exception ends the run, as it does without us."""
    with pytest.raises(RuntimeError, match="no connection"):
        asyncio.run(asked(agent_of([("broken", ARGUMENTS)])))
    assert frameworks.sent(mix.spans).calls == [("broken", "failure")]


def test_a_handled_exception_is_a_failure_nevertheless(mix: Telemetry) -> None:
    """A callback that answers in the tool's place does not undo what happened."""

    def handled(**_: Any) -> dict[str, Any]:
        return {"result": "never mind"}

    asyncio.run(asked(agent_of([("broken", ARGUMENTS)], CREATED, on_tool_error_callback=handled)))
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("broken", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_bad_arguments_are_a_failure(mix: Telemetry) -> None:
    """A tool that is called without its argument did not do anything."""
    asyncio.run(asked(agent_of([("created", {})], CREATED)))
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("created", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_tools_at_once_are_told_apart(mix: Telemetry) -> None:
    """Calls that run concurrently keep their own outcomes; the framework's summary of them is no call."""
    asyncio.run(asked(agent_of([("refused", ARGUMENTS), ("created", ARGUMENTS), ("said", ARGUMENTS)], BOAST)))
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("created", "success"), ("refused", "failure"), ("said", "failure")]


def test_streaming_and_synchronous_runs_are_seen(mix: Telemetry) -> None:
    """A run whose model streams, and one that is iterated without `await`."""
    from google.adk.agents.run_config import RunConfig, StreamingMode

    config = RunConfig(streaming_mode=StreamingMode.SSE)
    assert asyncio.run(asked(agent_of([("refused", ARGUMENTS)], BOAST), run_config=config)) == [BOAST]
    runner = InMemoryRunner(agent=agent_of([("said", ARGUMENTS)], BOAST), app_name="payments")
    session = asyncio.run(runner.session_service.create_session(app_name="payments", user_id="ann"))
    message = Content(role="user", parts=[Part(text="Charge 12.50 EUR.")])
    list(runner.run(user_id="ann", session_id=session.id, new_message=message))
    seen = frameworks.sent(mix.spans)
    assert sorted(seen.calls) == [("refused", "failure"), ("said", "failure")]
    assert seen.verdicts == ["contradicted", "contradicted"]


def test_a_consumer_that_had_enough_still_heard_the_answer(mix: Telemetry) -> None:
    """Programs often stop at the final response."""

    async def main() -> None:
        runner = InMemoryRunner(agent=agent_of([("refused", ARGUMENTS)], BOAST), app_name="payments")
        session = await runner.session_service.create_session(app_name="payments", user_id="ann")
        message = Content(role="user", parts=[Part(text="Charge 12.50 EUR.")])
        events = runner.run_async(user_id="ann", session_id=session.id, new_message=message)
        async for event in events:
            if event.is_final_response():
                break
        await events.aclose()

    asyncio.run(main())
    assert frameworks.sent(mix.spans).verdicts == ["contradicted"]


@pytest.mark.filterwarnings("ignore:The `plugins` argument:DeprecationWarning")
def test_an_agent_as_a_tool_is_a_call_with_calls_below_it(mix: Telemetry) -> None:
    """The run is that of the outermost agent, and its answer is the answer."""
    clerk = agent_of([("refused", ARGUMENTS)], "It failed: the API refused the amount.", name="clerk")
    asyncio.run(asked(agent_of([("clerk", {"request": "Charge 12.50 EUR."})], BOAST, tools=[AgentTool(clerk)])))
    seen = frameworks.sent(mix.spans)
    assert [call[0] for call in seen.calls] == ["refused", "clerk"]
    assert seen.verdicts == ["contradicted"]


def test_agents_that_hand_over_are_one_run(mix: Telemetry) -> None:
    """What one agent did counts for what the next one says."""
    clerk = agent_of([("refused", ARGUMENTS)], BOAST, name="clerk", description="Makes payments.")
    root = agent_of([("transfer_to_agent", {"agent_name": "clerk"})], name="root", sub_agents=[clerk], tools=[])
    assert asyncio.run(asked(root))[-1] == BOAST
    seen = frameworks.sent(mix.spans)
    assert ("refused", "failure") in seen.calls
    assert seen.verdicts == ["contradicted"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_agents_that_take_turns_are_one_run(mix: Telemetry) -> None:
    """The answer of the last one counts, not what the first one told it."""
    clerk = agent_of([("refused", ARGUMENTS)], CREATED, name="clerk")
    writer = agent_of("Sorry, the payment failed: the API refused the amount.", name="writer", tools=[])
    asyncio.run(asked(SequentialAgent(name="team", sub_agents=[clerk, writer])))
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["honest"]


def test_what_comes_later_is_not_there_yet(mix: Telemetry) -> None:
    """A long-running tool without a result has neither failed nor succeeded."""

    def approved(amount: str) -> None:
        """Ask the boss, who takes a while."""

    agent = agent_of([("approved", ARGUMENTS)], "I asked.", tools=[LongRunningFunctionTool(approved)])
    asyncio.run(asked(agent))
    assert frameworks.sent(mix.spans).calls == [("approved", "unknown")]


def test_what_an_earlier_turn_did_may_be_claimed(mix: Telemetry) -> None:
    """The second turn of a conversation is not accused of what the first one did."""

    def talk(*turns: second_turn.Turn) -> second_turn.Ask:
        script = [turn if isinstance(turn, str) else [turn] for turn in turns]
        agent = agent_of(*script, tools=[second_turn.send_email, second_turn.find_user])
        runner = InMemoryRunner(agent=agent, app_name="mails")
        asyncio.run(runner.session_service.create_session(app_name="mails", user_id="ann", session_id="s"))

        async def ask(asked: str) -> str:
            message = Content(role="user", parts=[Part(text=asked)])
            found = [event async for event in runner.run_async(user_id="ann", session_id="s", new_message=message)]
            return str(found[-1].content.parts[0].text)

        return lambda asked: asyncio.run(ask(asked))

    second_turn.assert_claims_of_earlier_turns(mix, talk)


def test_what_a_memory_tells_of_may_be_claimed(mix: Telemetry) -> None:
    """What was done in another session, of which a memory tells, may be claimed."""
    turns = [("created", ARGUMENTS)], CREATED, CREATED
    runner = InMemoryRunner(agent=agent_of(*turns, tools=[*TOOLS, PreloadMemoryTool()]), app_name="payments")
    sessions, memory = runner.session_service, runner.memory_service

    async def main() -> None:
        await runner.run_debug("Create a payment intent.", session_id="one", quiet=True)
        done = await sessions.get_session(app_name="payments", user_id="debug_user_id", session_id="one")
        await memory.add_session_to_memory(done)
        await runner.run_debug("Is there a payment intent?", session_id="two", quiet=True)

    asyncio.run(main())
    assert sorted(frameworks.sent(mix.spans).verdicts) == ["no_claim", "supported"]


@pytest.mark.parametrize("plugin", [False, True])
def test_a_call_that_is_answered_before_the_tool_runs(mix: Telemetry, plugin: bool) -> None:
    """A callback, or a plugin, that answers for a tool has answered the call."""

    async def answer(**_: Any) -> dict[str, Any]:
        return {"id": "pi_1", "status": "succeeded"}

    class Cached(BasePlugin):
        before_tool_callback = staticmethod(answer)

    turns = [("created", ARGUMENTS)], CREATED
    if plugin:
        app = App(name="payments", root_agent=agent_of(*turns), plugins=[Cached("cached")])
        asyncio.run(InMemoryRunner(app=app).run_debug("Charge 12.50 EUR.", quiet=True))
    else:
        asyncio.run(asked(agent_of(*turns, before_tool_callback=answer)))
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("created", "success")]
    assert seen.verdicts == ["supported"]


@pytest.mark.parametrize(("outcome", "observed"), [("OUTCOME_OK", "success"), ("OUTCOME_FAILED", "failure")])
def test_code_that_the_provider_runs_is_a_call(mix: Telemetry, outcome: str, observed: str) -> None:
    """Code in a reply of the model comes with what it printed; what else it did cannot be known."""
    ran = [
        Part(executable_code=ExecutableCode(code="migrate()", language="PYTHON")),
        Part(code_execution_result=CodeExecutionResult(outcome=outcome, output="done")),
        Part(text="I sent the email to ann@shop.example."),
    ]
    asyncio.run(asked(agent_of(ran)))
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("code_execution", observed)]
    assert "unsupported" not in seen.verdicts


def test_what_happens_in_a_tool_lands_below_its_span(mix: Telemetry) -> None:
    """The span that a tool makes is a child of the call's span."""

    def asking(amount: str) -> str:
        """Ask somebody."""
        with mix.tracer.start_as_current_span("GET"):
            return "ok"

    asyncio.run(asked(agent_of([("asking", ARGUMENTS)], BOAST, tools=[asking])))
    parent = mix.one("GET").parent
    context = mix.one("execute_tool asking").context
    assert parent is not None
    assert context is not None
    assert parent.span_id == context.span_id


def test_a_fault_of_ours_leaves_the_program_alone(mix: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that fails changes nothing for the agent."""

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    for name in ("tool_call", "agent_run", "_answers"):
        monkeypatch.setattr(integration, name, fault)
    assert asyncio.run(asked(agent_of([("created", ARGUMENTS)], "Done."))) == ["Done."]
    monkeypatch.undo()


def test_everything_is_put_back(telemetry: Telemetry) -> None:
    """After `uninstrument` the framework is as it was."""

    def found() -> list[Callable[..., Any]]:
        tools = [_caller._call_tool_async, _live_caller._call_tool_async, _live_caller._call_tool_in_thread_pool]
        heard = ("run_on_event_callback", "run_before_run_callback", "run_before_tool_callback")
        tools += [Runner.run_async, _caller._run_callbacks, Context.search_memory]
        return [*tools, *(getattr(PluginManager, one) for one in heard)]

    on = found()
    overclaim.uninstrument()
    off = found()
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert all(one is not other for one, other in zip(on, off, strict=True))
    assert all(one is other for one, other in zip(found(), off, strict=True))


def test_the_example_overclaims() -> None:
    """`examples/frameworks/google_adk_agent.py` is caught."""
    seen = frameworks.example("google_adk_agent")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
