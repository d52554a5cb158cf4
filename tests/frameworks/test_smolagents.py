"""smolagents under overclaim: both kinds of agents, alone and beside OpenInference."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from recorded import Telemetry

import frameworks

pytest.importorskip("smolagents")

import requests
import second_turn
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import ChatMessage, CodeAgent, Model, Tool, ToolCallingAgent, agents, tool, tools
from smolagents.local_python_executor import LocalPythonExecutor
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.remote_executors import RemotePythonExecutor

import overclaim

LIE = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
PAY = ("create_payment_intent", {"amount": 12.5, "currency": "EUR"})
PATCHED = [
    (agents.MultiStepAgent, "_run_stream"),
    (agents.ToolCallingAgent, "execute_tool_call"),
    (tools.Tool, "__call__"),
    (tools.PipelineTool, "__call__"),
    (LocalPythonExecutor, "__call__"),
    (RemotePythonExecutor, "__call__"),
]


@tool
def create_payment_intent(amount: float, currency: str) -> dict:
    """Create a payment intent.

    Args:
        amount: how much.
        currency: of what.
    """
    return {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}


@tool
def create_invoice(customer: str) -> dict:
    """Create an invoice.

    Args:
        customer: for whom.
    """
    return {"id": "in_1", "object": "invoice", "customer": customer, "status": "open"}


@tool
def delete_invoice(invoice: str) -> str:
    """Delete an invoice.

    Args:
        invoice: which one.
    """
    raise RuntimeError(f"no permission to delete {invoice}")


@overclaim.tool
def send_mail(to: str) -> dict:
    """Send a mail.

    Args:
        to: whom.
    """
    return {"sent": 0, "failed": 1, "errors": [{"to": to, "message": "mailbox unavailable"}]}


with warnings.catch_warnings():  # smolagents warns of decorators of others, which remote executors would lose
    warnings.simplefilter("ignore")
    send_mail = tool(send_mail)


class Scripted(Model):
    """A model that says what it is told to: a text, or a list of tool calls."""

    def __init__(self, *script: Any) -> None:
        super().__init__(model_id="scripted")
        self.script = list(script)

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        """The next message of the script."""
        said = self.script.pop(0)
        if isinstance(said, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=said)
        calls = [
            ChatMessageToolCall(
                id=f"call_{n}", type="function", function=ChatMessageToolCallFunction(name=name, arguments=arguments)
            )
            for n, (name, arguments) in enumerate(said)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


def answer(text: str) -> list[Any]:
    """The call by which an agent answers."""
    return [("final_answer", {"answer": text})]


def code(text: str) -> str:
    """A message of a model that writes code."""
    return f"Thought: let us see.\n<code>\n{text}\n</code>"


def calling(*script: Any, **options: Any) -> ToolCallingAgent:
    """An agent that calls tools."""
    known = [create_payment_intent, create_invoice, delete_invoice, send_mail]
    return ToolCallingAgent(tools=known, model=Scripted(*script), name="payments", verbosity_level=0, **options)


def coding(*script: str) -> CodeAgent:
    """An agent that writes code."""
    known = [create_payment_intent, create_invoice, delete_invoice, send_mail]
    return CodeAgent(tools=known, model=Scripted(*map(code, script)), name="coder", verbosity_level=0)


def tools_of(seen: frameworks.Seen) -> list[tuple[str, str]]:
    """The calls but those of the interpreter and of the answer, which instrumentors of others count."""
    return [call for call in seen.calls if call[0] not in ("python_interpreter", "final_answer")]


@pytest.fixture(params=["alone", "openinference inside", "openinference around"])
def watched(request: pytest.FixtureRequest, telemetry: Telemetry) -> Iterator[Telemetry]:
    """Our hooks alone, and with OpenInference switched on before or after them."""
    theirs = SmolagentsInstrumentor()
    if request.param == "alone":
        yield telemetry
        return
    if request.param == "openinference inside":
        overclaim.uninstrument()
    theirs.instrument(tracer_provider=telemetry.provider)
    overclaim.instrument(tracer_provider=telemetry.provider)
    try:
        yield telemetry
    finally:
        last_on_first_off = (overclaim.uninstrument, theirs.uninstrument)
        for off in last_on_first_off if request.param == "openinference inside" else reversed(last_on_first_off):
            off()


def test_a_failure_in_a_result_contradicts_the_answer(watched: Telemetry) -> None:
    """A returned error is a failed call, once, and the answer of the agent is compared with it."""
    assert calling([PAY], answer(LIE)).run("pay") == LIE
    seen = frameworks.sent(watched.spans)
    assert tools_of(seen) == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_code_that_calls_tools(watched: Telemetry) -> None:
    """The calls in the code of a CodeAgent count like those of other agents."""
    pay = "print(create_payment_intent(12.5, currency='EUR'))"
    assert coding(pay, f"final_answer({LIE!r})").run("pay") == LIE
    seen = frameworks.sent(watched.spans)
    assert tools_of(seen) == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_steps_that_are_streamed(watched: Telemetry) -> None:
    """A run whose steps are taken one by one is a run as well."""
    steps = list(calling([PAY], answer(LIE)).run("pay", stream=True))
    assert steps[-1].output == LIE
    seen = frameworks.sent(watched.spans)
    assert tools_of(seen) == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_calls_in_parallel(watched: Telemetry) -> None:
    """Calls that run in threads belong to the run, each with its own outcome."""
    calling([PAY, ("create_invoice", {"customer": "ann"})], answer("I created the invoice for ann.")).run("go")
    seen = frameworks.sent(watched.spans)
    assert sorted(tools_of(seen)) == [("create_invoice", "success"), ("create_payment_intent", "failure")]
    assert seen.verdicts == ["supported"]


def test_a_tool_that_raises(watched: Telemetry) -> None:
    """The library turns an exception into an observation for the model; the call failed all the same."""
    agent = calling([("delete_invoice", {"invoice": "in_7"})], answer("I deleted the invoice in_7."))
    agent.run("delete")
    assert "no permission" in str(agent.memory.steps[1].error)
    seen = frameworks.sent(watched.spans)
    assert tools_of(seen) == [("delete_invoice", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_a_decorated_function_is_one_call(watched: Telemetry) -> None:
    """A tool that has our decorator as well is still one call."""
    calling([("send_mail", {"to": "ann@shop.example"})], answer("I sent the mail to ann@shop.example.")).run("mail")
    seen = frameworks.sent(watched.spans)
    assert tools_of(seen) == [("send_mail", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_calls_that_the_agent_refuses(telemetry: Telemetry) -> None:
    """Unknown tools and wrong arguments are failed calls, too."""
    calling([("refund", {})], [("create_invoice", {"customer": 5})], answer("I could not do it.")).run("go")
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("refund", "failure"), ("create_invoice", "failure")]
    assert seen.verdicts == ["honest"]


def test_a_managed_agent_is_a_run_inside(watched: Telemetry) -> None:
    """What a managed agent calls belongs to the run of its manager, whose answer counts."""
    clerk = calling([PAY], answer("It failed: the amount was refused."), description="makes payments")
    boss = ToolCallingAgent(
        tools=[], managed_agents=[clerk], name="boss", verbosity_level=0,
        model=Scripted([("payments", {"task": "pay", "additional_args": {}})], answer(LIE)),
    )  # fmt: skip
    boss.run("pay")
    seen = frameworks.sent(watched.spans)
    assert tools_of(seen) == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_code_that_fails_and_is_mended(watched: Telemetry) -> None:
    """An error in the code of one step, and code that does it in the next, is no lie."""
    invoice = "print(create_invoice(customer='ann'))"
    coding("print(undefined_name)", invoice, "final_answer('I created the invoice for ann.')").run("go")
    seen = frameworks.sent(watched.spans)
    assert tools_of(seen) == [("create_invoice", "success")]
    assert seen.verdicts[0] in ("supported", "recovered")


def test_a_deed_of_the_code_itself(telemetry: Telemetry) -> None:
    """Code can do what no tool shows: that is not held against the answer."""
    coding("total = sum([1, 2, 3])\nprint(total)", "final_answer('I added the numbers up: 6. I saved it.')").run("add")
    assert frameworks.sent(telemetry.spans).verdicts[0] not in ("unsupported", "contradicted")


class Refusing(BaseHTTPRequestHandler):
    """A server that refuses everything."""

    def do_POST(self) -> None:
        """Refuse."""
        self.send_response(422)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Post(Tool):
    """A tool that asks a server and hides what that says."""

    name, description, output_type = "create_order", "Create an order.", "string"
    inputs = {"url": {"type": "string", "description": "where"}}  # noqa: RUF012

    def forward(self, url: str) -> str:
        """Ask and hide."""
        requests.post(url, timeout=5)
        return "ok"


def test_what_an_earlier_turn_did_may_be_claimed(telemetry: Telemetry) -> None:
    """The second turn of a conversation is not accused of what the first one did."""

    def talk(*turns: second_turn.Turn) -> second_turn.Ask:
        model = Scripted(*(answer(turn) if isinstance(turn, str) else [turn] for turn in turns))
        known = [tool(second_turn.send_email), tool(second_turn.find_user)]
        agent = ToolCallingAgent(tools=known, model=model, name="mails", verbosity_level=0)
        return lambda asked: str(agent.run(asked, reset=False))

    second_turn.assert_claims_of_earlier_turns(telemetry, talk)


def test_requests_inside_a_tool(watched: Telemetry) -> None:
    """What a server says inside the tool is evidence of its call, in threads as well."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/orders"
        asked = [("create_order", {"url": url})]
        agent = ToolCallingAgent(
            tools=[Post()], model=Scripted(asked, answer("I created the order.")), verbosity_level=0
        )
        agent.run("order")
        server.shutdown()
        thread.join()
    seen = frameworks.sent(watched.spans)
    assert tools_of(seen) == [("create_order", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_the_library_is_as_it_was(telemetry: Telemetry) -> None:
    """Switching off puts back the very functions that were there."""
    ours = [owner.__dict__[name] for owner, name in PATCHED]
    overclaim.uninstrument()
    before = [owner.__dict__[name] for owner, name in PATCHED]
    assert not set(map(id, ours)) & set(map(id, before))
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert [owner.__dict__[name] for owner, name in PATCHED] == before


def test_a_fault_of_ours_is_not_the_program_s(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our hooks fail the agent goes on as if they were not there."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    integration = sys.modules["overclaim.integrations.smolagents"]
    monkeypatch.setattr(integration, "tool_call", broken)
    monkeypatch.setattr(integration, "agent_run", broken)
    assert calling([PAY], answer(LIE)).run("pay") == LIE
    assert coding("print(create_invoice('ann'))", "final_answer('ok')").run("go") == "ok"


def test_a_library_without_what_is_patched(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a function is gone nothing stays patched."""
    overclaim.uninstrument()
    before = agents.MultiStepAgent.__dict__["_run_stream"]
    monkeypatch.delattr(agents.ToolCallingAgent, "execute_tool_call")
    overclaim.instrument(tracer_provider=telemetry.provider)
    assert agents.MultiStepAgent.__dict__["_run_stream"] is before


def test_the_example() -> None:
    """The example's answer is contradicted by its own call."""
    seen = frameworks.example("smolagents_agent")
    assert (seen.calls, seen.verdicts) == ([("create_payment_intent", "failure")], ["contradicted"])
