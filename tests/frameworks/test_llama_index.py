"""LlamaIndex under overclaim: agents of all kinds, alone and beside OpenInference."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import second_turn
from recorded import Telemetry

import frameworks

pytest.importorskip("llama_index.core")

import requests
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool, ToolOutput, calling
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

import overclaim

# Library and dependencies use what they call deprecated themselves.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
LIE = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
PAY = ("create_payment_intent", {"amount": 12.5, "currency": "EUR"})
PATCHED = [
    (FunctionAgent.__mro__[1], "run"),
    (FunctionAgent.__mro__[1], "call_tool"),
    (AgentWorkflow, "run"),
    (AgentWorkflow, "call_tool"),
    (calling, "call_tool"),
    (calling, "acall_tool"),
]


def create_payment_intent(amount: float, currency: str) -> dict[str, object]:
    """Create a payment intent."""
    return {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}


async def create_invoice(customer: str) -> dict[str, object]:
    """Create an invoice."""
    await asyncio.sleep(0)
    return {"id": "in_1", "object": "invoice", "customer": customer, "status": "open"}


def delete_invoice(invoice: str) -> str:
    """Delete an invoice."""
    raise RuntimeError(f"no permission to delete {invoice}")


@overclaim.tool
def send_mail(to: str) -> dict[str, object]:
    """Send a mail."""
    return {"sent": 0, "failed": 1, "errors": [{"to": to, "message": "mailbox unavailable"}]}


def create_order(url: str) -> str:
    """Create an order at a server, and hide what that says."""
    requests.post(url, timeout=5)
    return "ok"


KNOWN = [create_payment_intent, create_invoice, delete_invoice, send_mail, create_order]


class Scripted(MockLLM, FunctionCallingLLM):
    """A model that says what it is told to: a text, or a list of tool calls."""

    script: list[Any] = []  # noqa: RUF012

    def __init__(self, *script: Any, **options: Any) -> None:
        super().__init__(**options)
        self.script = list(script)

    @property
    def metadata(self) -> Any:
        """What it can do."""
        return super().metadata.model_copy(update={"is_function_calling_model": True})

    def _prepare_chat_with_tools(self, *_: Any, chat_history: Any, **__: Any) -> dict[str, Any]:
        return {"messages": chat_history}

    def chat_with_tools(self, *_: Any, **__: Any) -> ChatResponse:
        """The next message of the script."""
        said = self.script.pop(0)
        text = said if isinstance(said, str) else ""
        calls = [] if isinstance(said, str) else said
        return ChatResponse(message=ChatMessage(role="assistant", content=text, additional_kwargs={"said": calls}))

    async def achat(self, *_: Any, **__: Any) -> ChatResponse:
        """The same."""
        return self.chat_with_tools()

    async def achat_with_tools(self, *_: Any, **__: Any) -> ChatResponse:
        """The same."""
        return self.chat_with_tools()

    async def astream_chat_with_tools(self, *_: Any, **__: Any) -> Any:
        """The same, in one piece."""

        async def pieces() -> Any:
            yield self.chat_with_tools()

        return pieces()

    def get_tool_calls_from_response(self, response: Any, **_: Any) -> list[ToolSelection]:
        """The calls in it."""
        said = response.message.additional_kwargs.get("said", [])
        return [ToolSelection(tool_id=f"call_{name}", tool_name=name, tool_kwargs=to) for name, to in said]


def agent(*script: Any, **options: Any) -> FunctionAgent:
    """An agent that calls tools."""
    return FunctionAgent(**{"name": "payments", "tools": KNOWN, "llm": Scripted(*script), "streaming": False} | options)


def run(asked: Any) -> str:
    """Run an agent to its end, as programs do."""

    async def main() -> str:
        return str(await asked.run("go"))

    return asyncio.run(main())


@pytest.fixture(params=["alone", "openinference first", "openinference last"])
def watched(request: pytest.FixtureRequest, telemetry: Telemetry) -> Iterator[Telemetry]:
    """Our hooks alone, and with OpenInference switched on before or after them."""
    if request.param == "alone":
        yield telemetry
        return
    frameworks.needs("openinference.instrumentation.llama_index")
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    theirs = LlamaIndexInstrumentor()
    if request.param == "openinference first":
        overclaim.uninstrument()
    theirs.instrument(tracer_provider=telemetry.provider)
    overclaim.instrument(tracer_provider=telemetry.provider)
    try:
        yield telemetry
    finally:
        theirs.uninstrument()


def test_a_failure_in_a_result_contradicts_the_answer(watched: Telemetry) -> None:
    """A returned error is a failed call, once, and the answer of the agent is compared with it."""
    assert run(agent([PAY], LIE)) == LIE
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


@pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key")
def test_what_an_earlier_turn_did_may_be_claimed(telemetry: Telemetry) -> None:
    """A second turn in the same context speaks of the first."""

    def talk(*turns: Any) -> second_turn.Ask:
        script = [[turn] if isinstance(turn, tuple) else turn for turn in turns]
        mailing = agent(*script, tools=[second_turn.send_email, second_turn.find_user])
        context = Context(mailing)

        async def main(text: str) -> str:
            return str(await mailing.run(text, ctx=context))

        return lambda text: asyncio.run(main(text))

    second_turn.assert_claims_of_earlier_turns(telemetry, talk)


def test_what_a_memory_holds_may_be_claimed(telemetry: Telemetry) -> None:
    """An agent may speak of what stands in messages or in a memory that it is given, where something does."""
    said = [ChatMessage(role="user", content="Pay."), ChatMessage(role="assistant", content=LIE)]
    asked = ChatMessage(role="user", content="Did you?")
    given: list[tuple[dict[str, Any], str]] = [
        ({"chat_history": said}, "no_claim"), ({"chat_history": [asked]}, "unsupported"),
        ({"memory": ChatMemoryBuffer.from_defaults(chat_history=said)}, "no_claim"),
        ({"memory": ChatMemoryBuffer.from_defaults()}, "unsupported"),
    ]  # fmt: skip
    for more, verdict in given:

        async def main(more: dict[str, Any]) -> None:
            await agent("I created the payment intent for 12.50 EUR.").run("Did you?", **more)

        asyncio.run(main(more))
        assert frameworks.sent(telemetry.spans).verdicts == [verdict], more
        telemetry.exporter.clear()


def test_answers_that_are_streamed(watched: Telemetry) -> None:
    """An agent whose model streams, and whose events somebody reads, is seen like others."""

    async def main() -> list[str]:
        handler = agent([PAY], LIE, streaming=True).run("go")
        events = [type(event).__name__ async for event in handler.stream_events()]
        assert str(await handler) == LIE
        return events

    assert "ToolCallResult" in asyncio.run(main())
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_an_agent_that_thinks_aloud(watched: Telemetry) -> None:
    """A ReAct agent writes its calls as text."""
    asked = f"Thought: I pay.\nAction: create_payment_intent\nAction Input: {json.dumps(PAY[1])}"
    assert run(ReActAgent(tools=KNOWN, llm=Scripted(asked, f"Thought: done.\nAnswer: {LIE}"), streaming=False)) == LIE
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_calls_in_parallel(watched: Telemetry) -> None:
    """Calls that run beside each other are told apart, each with its own outcome."""
    run(agent([PAY, ("create_invoice", {"customer": "ann"})], "I created the invoice for ann."))
    seen = frameworks.sent(watched.spans)
    assert sorted(seen.calls) == [("create_invoice", "success"), ("create_payment_intent", "failure")]
    assert seen.verdicts == ["supported"]


def test_a_tool_that_raises(watched: Telemetry) -> None:
    """The library turns an exception into an error for the model; the call failed all the same."""
    run(agent([("delete_invoice", {"invoice": "in_7"})], "I deleted the invoice in_7."))
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("delete_invoice", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_a_decorated_function_is_one_call(watched: Telemetry) -> None:
    """A function that has our decorator as well is still one call."""
    run(agent([("send_mail", {"to": "ann@shop.example"})], "I sent the mail to ann@shop.example."))
    seen = frameworks.sent(watched.spans)
    assert seen.calls == [("send_mail", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_tools_that_there_are_not(telemetry: Telemetry) -> None:
    """A call of an unknown tool is a failed call, with the model's id of it."""
    run(agent([("refund", {"to": "ann"})], "I could not refund ann."))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("refund", "failure")]
    assert seen.labelled("gen_ai.tool.call.id") == ["call_refund"]


def test_a_workflow_of_agents(watched: Telemetry) -> None:
    """Agents that hand over to each other are one run; the last answer counts."""
    desk = agent([("handoff", {"to_agent": "clerk", "reason": "pays"})], name="desk", can_handoff_to=["clerk"])
    clerk = agent([PAY], LIE, name="clerk")
    desk.description = clerk.description = "works"
    assert run(AgentWorkflow(agents=[desk, clerk], root_agent="desk")) == LIE
    seen = frameworks.sent(watched.spans)
    assert [call for call in seen.calls if call[0] != "handoff"] == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_an_agent_as_a_tool_is_a_run_inside(watched: Telemetry) -> None:
    """What an agent inside a tool calls belongs to the outer run, whose answer counts."""

    async def ask_clerk(task: str) -> str:
        """Ask the clerk."""
        return str(await agent([PAY], "It failed: the amount was refused.").run(task))

    assert run(agent([("ask_clerk", {"task": "pay"})], LIE, tools=[ask_clerk], name="boss")) == LIE
    seen = frameworks.sent(watched.spans)
    assert ("create_payment_intent", "failure") in seen.calls
    assert seen.verdicts == ["contradicted"]


def test_a_call_that_a_model_picks_without_an_agent(watched: Telemetry) -> None:
    """Outside an agent a picked call is seen as well."""
    tool = FunctionTool.from_defaults(create_payment_intent)
    with overclaim.run("mine") as mine:
        picked = ToolSelection(tool_id="call_1", tool_name=PAY[0], tool_kwargs=PAY[1])
        assert isinstance(calling.call_tool_with_selection(picked, [tool]), ToolOutput)
        mine.answer(LIE)
    seen = frameworks.sent(watched.spans)
    assert (seen.calls, seen.verdicts) == ([("create_payment_intent", "failure")], ["contradicted"])


def test_a_tool_that_waits_for_somebody(watched: Telemetry) -> None:
    """A tool that waits is begun again when the answer is there; to wait is no failure."""

    async def delete_user(ctx: Context, name: str) -> dict[str, object]:
        """Delete a user."""
        said = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(), timeout=5)
        return {"deleted": said.response == "yes", "user": name}

    delete_user.__annotations__["ctx"] = Context  # the library reads it without resolving names

    async def main() -> None:
        handler = agent([("delete_user", {"name": "ann"})], "I deleted the user ann.", tools=[delete_user]).run("go")
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
        await handler

    asyncio.run(main())
    seen = frameworks.sent(watched.spans)
    assert seen.calls[-1] == ("delete_user", "success")
    assert seen.verdicts[0] in ("supported", "recovered")  # the spans of others call the wait an error


class Refusing(BaseHTTPRequestHandler):
    """A server that refuses everything."""

    def do_POST(self) -> None:
        """Refuse."""
        self.send_response(422)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_requests_inside_a_tool(watched: Telemetry) -> None:
    """What a server says inside the tool is evidence of its call."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        run(agent([("create_order", {"url": f"http://127.0.0.1:{server.server_port}/"})], "I created the order."))
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
    """Where our hooks fail the agent goes on as if they were not there."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    integration = sys.modules["overclaim.integrations.llama_index"]
    monkeypatch.setattr(integration, "tool_call", broken)
    monkeypatch.setattr(integration, "agent_run", broken)
    assert run(agent([PAY], LIE)) == LIE


def test_a_run_that_fails(telemetry: Telemetry) -> None:
    """The exception of a run is the program's, and the run is over."""
    with pytest.raises(IndexError):
        run(agent([PAY]))
    assert frameworks.sent(telemetry.spans).calls == [("create_payment_intent", "failure")]


def test_the_example() -> None:
    """The example's answer is contradicted by its own call."""
    seen = frameworks.example("llama_index_agent")
    assert (seen.calls, seen.verdicts) == ([("create_payment_intent", "failure")], ["contradicted"])
