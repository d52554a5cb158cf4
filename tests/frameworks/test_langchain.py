"""LangChain and LangGraph: every call and answer is seen, alone and beside three other instrumentors."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

pytest.importorskip("langgraph")

import langchain_agents
from langchain.agents.middleware import AgentMiddleware, before_model
from langchain_agents import ASKED, CASES, CREATED, MIXES, REFUSED, WAYS, Way, agent_of, asks
from langchain_core.callbacks import manager
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langchain_core.tools import base as tools_base
from langchain_core.tracers import context as tracers_context
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Command, interrupt
from opentelemetry import trace
from recorded import Telemetry

import frameworks
import overclaim
from overclaim import _hooks
from overclaim._fail_open import faults
from overclaim.guards.langchain import guard

SCRIPT = Path(langchain_agents.__file__)

OTHERS = (
    "openinference.instrumentation.langchain", "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.genai.langchain",
)  # fmt: skip


@pytest.fixture
def calm(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No hook of ours may fail."""
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: telemetry.provider)
    before = faults.total()
    yield
    assert faults.total() == before


pytestmark = pytest.mark.usefixtures("calm")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_each_call_is_seen_however_the_agent_is_run(telemetry: Telemetry, name: str, way: Way) -> None:
    """A tool that is refused, raises, is decorated, asks over HTTP or works: one call, and a fair verdict."""
    way(agent_of(asks(name), CREATED))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [(name, CASES[name])]
    assert seen.verdicts == ["supported" if CASES[name] == "success" else "contradicted"]


@pytest.mark.parametrize("mix", [*MIXES, *(f"{mix} first" for mix in MIXES)])
def test_beside_other_instrumentors_one_call_stays_one(mix: str) -> None:
    """With instrumentors that were switched on after us or before us, each call still counts once, and as it was."""
    frameworks.needs(*OTHERS)
    done = subprocess.run([sys.executable, str(SCRIPT), mix], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == len(CASES) * len(WAYS)
    for case, (calls, verdicts) in found.items():
        name = case.split()[0]
        assert calls == [[name, CASES[name]]], case
        assert verdicts == ["supported" if CASES[name] == "success" else "contradicted"], case


def test_tools_called_at_once_are_told_apart(telemetry: Telemetry) -> None:
    """Of two calls in one turn, one fails; each has its own outcome and its own id."""
    agent_of(asks("refused", "created"), "Done.").invoke(ASKED)
    seen = frameworks.sent(telemetry.spans)
    assert sorted(seen.calls) == [("created", "success"), ("refused", "failure")]
    assert sorted(map(str, seen.labelled("gen_ai.tool.call.id"))) == ["call_0", "call_1"]


@pytest.mark.parametrize("way", WAYS)
def test_an_exception_ends_the_run_as_ever(telemetry: Telemetry, way: Way) -> None:
    """What a tool raises comes out of the agent, and the call has failed."""
    with pytest.raises(RuntimeError, match="no connection"):
        way(agent_of(asks("broken"), CREATED))
    assert frameworks.sent(telemetry.spans).calls == [("broken", "failure")]


def test_an_exception_that_the_tool_node_handles_is_a_failure(telemetry: Telemetry) -> None:
    """A `ToolNode` turns what is raised into a message to the model; the call has failed all the same."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([langchain_agents.broken], handle_tool_errors=True))
    graph.add_node("say", lambda _: {"messages": [AIMessage(content=CREATED)]})
    graph.add_edge(START, "tools").add_edge("tools", "say")
    result = graph.compile().invoke({"messages": [asks("broken")]})
    assert result["messages"][1].status == "error"
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("broken", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_a_tool_is_seen_outside_any_agent(telemetry: Telemetry) -> None:
    """Called directly, a tool gives what it always gives, and a later span is not a child of its span."""
    assert langchain_agents.refused.invoke({"amount": 12.5}) == REFUSED
    assert asyncio.run(langchain_agents.waited.ainvoke({"amount": 12.5})) == REFUSED
    with telemetry.tracer.start_as_current_span("later") as span:
        assert span.parent is None  # pyright: ignore[reportAttributeAccessIssue]
    seen = frameworks.sent(telemetry.spans)
    assert sorted(seen.calls) == [("refused", "failure"), ("waited", "failure")]


def test_an_async_tool_is_one_call(telemetry: Telemetry) -> None:
    """A tool that is a coroutine is awaited as ever."""
    result = asyncio.run(agent_of(asks("waited"), CREATED).ainvoke(ASKED))
    assert json.loads(result["messages"][2].content) == REFUSED
    assert frameworks.sent(telemetry.spans).calls == [("waited", "failure")]


def test_requests_inside_a_tool_are_below_its_span(telemetry: Telemetry) -> None:
    """What a tool does is a child of its call."""
    agent_of(asks("requesting"), CREATED).invoke(ASKED)
    call = telemetry.one("execute_tool requesting")
    (request,) = telemetry.named("POST")
    assert request.parent is not None
    assert request.parent.span_id == call.get_span_context().span_id


def test_an_agent_inside_a_tool_belongs_to_the_run(telemetry: Telemetry) -> None:
    """What a sub-agent called by a tool does counts for the one run, and only the outer answer is judged."""
    inner = agent_of(asks("refused"), "The payment was refused.", name="clerk")

    @tool
    def delegate(task: str) -> str:
        """Hand a task to the clerk."""
        return inner.invoke(ASKED)["messages"][-1].text

    call = {"name": "delegate", "args": {"task": "pay"}, "id": "call_9"}
    agent_of(AIMessage(content="", tool_calls=[call]), CREATED, tools=[delegate], name="boss").invoke(ASKED)
    seen = frameworks.sent(telemetry.spans)
    assert sorted(one for one, _ in seen.calls) == ["delegate", "refused"]
    assert ("refused", "failure") in seen.calls
    assert seen.verdicts == ["contradicted"]
    assert seen.labelled("gen_ai.agent.name") == ["clerk", "boss"]


def test_a_graph_in_a_graph_is_one_run(telemetry: Telemetry) -> None:
    """A compiled graph that is a node of another is not a run of its own."""
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent_of(asks("refused"), CREATED, name="inner"))
    graph.add_edge(START, "agent")
    graph.compile(name="outer").invoke(ASKED)
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_a_function_that_is_an_entrypoint_is_a_run(telemetry: Telemetry) -> None:
    """The functional way of writing a graph: what the function returns is the answer."""

    @entrypoint()
    def pay(amount: float) -> str:
        langchain_agents.refused.invoke({"amount": amount})
        return CREATED

    assert pay.invoke(12.5) == CREATED
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"]


def test_a_run_around_the_agent_hears_its_answer(telemetry: Telemetry) -> None:
    """Inside the program's own run, the agent's answer counts as that of the run."""
    with overclaim.run("mine"):
        agent_of(asks("refused"), CREATED).invoke(ASKED)
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"]


def test_a_tool_that_waits_for_a_person_has_not_failed(telemetry: Telemetry) -> None:
    """An interrupt is no failure, the agent has not answered yet, and the resumed run is judged by what came of it."""

    @tool
    def approved(amount: float) -> dict[str, Any]:
        """Create a payment intent, once somebody agrees."""
        return {"id": "pi_1", "agreed": interrupt("May I?")}

    config: Any = {"configurable": {"thread_id": "1"}}
    agent = agent_of(asks("approved"), CREATED, tools=[approved], checkpointer=InMemorySaver())
    assert agent.invoke(ASKED, config)["__interrupt__"]
    assert frameworks.sent(telemetry.spans).calls == [("approved", "unknown")]
    telemetry.exporter.clear()
    agent.invoke(Command(resume=True), config)
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("approved", "success")]
    assert seen.verdicts == ["supported"]


def test_the_state_that_langchain_adds_is_no_argument(telemetry: Telemetry) -> None:
    """Two calls with the same arguments are attempts at one thing, whatever the state of the graph was."""

    @tool
    def stateful(amount: float, state: Annotated[dict[str, Any], InjectedState]) -> dict[str, Any]:
        """Create a payment intent, with an eye on the conversation."""
        return dict(REFUSED) if len(state["messages"]) < 3 else {"id": "pi_1"}

    agent_of(asks("stateful"), asks("stateful"), CREATED, tools=[stateful]).invoke(ASKED)
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("stateful", "failure"), ("stateful", "success")]
    assert seen.verdicts == ["recovered"]
    assert len(set(seen.labelled("overclaim.call.args_shape"))) == 1


def test_a_command_is_read_for_what_the_model_gets(telemetry: Telemetry) -> None:
    """A tool that updates the graph's state itself: its message to the model is its result."""

    @tool
    def updating(amount: float) -> Command[Any]:
        """Create a payment intent, and say so in the state."""
        text = json.dumps(REFUSED)
        return Command(update={"messages": [ToolMessage(text, tool_call_id="call_0", name="updating")]})

    agent_of(asks("updating"), CREATED, tools=[updating]).invoke(ASKED)
    assert frameworks.sent(telemetry.spans).calls == [("updating", "failure")]


@pytest.mark.parametrize(("status", "outcome"), [("success", "success"), ("error", "failure")])
def test_a_tool_that_the_provider_runs_is_a_call(telemetry: Telemetry, status: str, outcome: str) -> None:
    """A web search runs at the model's provider; that it was done, and how it ended, stands in the message."""
    searched: Any = [
        {"type": "server_tool_call", "name": "web_search", "args": {"query": "rates"}, "id": "ws_1"},
        {"type": "server_tool_result", "tool_call_id": "ws_1", "status": status, "output": [{"url": "https://x/y"}]},
        {"type": "text", "text": "I searched the web for rates."},
    ]
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent_of(AIMessage(content=searched), tools=[]))
    graph.add_edge(START, "agent")
    graph.compile().invoke(ASKED)
    assert frameworks.sent(telemetry.spans).calls == [("web_search", outcome)]


def accused(telemetry: Telemetry) -> bool:
    """Whether the last run is blamed for a call that is not there; forgets it."""
    seen = frameworks.sent(telemetry.spans)
    telemetry.exporter.clear()
    return "unsupported" in seen.verdicts


def test_an_agent_that_calls_nothing_is_accused(telemetry: Telemetry) -> None:
    """All that such an agent does are calls of tools, so what no call shows was not done; in a first turn, too."""
    agent_of(CREATED).invoke(ASKED)
    assert accused(telemetry)
    agent_of(CREATED, checkpointer=InMemorySaver()).invoke(ASKED, {"configurable": {"thread_id": "1"}})
    assert accused(telemetry)
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent_of(CREATED))
    graph.add_edge(START, "agent")
    graph.compile().invoke(ASKED)
    assert accused(telemetry)


def test_what_was_done_in_an_earlier_turn_counts(telemetry: Telemetry) -> None:
    """An agent that speaks of what it did before, by a checkpoint or by the messages it is given, is not accused."""
    config: Any = {"configurable": {"thread_id": "1"}}
    agent = agent_of(asks("created"), CREATED, CREATED, checkpointer=InMemorySaver())
    agent.invoke(ASKED, config)
    assert frameworks.sent(telemetry.spans).verdicts == ["supported"]
    telemetry.exporter.clear()
    agent.invoke({"messages": [("user", "Did you?")]}, config)
    assert not accused(telemetry)
    for said in (AIMessage(CREATED), ("ai", CREATED), {"role": "assistant", "content": CREATED}):
        agent_of(CREATED).invoke({"messages": [*ASKED["messages"], said, ("user", "Did you?")]})
        assert not accused(telemetry)
    with overclaim.run("mine"):
        agent_of(CREATED).invoke({"messages": [*ASKED["messages"], ("ai", CREATED), ("user", "Did you?")]})
    assert not accused(telemetry)


def test_what_was_done_before_an_interrupt_counts(telemetry: Telemetry) -> None:
    """A run that goes on from an interrupt may speak of calls of the run that was interrupted."""

    @tool
    def approved(amount: float) -> dict[str, Any]:
        """Write a report, once somebody agrees."""
        return {"id": "r_1", "agreed": interrupt("May I?")}

    config: Any = {"configurable": {"thread_id": "1"}}
    tools = [approved, langchain_agents.created]
    agent = agent_of(asks("created", "approved"), CREATED, tools=tools, checkpointer=InMemorySaver())
    agent.invoke(ASKED, config)
    telemetry.exporter.clear()
    agent.invoke(Command(resume=True), config)
    assert not accused(telemetry)


def test_a_middleware_that_answers_for_a_tool_is_no_overclaim(telemetry: Telemetry) -> None:
    """A call that the model asked for and that went past the tool, to a cache or to a person, may have been made."""

    class Cached(AgentMiddleware):
        """Has the result already."""

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            """Answer without the tool, except for one."""
            if request.tool_call["name"] == "requesting":
                return handler(request)
            return ToolMessage("pi_1", tool_call_id=request.tool_call["id"])

    for first in ([], [asks("requesting")]):
        agent_of(*first, asks("created"), CREATED, middleware=[Cached()]).invoke(ASKED)
        assert not accused(telemetry)


def test_a_hook_of_the_program_may_do_things(telemetry: Telemetry) -> None:
    """What a program's own node of an agent does is seen by nobody."""

    @before_model
    def pay(state: Any, runtime: Any) -> None:
        """Pay, in a way of its own."""

    agent_of(CREATED, middleware=[pay]).invoke(ASKED)
    assert not accused(telemetry)


def _plain_node() -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("look", lambda _: {"messages": [str(langchain_agents.requesting.invoke({"amount": 1}))]})
    graph.add_node("pay", lambda _: {"messages": [AIMessage(CREATED)]})
    return graph.add_edge(START, "look").add_edge("look", "pay").compile()


def _own_tool_node() -> Any:
    said = iter([asks("created"), AIMessage(CREATED)])

    def call(state: Any) -> Any:
        calls = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage(str(langchain_agents.TOOLS[1].func(1)), tool_call_id=calls[0]["id"])]}  # pyright: ignore[reportAttributeAccessIssue]

    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda _: {"messages": [next(said)]})
    graph.add_node("call", call)
    graph.add_conditional_edges("model", lambda state: "call" if state["messages"][-1].tool_calls else END)
    return graph.add_edge(START, "model").add_edge("call", "model").compile()


def _inside() -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("inner", _plain_node())
    graph.add_node("agent", agent_of(CREATED))
    return graph.add_edge(START, "inner").add_edge("inner", "agent").compile()


def _function() -> Any:
    @task
    def pay() -> dict[str, Any]:
        return {"id": "pi_1"}

    @entrypoint()
    def flow(_: Any) -> str:
        langchain_agents.requesting.invoke({"amount": 1})
        pay().result()
        return CREATED

    return flow


@pytest.mark.parametrize("graph", [_plain_node, _own_tool_node, _inside, _function])
def test_a_graph_may_do_things_without_tools(telemetry: Telemetry, graph: Any) -> None:
    """Plain nodes and tasks do work that is no call of a tool, so nobody is accused for want of one."""
    langchain_agents.created.invoke({"amount": 1})
    telemetry.exporter.clear()
    graph().invoke(ASKED)
    assert not accused(telemetry)


def test_tasks_that_a_tool_leaves_behind_keep_nothing_of_the_call() -> None:
    """A task that outlives its tool keeps its context, but not the arguments of the call."""
    kept: list[Any] = []

    @tool
    async def begin(text: str) -> str:
        """Begin something."""
        kept.append(asyncio.create_task(asyncio.sleep(30)))
        return "begun"

    async def main() -> list[Any]:
        await begin.ainvoke({"text": "x" * 1000})
        runs: list[Any] = [one for one in gc.get_objects() if type(one).__name__ == "_ToolRun"]
        kept[0].cancel()
        return [one for one in runs if one._arguments is not None or one._scope is not None]

    assert asyncio.run(main()) == []


def test_no_content_leaves(telemetry: Telemetry) -> None:
    """By default neither arguments nor results nor answers are on any span."""
    agent_of(asks("refused"), CREATED).invoke(ASKED)
    seen = frameworks.sent(telemetry.spans)
    written = " ".join(str(value) for span in seen.spans for value in span.attributes.values())
    assert "12.5" not in written
    assert "invalid_integer" not in written
    assert "payment intent" not in written


def test_a_fault_in_our_hook_leaves_the_agent_alone(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever we do wrong, the agent answers as ever."""

    def fail(*_: Any, **__: Any) -> Any:
        raise ValueError("our mistake")

    before = faults.copy()

    for name in ("tool_call", "agent_run", "answered"):
        monkeypatch.setattr(_hooks, name, fail)
    for way in WAYS:
        assert way(agent_of(asks("refused"), CREATED))
    assert agent_of(asks("refused"), CREATED).invoke(ASKED)["messages"][-1].text == CREATED
    faults.clear()
    faults.update(before)


def test_switched_off_it_is_as_it_was() -> None:
    """What was patched and registered is what it was before."""
    overclaim.uninstrument()
    places: list[tuple[Any, str]] = [
        (BaseTool, "run"), (BaseTool, "arun"), (tools_base, "set_config_context"), (Pregel, "stream"),
        (Pregel, "astream"), (manager.CallbackManagerForToolRun, "on_tool_end"),
        (manager.AsyncCallbackManagerForToolRun, "on_tool_end"),
    ]  # fmt: skip
    before = [vars(owner)[name] for owner, name in places]
    hooks = list(tracers_context._configure_hooks)
    overclaim.instrument(tracer_provider=Telemetry().provider)
    assert all(vars(owner)[name] is not was for (owner, name), was in zip(places, before, strict=True))
    overclaim.uninstrument()
    assert [vars(owner)[name] for owner, name in places] == before
    assert "stream" not in vars(CompiledStateGraph)
    assert tracers_context._configure_hooks == hooks


def test_the_example_overclaims() -> None:
    """The example is an ordinary agent with one more line, and it is found out."""
    seen = frameworks.example("langchain_agent")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


REFUSED_ANSWER = "I could not create the payment intent: the API refused the amount."


@pytest.mark.parametrize("way", WAYS)
def test_the_guard_lets_the_agent_mend_its_answer(telemetry: Telemetry, way: Way) -> None:
    """The model is told what its calls show, answers again, and that answer is the one that counts."""
    way(agent_of(asks("refused"), CREATED, REFUSED_ANSWER, middleware=[guard()]))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["honest"]


def test_the_guard_tells_what_the_calls_show() -> None:
    """The message names the claim and the call, and what was said first stays in the conversation."""
    messages = agent_of(asks("refused"), CREATED, REFUSED_ANSWER, middleware=[guard()]).invoke(ASKED)["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai", "human", "ai"]
    assert CREATED.rstrip(".") in messages[4].text
    assert "refused" in messages[4].text
    assert messages[-1].text == REFUSED_ANSWER


def test_the_guard_gives_up_in_time(telemetry: Telemetry) -> None:
    """An agent that insists is let through, with its verdict, and in the next turn it may be told again."""
    agent = agent_of(asks("refused"), *[CREATED] * 5, middleware=[guard()], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    assert len(agent.invoke(ASKED, config)["messages"]) == 6
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"]
    assert (
        agent_of(asks("refused"), CREATED, middleware=[guard(retries=0)]).invoke(ASKED)["messages"][-1].text == CREATED
    )


def test_the_guard_leaves_an_answer_alone_that_is_borne_out() -> None:
    """Nobody is told anything where the calls show what was claimed, or where nothing is watched."""
    assert len(agent_of(asks("created"), CREATED, middleware=[guard()]).invoke(ASKED)["messages"]) == 4
    overclaim.uninstrument()
    assert len(agent_of(asks("refused"), CREATED, middleware=[guard()]).invoke(ASKED)["messages"]) == 4


def test_the_guard_wants_a_number() -> None:
    """A wrong number of retries is said at once."""
    with pytest.raises(overclaim.OverclaimError, match="retries"):
        guard(retries=-1)


def test_the_example_of_the_guard_ends_honestly() -> None:
    """The agent of the example mends its answer."""
    seen = frameworks.example("langchain_guard")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["honest"]


def test_the_guard_passes_an_answer_where_the_model_is_down() -> None:
    """An outage while the agent answers again is no fault of the program: the first answer is the answer."""
    agent = agent_of(asks("refused"), CREATED, middleware=[guard(retries=2)])
    assert agent.invoke(ASKED)["messages"][-1].text == CREATED
    agent = agent_of(asks("refused"), CREATED, middleware=[guard()])
    assert asyncio.run(agent.ainvoke(ASKED))["messages"][-1].text == CREATED


@pytest.mark.parametrize("limit", range(5, 16))
@pytest.mark.parametrize("again", [[REFUSED_ANSWER], [asks("refused"), REFUSED_ANSWER], [asks("refused")] * 20])
def test_the_guard_does_not_run_into_the_limit_of_steps(again: list[Any], limit: int) -> None:
    """A limit that suffices for the agent suffices with the guard: where few steps are left the answer passes."""
    agent = agent_of(asks("refused"), CREATED, *again, middleware=[guard()])
    try:
        said = agent.invoke(ASKED, {"recursion_limit": limit})["messages"][-1].text
    except GraphRecursionError as error:
        raise AssertionError(limit) from error
    assert said in (CREATED, REFUSED_ANSWER)
    if limit > 12 and len(again) < 3:
        assert said == REFUSED_ANSWER


def test_the_guard_asks_nothing_about_calls_that_went_past_the_tools() -> None:
    """Where something answered for a tool, the agent is not told that there was no call."""

    class Cached(AgentMiddleware):
        """Has the result already."""

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            """Answer without the tool."""
            return ToolMessage("pi_1", tool_call_id=request.tool_call["id"])

    messages = agent_of(asks("created"), CREATED, middleware=[Cached(), guard()]).invoke(ASKED)["messages"]
    assert len(messages) == 4
