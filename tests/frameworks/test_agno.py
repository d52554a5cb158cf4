"""Agno: every tool call and answer is seen, of agents and teams, at once and as a stream, with other instrumentors."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("agno")

import second_turn
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.team import Team
from agno.tools.function import FunctionCall
from recorded import Telemetry

import frameworks
import overclaim
from overclaim import _hooks

REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
BOAST = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
IDS = itertools.count()


@dataclass
class Scripted(Model):
    """Plays a model: each reply is a text, or names of tools to call at once."""

    id: str = "scripted"
    replies: list[ModelResponse] = field(default_factory=list)

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The next reply."""
        return self.replies.pop(0)

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The next reply."""
        return self.replies.pop(0)

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
        """The next reply, a text in two pieces."""
        yield from _pieces(self.replies.pop(0))

    async def ainvoke_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ModelResponse]:
        """The next reply, a text in two pieces."""
        for piece in _pieces(self.replies.pop(0)):
            yield piece

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> Any:
        return response

    def _parse_provider_response_delta(self, response: Any) -> Any:
        return response


def _pieces(reply: ModelResponse) -> list[ModelResponse]:
    if reply.content is None:
        return [reply]
    half = len(reply.content) // 2
    return [ModelResponse(role="assistant", content=part) for part in (reply.content[:half], reply.content[half:])]


def script(*turns: str | list[tuple[str, str]]) -> Scripted:
    """A model that says these texts and calls these tools."""
    replies: list[ModelResponse] = []
    for turn in turns:
        if isinstance(turn, str):
            replies.append(ModelResponse(role="assistant", content=turn))
            continue
        calls = [
            {"id": f"call_{next(IDS)}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments in turn
        ]
        replies.append(ModelResponse(role="assistant", tool_calls=calls))
    return Scripted(replies=replies)


def refuse(amount: str) -> dict[str, Any]:
    """Create a payment intent."""
    return REFUSED


def accept(amount: str) -> dict[str, Any]:
    """Create a payment intent."""
    return {"id": "pi_1", "amount": 1250, "status": "succeeded"}


def explode(amount: str) -> dict[str, Any]:
    """Create a payment intent."""
    raise RuntimeError("HTTP 400")


async def refuse_async(amount: str) -> dict[str, Any]:
    """Create a payment intent."""
    await asyncio.sleep(0)
    return REFUSED


def drip(amount: str) -> Iterator[str]:
    """Create a payment intent, told piece by piece."""
    yield '{"error": "invalid amount", '
    yield '"status": 400}'


async def drip_async(amount: str) -> AsyncIterator[str]:
    """Create a payment intent, told piece by piece."""
    yield '{"error": "invalid amount", '
    yield '"status": 400}'


def agent(tool: Callable[..., Any], *turns: str | list[tuple[str, str]], **more: Any) -> Agent:
    """An agent with one tool and a script."""
    name = tool.__name__
    wanted = turns or ([(name, '{"amount": "12.50"}')], BOAST)
    return Agent(name="payments", model=script(*wanted), tools=[tool], telemetry=False, **more)


def said(one: Agent | Team, what: str = "Content") -> str:
    """The kind of the events in which it speaks itself."""
    return f"{'TeamRun' if isinstance(one, Team) else 'Run'}{what}"


def once(one: Agent | Team) -> str:
    """The answer of a plain run."""
    return one.run("Charge 12.50 EUR.").content


def streamed(one: Agent | Team) -> str:
    """The answer of a streamed run, from its pieces."""
    events = one.run("Charge 12.50 EUR.", stream=True)
    return "".join(event.content for event in events if event.event == said(one))


def with_events(one: Agent | Team) -> str:
    """The answer of a streamed run that tells all its events."""
    events = list(one.run("Charge 12.50 EUR.", stream=True, stream_events=True))
    return next(event.content for event in events if event.event == said(one, "Completed"))


def awaited(one: Agent | Team) -> str:
    """The answer of an awaited run."""

    async def main() -> str:
        return (await one.arun("Charge 12.50 EUR.")).content

    return asyncio.run(main())


def streamed_async(one: Agent | Team) -> str:
    """The answer of an asynchronous stream, from its pieces."""

    async def main() -> str:
        events = one.arun("Charge 12.50 EUR.", stream=True)
        return "".join([event.content async for event in events if event.event == said(one)])

    return asyncio.run(main())


WAYS = (once, streamed, with_events, awaited, streamed_async)


def seen(telemetry: Telemetry) -> frameworks.Seen:
    """What a collector got."""
    return frameworks.sent(telemetry.spans)


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_that_the_agent_overlooks(telemetry: Telemetry, way: Callable[[Agent], str]) -> None:
    """A refused payment that is reported as made is a contradiction, however the agent is run."""
    assert way(agent(refuse)) == BOAST
    got = seen(telemetry)
    assert got.calls == [("refuse", "failure")]
    assert got.verdicts == ["contradicted"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("tool", "outcome"), [(accept, "success"), (explode, "failure"), (drip, "failure")])
def test_outcomes(telemetry: Telemetry, way: Callable[[Agent], str], tool: Callable[..., Any], outcome: str) -> None:
    """A success, an exception that Agno handles, and a refusal that a generator yields: one call each."""
    way(agent(tool))
    assert seen(telemetry).calls == [(tool.__name__, outcome)]


@pytest.mark.parametrize("way", [awaited, streamed_async])
@pytest.mark.parametrize("tool", [refuse_async, drip_async])
def test_async_tools(telemetry: Telemetry, way: Callable[[Agent], str], tool: Callable[..., Any]) -> None:
    """Coroutines and asynchronous generators as tools."""
    way(agent(tool))
    assert seen(telemetry).calls == [(tool.__name__, "failure")]
    assert seen(telemetry).verdicts == ["contradicted"]


def test_tools_called_at_once(telemetry: Telemetry) -> None:
    """Parallel calls are calls of their own, in the right run."""
    pair = Agent(
        name="payments",
        model=script([("refuse_async", '{"amount": "1"}'), ("accept", '{"amount": "2"}')], BOAST),
        tools=[refuse_async, accept],
        telemetry=False,
    )
    awaited(pair)
    assert sorted(seen(telemetry).calls) == [("accept", "success"), ("refuse_async", "failure")]


def test_a_span_inside_the_tool_is_below_its_span(telemetry: Telemetry) -> None:
    """What a tool does is found below its call."""

    def probe(amount: str) -> str:
        """Look at the world."""
        with telemetry.tracer.start_as_current_span("inside"):
            return "fine"

    once(agent(probe))
    (call,) = telemetry.named("execute_tool probe")
    parent = telemetry.one("inside").parent
    assert parent is not None
    assert parent.span_id == call.get_span_context().span_id


def test_a_decorated_tool_is_one_call(telemetry: Telemetry) -> None:
    """A function that is decorated and that Agno calls is seen once."""
    once(agent(overclaim.tool(refuse)))
    assert seen(telemetry).calls == [("refuse", "failure")]


@pytest.mark.parametrize("way", WAYS)
def test_a_team(telemetry: Telemetry, way: Callable[[Team], str]) -> None:
    """The calls of a team's member belong to the team's run, and the team's answer counts."""
    member = agent(refuse, [("refuse", '{"amount": "12.50"}')], "I could not create it.", id="payments")
    delegate = ("delegate_task_to_member", '{"member_id": "payments", "task": "Charge 12.50 EUR."}')
    team = Team(name="shop", members=[member], model=script([delegate], BOAST), telemetry=False)
    assert way(team) == BOAST
    got = seen(telemetry)
    assert ("refuse", "failure") in got.calls
    assert got.verdicts == ["contradicted"]


def test_an_honest_agent(telemetry: Telemetry) -> None:
    """Who says that it failed is honest."""
    once(agent(refuse, [("refuse", '{"amount": "12.50"}')], "I could not create the payment intent."))
    assert seen(telemetry).verdicts == ["honest"]


@pytest.mark.parametrize(("kind", "verdict"), [("code_interpreter", "no_claim"), ("web_search", "unsupported")])
def test_tools_that_the_provider_runs(telemetry: Telemetry, kind: str, verdict: str) -> None:
    """What the code of a provider's interpreter did does not show; a search of the provider does nothing else."""
    done = "I created the payment intent for 12.50 EUR."
    Agent(name="payments", model=script(done), tools=[accept, {"type": kind}], telemetry=False).run("Charge 12.50 EUR.")
    assert seen(telemetry).verdicts == [verdict]


def test_a_stream_that_is_left_early(telemetry: Telemetry) -> None:
    """A consumer that stops ends the run, and nothing breaks."""
    events = agent(refuse).run("Charge 12.50 EUR.", stream=True)
    next(events)
    events.close()
    assert len(telemetry.named("invoke_agent payments")) == 1


@pytest.mark.parametrize("way", [once, streamed, with_events, awaited, streamed_async])
def test_what_an_earlier_turn_did_may_be_claimed(telemetry: Telemetry, way: Callable[[Agent], str]) -> None:
    """The second turn of a conversation is not accused of what the first one did."""

    def talk(*turns: second_turn.Turn) -> second_turn.Ask:
        played = script(*(turn if isinstance(turn, str) else [(turn[0], json.dumps(turn[1]))] for turn in turns))
        known: list[Any] = [second_turn.send_email, second_turn.find_user]
        kept: dict[str, Any] = {"db": InMemoryDb(), "session_id": "s", "add_history_to_context": True}
        one = Agent(model=played, tools=known, telemetry=False, **kept)
        return lambda _: way(one)

    second_turn.assert_claims_of_earlier_turns(telemetry, talk)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("way", [once, streamed, awaited])
def test_with_openinference(telemetry: Telemetry, first: bool, way: Callable[[Agent], str]) -> None:
    """With OpenInference, switched on before or after us, a call stays one call with its outcome."""
    instrumentor = pytest.importorskip("openinference.instrumentation.agno").AgnoInstrumentor()
    _assert_one_call_with(instrumentor, telemetry, first, way)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("way", [once, streamed, awaited])
@pytest.mark.parametrize("module", ["opentelemetry.instrumentation.agno", "opentelemetry.instrumentation.genai.agno"])
def test_with_opentelemetry(telemetry: Telemetry, module: str, first: bool, way: Callable[[Agent], str]) -> None:
    """With the instrumentors of OpenLLMetry and of OpenTelemetry a call stays one call with its outcome."""
    instrumentor = pytest.importorskip(module).AgnoInstrumentor()
    _assert_one_call_with(instrumentor, telemetry, first, way)


PLACES = [(FunctionCall, "execute"), (FunctionCall, "aexecute")]
PLACES += [(owner, name) for owner in (Agent, Team) for name in ("run", "arun", "continue_run", "acontinue_run")]


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """The library as it was, also where an instrumentor leaves its patches behind."""
    before = [vars(owner)[name] for owner, name in PLACES]
    yield
    for (owner, name), old in zip(PLACES, before, strict=True):
        setattr(owner, name, old)


def _assert_one_call_with(instrumentor: Any, telemetry: Telemetry, first: bool, way: Callable[[Agent], str]) -> None:
    if first:
        overclaim.uninstrument()
    instrumentor.instrument(tracer_provider=telemetry.provider)
    try:
        if first:
            overclaim.instrument(tracer_provider=telemetry.provider)
        for tool, outcome in ((refuse, "failure"), (explode, "failure"), (accept, "success")):
            telemetry.exporter.clear()
            assert way(agent(tool)) == BOAST
            assert seen(telemetry).calls == [(tool.__name__, outcome)]
    finally:
        if first:
            overclaim.uninstrument()
        instrumentor.uninstrument()


def test_switching_off_restores_the_library(telemetry: Telemetry) -> None:
    """What was patched is what it was."""
    overclaim.uninstrument()
    before = [vars(owner)[name] for owner, name in PLACES]
    overclaim.instrument(tracer_provider=telemetry.provider)
    assert all(vars(owner)[name] is not old for (owner, name), old in zip(PLACES, before, strict=True))
    overclaim.uninstrument()
    assert all(vars(owner)[name] is old for (owner, name), old in zip(PLACES, before, strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_a_fault_of_ours_leaves_the_agent_alone(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, way: Callable[[Agent], str]
) -> None:
    """Hooks that fail change nothing for the program."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(_hooks, "tool_call", broken)
    monkeypatch.setattr(_hooks, "agent_run", broken)
    assert way(agent(refuse)) == BOAST


def test_the_example() -> None:
    """The example's agent is found out."""
    got = frameworks.example("agno_agent")
    assert got.verdicts == ["contradicted"]
    assert got.calls == [("create_payment_intent", "failure")]
