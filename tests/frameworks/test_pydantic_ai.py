"""Pydantic AI: its own spans with outcomes and answers on them, and the guard of its agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import second_turn
from opentelemetry import trace
from recorded import Telemetry

import frameworks
import overclaim
from overclaim import integrations
from overclaim.guards.pydantic_ai import guard
from overclaim.integrations import pydantic_ai as ours

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ToolCallPart,
    ToolReturn,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.usage import UsageLimits

OVERCLAIM = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
HONEST = "I could not create the payment intent: the API refused the amount."
ARGUMENTS = {"amount": "12.50", "currency": "eur"}
REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}
CREATE = ("create_payment_intent", ARGUMENTS)
Call = tuple[str, dict[str, Any]]


def scripted(calls: list[Call], *answers: str) -> FunctionModel:
    """A model that calls tools first, and then says one thing after the other."""
    parts = [ToolCallPart(tool, arguments) for tool, arguments in calls]

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        if turn == 0 and parts:
            return ModelResponse(parts=parts)
        return ModelResponse(parts=[TextPart(answers[min(turn - bool(parts), len(answers) - 1)])])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if len(messages) == 1:
            for number, (tool, arguments) in enumerate(calls):
                yield {number: DeltaToolCall(tool, json.dumps(arguments), tool_call_id=f"call_{number}")}
            return
        for word in answers[0].split(" "):
            yield f"{word} "

    return FunctionModel(model, stream_function=stream)


def payments(calls: list[Call], *answers: str, **options: Any) -> Any:
    """An agent with tools that end in all the ways."""
    agent: Any = Agent(scripted(calls, *(answers or (OVERCLAIM,))), name="payments", **options)

    @agent.tool_plain
    def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
        """Create a payment intent."""
        return REFUSED

    @agent.tool_plain
    async def delete_user(user: str) -> str:
        raise ModelRetry("name the user by id")

    @agent.tool
    async def process_order(ctx: RunContext[None], order: int) -> Any:
        return ToolReturn(return_value={"order": order, "status": "shipped"}, metadata={"error": "of no interest"})

    @agent.tool_plain
    async def send_mail(to: str) -> str:
        raise CallDeferred

    @agent.tool_plain
    def crash() -> str:
        raise RuntimeError("no connection")

    return agent


def run(agent: Any) -> Any:
    """Run it as most do. The library leaves the event loop open that it makes where there is none."""
    with closing(asyncio.new_event_loop()) as loop:
        asyncio.set_event_loop(loop)
        try:
            return agent.run_sync("Charge 12.50 EUR.")
        finally:
            asyncio.set_event_loop(None)


async def awaited(agent: Any) -> None:
    """Run it in an event loop."""
    await agent.run("Charge 12.50 EUR.")


async def streamed(agent: Any) -> None:
    """Take the answer piece by piece."""
    async with agent.run_stream("Charge 12.50 EUR.") as result:
        assert [piece async for piece in result.stream_text()]


async def stepwise(agent: Any) -> None:
    """Go through the steps of the run."""
    async with agent.iter("Charge 12.50 EUR.") as steps:
        assert [step async for step in steps]


async def events(agent: Any) -> None:
    """Take the events of the run."""
    async with agent.run_stream_events("Charge 12.50 EUR.") as found:
        assert [event async for event in found]


@pytest.mark.parametrize("way", [awaited, streamed, stepwise, events])
def test_a_soft_failure_contradicts_the_answer(telemetry: Telemetry, way: Callable[[Any], Any]) -> None:
    """However the agent is run, the call has failed and the answer is heard, though no content is on the spans."""
    asyncio.run(way(payments([CREATE])))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
    assert seen.labelled("overclaim.claimed.source").count("final_message") == 3  # two claims and the run


def test_every_outcome_is_seen_once(telemetry: Telemetry) -> None:
    """Parallel calls that fail softly, ask for a retry and succeed: each has its own outcome, and one span."""
    calls = [CREATE, ("delete_user", {"user": "ann"}), ("process_order", {"order": 1})]
    run(payments(calls))
    seen = frameworks.sent(telemetry.spans)
    outcomes = [("create_payment_intent", "failure"), ("delete_user", "failure"), ("process_order", "success")]
    assert sorted(seen.calls) == outcomes
    assert [span.name for span in seen.spans].count("execute_tool create_payment_intent") == 1


def test_a_deferred_call_is_pending(telemetry: Telemetry) -> None:
    """A call that waits for somebody has not failed, and the requests for it are no answer."""
    result = run(payments([("send_mail", {"to": "ann"})], output_type=[str, DeferredToolRequests]))
    seen = frameworks.sent(telemetry.spans)
    assert isinstance(result.output, DeferredToolRequests)
    assert seen.calls == [("send_mail", "pending")]
    assert seen.verdicts == ["incomplete"]


def test_an_exception_passes_and_is_a_failure(telemetry: Telemetry) -> None:
    """What a tool raises reaches the program as ever."""
    with pytest.raises(RuntimeError, match="no connection"):
        run(payments([("crash", {})]))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("crash", "failure")]
    assert not [one for one in seen.judged if one.verdict.accuses]


def test_a_structured_answer_is_read(telemetry: Telemetry) -> None:
    """The text in an answer that is an object is what the user is told."""

    class Answer(BaseModel):
        text: str

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        call = CREATE if len(messages) == 1 else (info.output_tools[0].name, {"text": OVERCLAIM})
        return ModelResponse(parts=[ToolCallPart(*call)])

    agent = Agent(FunctionModel(model), output_type=Answer, tools=[create_payment_intent])
    run(agent)
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


@overclaim.tool
def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    return REFUSED


def test_a_decorated_tool_stays_one_call(telemetry: Telemetry) -> None:
    """A tool of the agent may be one of ours."""
    run(Agent(scripted([CREATE], OVERCLAIM), tools=[create_payment_intent]))
    assert frameworks.sent(telemetry.spans).calls == [("create_payment_intent", "failure")]


def test_what_a_tool_does_is_below_its_span(telemetry: Telemetry) -> None:
    """A refused request inside a tool that says nothing of it is the tool's failure."""
    agent: Any = Agent(scripted([("create_user", {})], "I created the user."))

    @agent.tool_plain
    def create_user() -> str:
        attributes = {"http.request.method": "POST", "url.full": "https://api.example/users"}
        kind = trace.SpanKind.CLIENT
        with telemetry.tracer.start_as_current_span("POST", kind=kind, attributes=attributes) as span:
            span.set_attribute("http.response.status_code", 400)
        return "ok"

    run(agent)
    seen = frameworks.sent(telemetry.spans)
    assert telemetry.one("POST").parent.span_id == telemetry.one("execute_tool create_user").context.span_id
    assert seen.calls == [("create_user", "failure")]
    assert seen.verdicts == ["contradicted"]


def delegating(answer: str) -> Any:
    """An agent whose only tool is another agent."""
    inner = payments([CREATE])
    outer: Any = Agent(scripted([("ask_payments", {})], answer), name="front")

    @outer.tool
    async def ask_payments(ctx: RunContext[None]) -> str:
        result = await inner.run("Charge 12.50 EUR.", usage=ctx.usage)
        return result.output

    return outer


def test_a_sub_agent_is_part_of_the_run(telemetry: Telemetry) -> None:
    """Its calls count, and what it says is no answer to the user."""
    run(delegating("The payments department has not charged anything."))
    seen = frameworks.sent(telemetry.spans)
    assert len(seen.judged) == 1
    assert ("create_payment_intent", "failure") in seen.calls
    assert seen.verdicts == ["no_claim"]
    telemetry.exporter.clear()
    run(delegating(OVERCLAIM))
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"]


def test_a_run_of_the_programs_own_stays_the_run(telemetry: Telemetry) -> None:
    """Within overclaim.run the agent's span is a part of that run, and its answer counts where none is given."""

    @overclaim.run("shop")
    def work() -> None:
        run(payments([CREATE]))

    work()
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
    assert [span.name for span in seen.spans if span.name.startswith("invoke_agent")] == [
        "invoke_agent payments",
        "invoke_agent shop",
    ]


def test_tools_of_an_mcp_server_are_one_call_each(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's span, the client's and the server's stand for one call, with a prefix or without."""
    pytest.importorskip("fastmcp")
    from mcp.server.mcpserver import MCPServer
    from pydantic_ai.mcp import MCPToolset

    monkeypatch.setattr("mcp.shared._otel._tracer", telemetry.provider.get_tracer("mcp-python-sdk"))
    server: Any = MCPServer("payments")
    server.tool()(refuse)
    toolset = MCPToolset(server)
    run(Agent(scripted([("refuse", ARGUMENTS)], OVERCLAIM), toolsets=[toolset]))
    run(Agent(scripted([("stripe_refuse", ARGUMENTS)], OVERCLAIM), toolsets=[toolset.prefixed("stripe")]))
    seen = frameworks.sent(telemetry.spans)
    assert sorted(seen.calls) == [("refuse", "failure"), ("stripe_refuse", "failure")]
    assert seen.verdicts == ["contradicted", "contradicted"]


def refuse(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    return REFUSED


@pytest.mark.parametrize("content", [False, True])
def test_a_set_up_of_the_users_own_stays(telemetry: Telemetry, content: bool) -> None:
    """Where the program said what its spans hold, that holds, and calls and verdict are the same."""
    settings = InstrumentationSettings(tracer_provider=telemetry.provider, include_content=content)
    agent = payments([CREATE])
    agent.instrument = settings
    run(agent)
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
    assert bool(seen.labelled("final_result")) is content


def test_beside_openinference_it_stays_one_call(telemetry: Telemetry) -> None:
    """With OpenInference's names on the same spans, calls and outcomes are the same."""
    frameworks.needs("openinference.instrumentation.pydantic_ai")
    from openinference.instrumentation.pydantic_ai import OpenInferenceSpanProcessor

    telemetry.provider.add_span_processor(OpenInferenceSpanProcessor())
    run(payments([CREATE]))
    with pytest.raises(RuntimeError):
        run(payments([("crash", {})]))
    seen = frameworks.sent(telemetry.spans)
    assert sorted(seen.calls) == [("crash", "failure"), ("create_payment_intent", "failure")]
    assert sorted(seen.verdicts) == ["contradicted", "incomplete"]


def test_no_content_leaves(telemetry: Telemetry) -> None:
    """Neither questions, arguments, results nor answers are on any span."""
    run(payments([CREATE]))
    written = [str(value) for span in telemetry.spans for value in (span.attributes or {}).values()]
    assert not [text for text in written if "12.50" in text or "invalid_request" in text or "confirmed" in text]


def test_content_leaves_where_it_may() -> None:
    """With capture_content the library's own spans hold it."""
    telemetry = Telemetry()
    overclaim.instrument(tracer_provider=telemetry.provider, capture_content=True)
    try:
        run(payments([CREATE]))
    finally:
        overclaim.uninstrument()
    assert telemetry.one("invoke_agent payments").attributes["final_result"] == OVERCLAIM
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"]


@pytest.fixture
def untouched() -> Iterator[None]:
    """Nothing is instrumented before, and afterwards the library's default holds again."""
    overclaim.uninstrument()
    yield
    overclaim.uninstrument()
    Agent.instrument_all(False)


@pytest.mark.usefixtures("untouched")
def test_the_library_is_left_as_it_was() -> None:
    """After uninstrument() its functions and its default are its own again."""

    def state() -> list[Any]:
        names = ("wrap_tool_execute", "wrap_run")
        return [*(vars(Instrumentation)[name] for name in names), Agent._instrument_default]

    before = state()
    overclaim.instrument(http_clients=False)
    assert not [one for one, other in zip(before, state(), strict=True) if one is other]
    overclaim.uninstrument()
    assert state() == before


@pytest.mark.usefixtures("untouched")
def test_a_default_of_the_users_own_is_not_touched() -> None:
    """Whether it was set before or after us, it stays in force."""
    chosen = InstrumentationSettings(include_content=False)
    Agent.instrument_all(chosen)
    overclaim.instrument(http_clients=False)
    assert Agent._instrument_default is chosen
    overclaim.uninstrument()
    Agent.instrument_all(False)
    overclaim.instrument(http_clients=False)
    Agent.instrument_all(chosen)
    overclaim.uninstrument()
    assert Agent._instrument_default is chosen


def test_a_fault_of_ours_is_nobodys_trouble(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our own hooks fail, the agent goes on as if we were not there."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(ours, "tool_call", broken)
    monkeypatch.setattr(ours, "agent_run", broken)
    assert run(payments([CREATE])).output == OVERCLAIM


def test_it_is_switched_on() -> None:
    """The integration is in force once the library is imported."""
    overclaim.instrument(http_clients=False)
    (found,) = [one for one in integrations.status() if one.integration.name == "pydantic_ai"]
    overclaim.uninstrument()
    assert (found.state, found.why) == ("on", "")


def test_what_an_earlier_turn_did_may_be_claimed(telemetry: Telemetry) -> None:
    """The second turn of a conversation is not accused of what the first one did."""

    def talk(*turns: second_turn.Turn) -> second_turn.Ask:
        left = [TextPart(turn) if isinstance(turn, str) else ToolCallPart(*turn) for turn in turns]
        model = FunctionModel(lambda *_: ModelResponse(parts=[left.pop(0)]))
        agent: Any = Agent(model, tools=[second_turn.send_email, second_turn.find_user])
        said: list[ModelMessage] = []

        def ask(asked: str) -> str:
            result = asyncio.run(agent.run(asked, message_history=list(said)))
            said[:] = result.all_messages()
            return str(result.output)

        return ask

    second_turn.assert_claims_of_earlier_turns(telemetry, talk)


def provided(*parts: Any) -> Any:
    """An agent whose model's provider runs a tool itself."""
    agent: Any = Agent(FunctionModel(lambda *_: ModelResponse(parts=[*parts, TextPart(second_turn.SENT)])))
    agent.tool_plain(second_turn.send_email)
    return agent


@pytest.mark.parametrize(
    ("outcome", "content", "observed"),
    [("success", {"return_code": 0}, "success"), ("failed", "Traceback: KeyError", "failure"), (None, None, "unknown")],
)
def test_code_that_the_provider_runs_is_a_call(
    telemetry: Telemetry, outcome: str | None, content: Any, observed: str
) -> None:
    """Its result counts where there is one. What else the code did cannot be known, so that may be claimed."""
    returned: list[Any] = []
    if outcome is not None:
        returned.append(NativeToolReturnPart("code_execution", content, tool_call_id="1", outcome=outcome))
    run(provided(NativeToolCallPart("code_execution", {"code": "send()"}, tool_call_id="1"), *returned))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("code_execution", observed)]
    assert "unsupported" not in seen.verdicts


def test_a_search_of_the_provider_excuses_nothing(telemetry: Telemetry) -> None:
    """Who only looked something up has sent nothing."""
    found = NativeToolReturnPart("web_search", {"status": "completed"}, tool_call_id="1")
    run(provided(NativeToolCallPart("web_search", {"query": "ann"}, tool_call_id="1"), found))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("web_search", "success")]
    assert seen.verdicts == ["unsupported"]


def guarded(*answers: str, times: int = 1, **options: Any) -> Any:
    """An agent with a guard."""
    agent = payments([CREATE], *answers, **options)
    agent.output_validator(guard(retries=times))
    return agent


def test_the_guard_lets_the_agent_mend_its_answer(telemetry: Telemetry) -> None:
    """The model is told what its calls show; what it says then is the answer."""
    result = run(guarded(OVERCLAIM, HONEST))
    told = str(result.all_messages()[-2])
    assert result.output == HONEST
    assert "Your answer claims more than your tool calls show" in told
    assert frameworks.sent(telemetry.spans).verdicts == ["honest"]


@pytest.mark.parametrize(("times", "options", "asked"), [(1, {}, 2), (0, {}, 1), (3, {"retries": 3}, 4), (3, {}, 2)])
def test_the_guard_asks_only_so_often(telemetry: Telemetry, times: int, options: dict[str, Any], asked: int) -> None:
    """An agent that insists gets its way after the retries of the guard or its own: a run never fails for the guard."""
    agent = guarded(OVERCLAIM, times=times, **options)
    for _ in range(2):
        result = run(agent)
        assert result.output == OVERCLAIM
        answers = [part for message in result.all_messages() for part in message.parts if isinstance(part, TextPart)]
        assert len(answers) == asked
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"] * 2


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        (UsageLimits(request_limit=2), 1),
        (UsageLimits(request_limit=3), 1),
        (UsageLimits(request_limit=4), 2),
        (UsageLimits(request_limit=None), 2),
        (UsageLimits(tool_calls_limit=1), 1),
        (UsageLimits(tool_calls_limit=2), 2),
        (UsageLimits(output_tokens_limit=40), 1),
        (UsageLimits(output_tokens_limit=4000), 2),
        (UsageLimits(total_tokens_limit=200), 1),
        (UsageLimits(per_request_input_tokens_limit=100), 1),
    ],
)
def test_the_guard_keeps_within_the_limits_of_usage(telemetry: Telemetry, limits: UsageLimits, asked: int) -> None:
    """Where another request might exceed them, the answer passes: a run does not fail because of the guard."""
    result = asyncio.run(guarded(OVERCLAIM, HONEST).run("Charge 12.50 EUR.", usage_limits=limits))
    assert result.output == (OVERCLAIM if asked == 1 else HONEST)
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted" if asked == 1 else "honest"]


def test_the_guard_lets_honest_answers_pass(telemetry: Telemetry) -> None:
    """Nothing is asked again where nothing speaks against the answer, nor while it is still being streamed."""
    assert run(guarded(HONEST, "never said")).output == HONEST
    asyncio.run(streamed(guarded(HONEST, "never said")))
    assert frameworks.sent(telemetry.spans).verdicts == ["honest"] * 2


def test_the_guard_does_nothing_where_nobody_watches() -> None:
    """Without overclaim.instrument() no call is seen, so every answer passes."""
    overclaim.uninstrument()
    assert run(guarded(OVERCLAIM, HONEST)).output == OVERCLAIM


@pytest.mark.parametrize("retries", [-1, True, "1", None])
def test_the_guard_takes_numbers_only(retries: Any) -> None:
    """A number of retries that makes no sense is said at once."""
    with pytest.raises(overclaim.OverclaimError, match="0 or more"):
        guard(retries=retries)


@pytest.mark.parametrize(("name", "verdict"), [("pydantic_ai_agent", "contradicted"), ("pydantic_ai_guard", "honest")])
def test_the_examples_do_what_they_say(name: str, verdict: str) -> None:
    """The examples as a user would run them."""
    seen = frameworks.example(name)
    assert seen.verdicts == [verdict]
    assert seen.calls == [("create_payment_intent", "failure")]
