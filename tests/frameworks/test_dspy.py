"""DSPy: every tool call and answer is seen, whatever calls the tool, and the program's callbacks stay its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("dspy")

import dspy
import second_turn
from dspy.primitives.local_interpreter import LocalInterpreter
from dspy.primitives.python_interpreter import PythonInterpreter
from dspy.utils.callback import BaseCallback
from dspy.utils.dummies import DummyLM
from recorded import Telemetry

import frameworks
import overclaim
from overclaim import _hooks

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm", "ignore::DeprecationWarning:dspy")

REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
BOAST = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
TOLD = [second_turn.send_email, second_turn.find_user]
FINISH = {"next_thought": "I am done.", "next_tool_name": "finish", "next_tool_args": "{}"}


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


def script(tool: str, answer: str = BOAST) -> DummyLM:
    """A model that calls a tool once, finishes and answers."""
    call = {"next_thought": "I call it.", "next_tool_name": tool, "next_tool_args": '{"amount": "12.50"}'}
    return DummyLM([call, FINISH, {"reasoning": "It was called.", "answer": answer}])


def once(tool: Callable[..., Any], answer: str = BOAST) -> str:
    """The answer of a ReAct agent."""
    with dspy.context(lm=script(tool.__name__, answer)):
        return dspy.ReAct("request -> answer", tools=[tool])(request="Charge 12.50 EUR.").answer


def awaited(tool: Callable[..., Any], answer: str = BOAST) -> str:
    """The answer of an awaited ReAct agent."""

    async def main() -> str:
        with dspy.context(lm=script(tool.__name__, answer)):
            return (await dspy.ReAct("request -> answer", tools=[tool]).acall(request="Charge 12.50 EUR.")).answer

    return asyncio.run(main())


class Program(dspy.Module):
    """A program with an agent in it."""

    def __init__(self, tool: Callable[..., Any]) -> None:
        super().__init__()
        self.agent = dspy.ReAct("request -> answer", tools=[tool])

    def forward(self, request: str) -> Any:
        """Ask the agent."""
        return dspy.Prediction(reply=self.agent(request=request).answer)


def program(tool: Callable[..., Any], answer: str = BOAST) -> str:
    """The answer of a program around the agent, whose output has another name."""
    with dspy.context(lm=script(tool.__name__, answer)):
        return Program(tool)(request="Charge 12.50 EUR.").reply


WAYS = (once, awaited, program)


def seen(telemetry: Telemetry) -> frameworks.Seen:
    """What a collector got."""
    return frameworks.sent(telemetry.spans)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("tool", "outcome", "verdict"), [(refuse, "failure", "contradicted"), (explode, "failure", "contradicted")]
)
def test_a_failure_that_the_agent_overlooks(
    telemetry: Telemetry, way: Callable[..., str], tool: Callable[..., Any], outcome: str, verdict: str
) -> None:
    """A refusal, or an exception that DSPy handles, that is reported as done is a contradiction."""
    assert way(tool) == BOAST
    got = seen(telemetry)
    assert got.calls == [(tool.__name__, outcome)]
    assert got.verdicts == [verdict]


@pytest.mark.parametrize("way", WAYS)
def test_a_success(telemetry: Telemetry, way: Callable[..., str]) -> None:
    """What was done and is reported as done is supported."""
    way(accept, "I created the payment intent for 12.50 EUR.")
    got = seen(telemetry)
    assert got.calls == [("accept", "success")]
    assert got.verdicts == ["supported"]


def test_an_async_tool(telemetry: Telemetry) -> None:
    """A coroutine as a tool."""
    awaited(refuse_async)
    assert seen(telemetry).calls == [("refuse_async", "failure")]


def test_react_v2(telemetry: Telemetry) -> None:
    """The agent that calls tools natively; what it submits is no call."""
    react = getattr(dspy, "ReActV2", None)
    if react is None:
        pytest.skip("this version has no ReActV2")
    calls = ("refuse", {"amount": "12.50"}), ("submit", {"answer": BOAST})
    asked = [dspy.ToolCalls.from_dict_list([{"name": name, "args": given}]) for name, given in calls]
    turns = [{"next_thought": "I call it.", "tool_calls": one.model_dump_json()} for one in asked]
    with dspy.context(lm=DummyLM(turns)):
        answer = react("request -> answer", tools=[refuse])(request="Charge 12.50 EUR.").answer
    assert answer == BOAST
    assert seen(telemetry).calls == [("refuse", "failure")]
    assert seen(telemetry).verdicts == ["contradicted"]


def test_a_tool_that_generated_code_calls(telemetry: Telemetry) -> None:
    """A call out of the interpreter is one call, also where the tool is a `dspy.Tool`."""
    with overclaim.run("coder"):
        assert PythonInterpreter(tools={"refuse": refuse}).invoke_tool("refuse", {"amount": "1"}) == REFUSED
        local = LocalInterpreter(tools={"refuse": dspy.Tool(refuse)})
        assert local.invoke_tool("refuse", [], {"amount": "1"}) == REFUSED
    assert seen(telemetry).calls == [("refuse", "failure")] * 2


def test_modules_without_tools_are_no_agents(telemetry: Telemetry) -> None:
    """A text that a model only writes is nobody's claim."""
    with dspy.context(lm=DummyLM([{"summary": BOAST}])):
        dspy.Predict("text -> summary")(text="A report.")
    assert telemetry.spans == ()


def test_the_callbacks_of_the_program(telemetry: Telemetry) -> None:
    """Callbacks that are configured before or after us are called, and are all there are."""

    class Heard(BaseCallback):
        def __init__(self) -> None:
            self.tools: list[str] = []

        def on_tool_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            self.tools.append(instance.name)

    mine = Heard()
    with dspy.context(callbacks=[mine]):
        once(refuse)
        assert dspy.settings.callbacks == [mine]
    assert mine.tools == ["refuse", "finish"]
    assert seen(telemetry).calls == [("refuse", "failure")]


def test_what_an_earlier_turn_did_may_be_claimed(telemetry: Telemetry) -> None:
    """The second turn of a conversation is not accused of what the first one did."""

    def talk(*turns: second_turn.Turn) -> second_turn.Ask:
        left, said = list(turns), dspy.History(messages=[])
        react = dspy.ReAct("request, history: dspy.History -> answer", tools=TOLD)

        def ask(request: str) -> str:
            (name, given), told = left.pop(0), left.pop(0)
            call = {"next_thought": "I call it.", "next_tool_name": name, "next_tool_args": json.dumps(given)}
            with dspy.context(lm=DummyLM([call, FINISH, {"reasoning": "It was called.", "answer": str(told)}])):
                answer = react(request=request, history=said).answer
            said.messages.append({"request": request, "answer": answer})
            return answer

        return ask

    second_turn.assert_claims_of_earlier_turns(telemetry, talk)


def test_a_span_inside_the_tool_is_below_its_span(telemetry: Telemetry) -> None:
    """What a tool does is found below its call."""

    def probe(amount: str) -> str:
        """Look at the world."""
        with telemetry.tracer.start_as_current_span("inside"):
            return "fine"

    once(probe)
    (call,) = telemetry.named("execute_tool probe")
    parent = telemetry.one("inside").parent
    assert parent is not None
    assert parent.span_id == call.get_span_context().span_id


def test_a_decorated_tool_is_one_call(telemetry: Telemetry) -> None:
    """A function that is decorated and that DSPy calls is seen once."""
    once(overclaim.tool(refuse))
    assert seen(telemetry).calls == [("refuse", "failure")]


def test_an_agent_that_serves_as_a_tool(telemetry: Telemetry) -> None:
    """The calls of an agent inside belong to the run around it."""

    def ask_payments(amount: str) -> str:
        """Let the payments agent do it."""
        return once(refuse, "I could not create it.")

    once(ask_payments)
    got = seen(telemetry)
    assert ("refuse", "failure") in got.calls
    assert got.verdicts == ["contradicted"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # those of other instrumentors
@pytest.mark.parametrize("module", ["openinference.instrumentation.dspy", "opentelemetry.instrumentation.genai.dspy"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_with_other_instrumentors(telemetry: Telemetry, module: str, first: bool, way: Callable[..., str]) -> None:
    """With other instrumentors, switched on before or after us, a call stays one call with its outcome."""
    instrumentor = pytest.importorskip(module).DSPyInstrumentor()
    if first:
        overclaim.uninstrument()
    instrumentor.instrument(tracer_provider=telemetry.provider)
    try:
        if first:
            overclaim.instrument(tracer_provider=telemetry.provider)
        for tool, outcome in ((refuse, "failure"), (explode, "failure"), (accept, "success")):
            telemetry.exporter.clear()
            assert way(tool) == BOAST
            calls = [call for call in seen(telemetry).calls if call[0] != "finish"]
            assert calls == [(tool.__name__, outcome)]
    finally:
        if first:
            overclaim.uninstrument()
        instrumentor.uninstrument()


PLACES = [(owner, name) for owner in (dspy.Tool, dspy.Module) for name in ("__call__", "acall")]
PLACES += [(owner, "invoke_tool") for owner in (PythonInterpreter, LocalInterpreter)]


def test_switching_off_restores_the_library(telemetry: Telemetry) -> None:
    """What was patched is what it was."""
    ours = [vars(owner)[name] for owner, name in PLACES]
    overclaim.uninstrument()
    before = [vars(owner)[name] for owner, name in PLACES]
    assert all(one is not other for one, other in zip(ours, before, strict=True))
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert [vars(owner)[name] for owner, name in PLACES] == before


@pytest.mark.parametrize("way", WAYS)
def test_a_fault_of_ours_leaves_the_agent_alone(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, way: Callable[..., str]
) -> None:
    """Hooks that fail change nothing for the program."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(_hooks, "tool_call", broken)
    monkeypatch.setattr(_hooks, "agent_run", broken)
    assert way(refuse) == BOAST


def test_the_example() -> None:
    """The example's agent is found out."""
    got = frameworks.example("dspy_agent")
    assert got.verdicts == ["contradicted"]
    assert got.calls == [("create_payment_intent", "failure")]
