"""CrewAI under overclaim: crews and agents, alone and beside OpenInference and OpenLLMetry."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from recorded import Telemetry

import frameworks

pytest.importorskip("crewai")

import requests
import second_turn
from crewai import Agent, BaseLLM, Crew, Task
from crewai.agent import core
from crewai.agents.cache.cache_handler import CacheHandler
from crewai.memory.unified_memory import Memory
from crewai.tools import BaseTool, ToolFailure, base_tool, structured_tool, tool
from openinference.instrumentation.crewai import CrewAIInstrumentor as OpenInference
from opentelemetry.instrumentation.crewai import CrewAIInstrumentor as OpenLLMetry

import overclaim

# The library reads what it calls deprecated itself.
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.timeout(240)]
QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "CREWAI_TESTING": "true"}
LIE = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
PAY = ("create_payment_intent", {"amount": 12.5, "currency": "EUR"})
PATCHED = [
    (Crew, "kickoff"),
    (Crew, "akickoff"),
    (core.Agent, "kickoff"),
    (core.Agent, "kickoff_async"),
    (CacheHandler, "read"),
    (Memory, "recall"),
    *((owner, name) for owner in (base_tool.BaseTool, base_tool.Tool) for name in ("run", "arun")),
    *((structured_tool.CrewStructuredTool, name) for name in ("invoke", "ainvoke")),
]


@tool
def create_payment_intent(amount: float, currency: str) -> dict[str, object]:
    """Create a payment intent."""
    return {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}


@tool("Create Invoice")
def create_invoice(customer: str) -> dict[str, object]:
    """Create an invoice."""
    return {"id": "in_1", "object": "invoice", "customer": customer, "status": "open"}


@tool
def delete_invoice(invoice: str) -> str:
    """Delete an invoice."""
    raise RuntimeError(f"no permission to delete {invoice}")


@tool
def cancel_order(order: str) -> object:
    """Cancel an order."""
    return ToolFailure(message=f"{order} was shipped", code="shipped")


@tool
@overclaim.tool
def send_mail(to: str) -> dict[str, object]:
    """Send a mail."""
    return {"sent": 0, "failed": 1, "errors": [{"to": to, "message": "mailbox unavailable"}]}


class Order(BaseTool):
    """A tool that asks a server and hides what that says."""

    name: str = "create_order"
    description: str = "Create an order."

    def _run(self, url: str) -> str:
        requests.post(url, timeout=5)
        return "ok"


KNOWN = [create_payment_intent, create_invoice, delete_invoice, cancel_order, send_mail, Order()]


class Scripted(BaseLLM):
    """A model that says what it is told to: a text, or a list of tool calls."""

    script: list[Any] = []  # noqa: RUF012
    native: bool = True

    def supports_function_calling(self) -> bool:
        """Whether calls are more than text."""
        return self.native

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        """The next message of the script."""
        said = self.script.pop(0)
        if isinstance(said, str):
            return said if self.native else f"Thought: I now know the final answer\nFinal Answer: {said}"
        if not self.native:
            name, arguments = said[0]
            return f"Thought: I do.\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        return [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(said)
        ]

    async def acall(self, messages: Any, *_: Any, **__: Any) -> Any:
        """The same."""
        return self.call(messages)


def agent(*script: Any, native: bool = True, **options: Any) -> Agent:
    """An agent that calls tools."""
    llm = Scripted(model="scripted", native=native)
    llm.script = list(script)
    return Agent(**{"role": "clerk", "goal": "works", "backstory": "diligent", "llm": llm, "tools": KNOWN} | options)


def crew(*agents: Agent) -> Crew:
    """A crew that gives every agent a task."""
    tasks = [Task(description="go", expected_output="what was done", agent=one) for one in agents]
    return Crew(name="payments", agents=list(agents), tasks=tasks)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the library's own leaves the machine, and it asks nobody whether it may."""
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=["alone", "openinference first", "openinference last", "openllmetry"])
def watched(request: pytest.FixtureRequest, telemetry: Telemetry) -> Iterator[Telemetry]:
    """Our hooks alone, and with other instrumentors switched on before or after them."""
    if request.param == "alone":
        yield telemetry
        return
    theirs = (OpenLLMetry if request.param == "openllmetry" else OpenInference)()
    if request.param != "openinference last":
        overclaim.uninstrument()
    theirs.instrument(tracer_provider=telemetry.provider)
    overclaim.instrument(tracer_provider=telemetry.provider)
    try:
        yield telemetry
    finally:
        last_on_first_off = (overclaim.uninstrument, theirs.uninstrument)
        for off in reversed(last_on_first_off) if request.param == "openinference last" else last_on_first_off:
            off()


@pytest.mark.parametrize("native", [True, False])
def test_a_failure_in_a_result_contradicts_the_answer(watched: Telemetry, native: bool) -> None:
    """A returned error is a failed call, once, and the crew's answer is compared with it."""
    assert crew(agent([PAY], LIE, native=native)).kickoff().raw == LIE
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_an_agent_on_its_own(watched: Telemetry) -> None:
    """An agent without a crew is a run as well."""
    assert agent([PAY], LIE).kickoff("pay").raw == LIE
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


@pytest.mark.parametrize("how", ["kickoff_async", "akickoff"])
def test_crews_in_an_event_loop(telemetry: Telemetry, how: str) -> None:
    """Both ways of running a crew in an event loop are seen once."""
    assert asyncio.run(getattr(crew(agent([PAY], LIE)), how)()).raw == LIE
    seen = frameworks.sent(telemetry.spans)
    assert (seen.calls, seen.verdicts) == ([("create_payment_intent", "failure")], ["contradicted"])


@pytest.mark.parametrize("how", ["kickoff", "kickoff_async", "akickoff"])
def test_agents_in_an_event_loop(telemetry: Telemetry, how: str) -> None:
    """All ways of running an agent in an event loop are seen once."""

    async def main() -> str:
        return (await getattr(agent([PAY], LIE), how)("pay")).raw

    assert asyncio.run(main()) == LIE
    seen = frameworks.sent(telemetry.spans)
    assert (seen.calls, seen.verdicts) == ([("create_payment_intent", "failure")], ["contradicted"])


def test_calls_in_parallel(watched: Telemetry) -> None:
    """Calls that run beside each other are told apart, each with its own outcome."""
    crew(agent([PAY, ("create_invoice", {"customer": "ann"})], "I created the invoice for ann.")).kickoff()
    seen = frameworks.sent(watched.spans)
    assert sorted(seen.calls) == [("Create Invoice", "success"), ("create_payment_intent", "failure")]
    assert seen.verdicts == ["supported"]


def test_a_tool_that_raises(watched: Telemetry) -> None:
    """The library turns an exception into a text for the model; the call failed all the same."""
    crew(agent([("delete_invoice", {"invoice": "in_7"})], "I deleted the invoice in_7.")).kickoff()
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("delete_invoice", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_a_tool_that_says_that_it_failed(watched: Telemetry) -> None:
    """What a tool says by an object of the library counts."""
    crew(agent([("cancel_order", {"order": "A-17"})], "I cancelled the order A-17.")).kickoff()
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("cancel_order", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_a_decorated_function_is_one_call(watched: Telemetry) -> None:
    """A function that has our decorator as well is still one call."""
    crew(agent([("send_mail", {"to": "ann@shop.example"})], "I sent the mail to ann@shop.example.")).kickoff()
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("send_mail", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_what_an_earlier_turn_did_may_be_claimed(watched: Telemetry) -> None:
    """The second turn of a conversation is not accused of what the first one did."""

    def talk(*turns: second_turn.Turn) -> second_turn.Ask:
        script = [turn if isinstance(turn, str) else [turn] for turn in turns]
        one = agent(*script, tools=[tool(second_turn.send_email), tool(second_turn.find_user)])
        said: list[Any] = []

        def ask(asked: str) -> str:
            said.append({"role": "user", "content": asked})
            raw = one.kickoff(list(said)).raw
            said.append({"role": "assistant", "content": raw})
            return raw

        return ask

    second_turn.assert_claims_of_earlier_turns(watched, talk)


@pytest.mark.parametrize(
    ("place", "verdict"), [("cache", "no_claim"), ("memory", "no_claim"), ("nowhere", "unsupported")]
)
def test_what_a_cache_or_a_memory_tells_of_may_be_claimed(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, place: str, verdict: str
) -> None:
    """What comes out of one of them was perhaps done in an earlier run."""
    overclaim.uninstrument()
    monkeypatch.setattr(Memory, "recall", lambda *_: ["an invoice for ann was created"])
    overclaim.instrument(tracer_provider=telemetry.provider)
    cache = CacheHandler()
    cache.add("create_invoice", "ann", "in_1")

    @tool
    def look_up(place: str) -> str:
        """Look something up."""
        if place == "memory":
            return str(Memory.recall(Memory.model_construct(), "invoice"))
        return str(cache.read("create_invoice", "ann" if place == "cache" else "bob"))

    crew(agent([("look_up", {"place": place})], "I created the invoice for ann.", tools=[look_up])).kickoff()
    assert frameworks.sent(telemetry.spans).verdicts == [verdict]


def test_an_answer_of_the_cache_is_no_call(telemetry: Telemetry) -> None:
    """There are as many calls as the tool was really called, however often the model asks."""
    done: list[str] = []

    @tool
    def create_token(user: str) -> dict[str, object]:
        """Create a token."""
        done.append(user)
        return {"error": "no such user", "status": 404}

    asked = [("create_token", {"user": "ann"})]
    crew(agent(asked, asked, "I could not create the token.", tools=[create_token])).kickoff()
    assert frameworks.sent(telemetry.spans).calls == [("create_token", "failure")] * len(done)


def test_agents_one_after_the_other(watched: Telemetry) -> None:
    """The tasks of a crew are one run, whose answer is the last."""
    crew(agent([PAY], "It failed."), agent(LIE)).kickoff()
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_work_that_is_delegated(telemetry: Telemetry) -> None:
    """What a coworker calls belongs to the run; to ask the coworker is no call of a tool."""
    asked = {"task": "pay", "context": "12.50 EUR", "coworker": "clerk"}
    boss = agent([("delegate_work_to_coworker", asked)], LIE, role="boss", allow_delegation=True, tools=[])
    clerk = agent([PAY], "It failed.")
    task = Task(description="pay", expected_output="what was done", agent=boss)
    Crew(agents=[boss, clerk], tasks=[task]).kickoff()
    seen = frameworks.sent(telemetry.spans)
    assert (seen.calls, seen.verdicts) == ([("create_payment_intent", "failure")], ["contradicted"])


class Refusing(BaseHTTPRequestHandler):
    """A server that refuses everything."""

    def do_POST(self) -> None:
        """Refuse."""
        self.send_response(422)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("native", [True, False])
def test_requests_inside_a_tool(watched: Telemetry, native: bool) -> None:
    """What a server says inside the tool is evidence of its call."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        asked = ("create_order", {"url": f"http://127.0.0.1:{server.server_port}/"})
        crew(agent([asked], "I created the order.", native=native)).kickoff()
        server.shutdown()
        thread.join()
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("create_order", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_the_library_is_as_it_was(telemetry: Telemetry) -> None:
    """Switching off puts back the very functions that were there."""
    ours = [vars(owner)[name] for owner, name in PATCHED]
    overclaim.uninstrument()
    before = [vars(owner)[name] for owner, name in PATCHED]
    assert not set(map(id, ours)) & set(map(id, before))
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert [vars(owner)[name] for owner, name in PATCHED] == before


def test_a_fault_of_ours_is_not_the_program_s(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our hooks fail the crew goes on as if they were not there."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    integration = sys.modules["overclaim.integrations.crewai"]
    monkeypatch.setattr(integration, "tool_call", broken)
    monkeypatch.setattr(integration, "agent_run", broken)
    assert crew(agent([PAY], LIE)).kickoff().raw == LIE


def test_the_example() -> None:
    """The example's answer is contradicted by its own call."""
    seen = frameworks.example("crewai_agent")
    assert (seen.calls, seen.verdicts) == ([("create_payment_intent", "failure")], ["contradicted"])
