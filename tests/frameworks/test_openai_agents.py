"""OpenAI Agents: every call and answer is seen, alone and beside three other instrumentors, traced or not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents.run")

import agents.run
import agents.run_internal.tool_execution
import agents.tool
import openai_agents_runs
from agents import (
    Agent,
    GuardrailFunctionOutput,
    Runner,
    SQLiteSession,
    function_tool,
    input_guardrail,
    set_trace_processors,
    set_tracing_disabled,
)
from agents.mcp import MCPServer
from agents.testing import assistant_message
from mcp import types as mcp_types
from openai.types.responses import ResponseFunctionWebSearch
from openai_agents_runs import ASKED, CASES, CREATED, MIXES, WAYS, Way, agent_of, asks, finished
from opentelemetry import trace
from pydantic import BaseModel
from recorded import Telemetry

import frameworks
import overclaim
from overclaim import _hooks
from overclaim._fail_open import faults
from overclaim.guards import openai_agents as guard

SCRIPT = Path(openai_agents_runs.__file__)

OTHERS = (
    "openinference.instrumentation.openai_agents", "opentelemetry.instrumentation.openai_agents",
    "opentelemetry.instrumentation.genai.openai_agents",
)  # fmt: skip


@pytest.fixture
def calm(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No hook of ours may fail, and nothing goes to OpenAI."""
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: telemetry.provider)
    set_trace_processors([])
    before = faults.total()
    yield
    assert faults.total() == before


pytestmark = pytest.mark.usefixtures("calm")


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_each_call_is_seen_however_the_agent_is_run(telemetry: Telemetry, name: str, way: Way, traced: bool) -> None:
    """A tool that is refused, raises, is too slow, is decorated, asks over HTTP or works: one call, a fair verdict."""
    set_tracing_disabled(not traced)
    assert way(agent_of(asks(name), CREATED)) == CREATED
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
    asyncio.run(Runner.run(agent_of(asks("refused", "created"), "Done."), ASKED))
    seen = frameworks.sent(telemetry.spans)
    assert sorted(seen.calls) == [("created", "success"), ("refused", "failure")]
    assert sorted(map(str, seen.labelled("gen_ai.tool.call.id"))) == ["call_0", "call_1"]


def test_an_exception_ends_the_run_as_ever(telemetry: Telemetry) -> None:
    """A tool without a text for its errors raises, and the run with it."""

    @function_tool(failure_error_function=None)
    def raising(amount: float) -> str:
        raise LookupError("no such account")

    with pytest.raises(Exception, match="no such account"):
        finished(agent_of(asks("raising"), CREATED, tools=[raising]))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("raising", "failure")]
    assert "LookupError" in map(str, seen.labelled("error.type"))


def test_arguments_that_do_not_fit_are_a_failure(telemetry: Telemetry) -> None:
    """What the model wrote is no valid call: the tool does not run, and the call has failed."""
    call = openai_agents_runs.function_call("refused", "{not json", call_id="call_0")
    finished(agent_of([call], CREATED))
    assert frameworks.sent(telemetry.spans).calls == [("refused", "failure")]


def test_requests_inside_a_tool_are_below_its_span(telemetry: Telemetry) -> None:
    """What a tool does is a child of its call, also in the thread that runs it."""
    finished(agent_of(asks("requesting"), CREATED))
    call = telemetry.one("execute_tool requesting")
    (request,) = telemetry.named("POST")
    assert request.parent is not None
    assert request.parent.span_id == call.get_span_context().span_id


class Bank(MCPServer):
    """An MCP server in this process, whose only tool marks its answer as an error."""

    name = "bank"

    async def connect(self) -> None:
        """Nothing to connect."""

    async def cleanup(self) -> None:
        """Nothing to clean up."""

    async def list_tools(self, *_: Any, **__: Any) -> list[Any]:
        """Its tool."""
        return [mcp_types.Tool(name="transfer", input_schema={"type": "object", "properties": {}})]

    async def call_tool(self, *_: Any, **__: Any) -> Any:
        """Say that it did not work."""
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="Sorry.")], is_error=True)

    async def list_prompts(self) -> Any:
        """None."""

    async def get_prompt(self, *_: Any, **__: Any) -> Any:
        """None."""


def test_the_error_mark_of_an_mcp_tool_counts(telemetry: Telemetry) -> None:
    """An MCP server says isError with a text that does not show it: the call has failed."""
    agent = agent_of(asks("transfer"), "I transferred the money.", tools=[], mcp_servers=[Bank()])
    asyncio.run(Runner.run(agent, ASKED))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("transfer", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_an_agent_that_is_a_tool_belongs_to_the_run(telemetry: Telemetry) -> None:
    """What an agent used as a tool does counts for the one run, and only the outer answer is judged."""
    clerk = agent_of(asks("refused"), "The payment was refused.", name="clerk")
    tool = clerk.as_tool("delegate", "Hand a task to the clerk.")
    call = openai_agents_runs.function_call("delegate", {"input": "pay"}, call_id="call_9")
    finished(agent_of([call], CREATED, tools=[tool], name="boss"))
    seen = frameworks.sent(telemetry.spans)
    assert sorted(one for one, _ in seen.calls) == ["delegate", "refused"]
    assert ("refused", "failure") in seen.calls
    assert seen.verdicts == ["contradicted"]


def test_after_a_handoff_it_is_still_one_run(telemetry: Telemetry) -> None:
    """The agent that takes over calls the tool and answers; the run is one."""
    clerk = agent_of(asks("refused"), CREATED, name="clerk")
    handing = [openai_agents_runs.function_call("transfer_to_clerk", {}, call_id="call_8")]
    finished(agent_of(handing, tools=[], handoffs=[clerk], name="boss"))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["contradicted"]


class Report(BaseModel):
    """An answer with a shape."""

    summary: str
    amount: float


def test_an_answer_with_a_shape_is_read_by_its_texts(telemetry: Telemetry) -> None:
    """A run that ends with an object has said what the texts in it say."""
    said = json.dumps({"summary": CREATED, "amount": 12.5})
    result = finished(agent_of(asks("refused"), said, output_type=Report))
    assert result.final_output == Report(summary=CREATED, amount=12.5)
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"]


def test_what_a_tool_gives_back_is_not_what_the_agent_says(telemetry: Telemetry) -> None:
    """Where a run ends with the result of a tool, nobody has claimed anything."""

    @function_tool
    def boasting(amount: float) -> str:
        return "I created the payment intent."

    agent = agent_of(asks("boasting"), tools=[boasting], tool_use_behavior="stop_on_first_tool")
    assert finished(agent).final_output == "I created the payment intent."
    assert frameworks.sent(telemetry.spans).labelled("overclaim.claimed.outcome") == ["success", "none"]


@pytest.mark.parametrize(("status", "outcome"), [("completed", "success"), ("failed", "failure")])
def test_a_tool_that_openai_hosts_is_a_call(telemetry: Telemetry, status: Any, outcome: str) -> None:
    """A web search runs at OpenAI; that it was done, and how it ended, is read off the run."""
    action = {"type": "search", "query": "rates", "queries": ["rates"]}
    search = ResponseFunctionWebSearch.model_validate(
        {"id": "ws_1", "type": "web_search_call", "status": status, "action": action}
    )
    finished(agent_of([search, assistant_message("I searched the web for rates.")], tools=[]))
    assert frameworks.sent(telemetry.spans).calls == [("web_search", outcome)]


def test_a_call_that_waits_for_approval_is_none_yet(telemetry: Telemetry) -> None:
    """A tool that a person must allow first has not been called, and the agent has not answered."""

    @function_tool(needs_approval=True)
    def approved(amount: float) -> str:
        return "ok"

    result = finished(agent_of(asks("approved"), CREATED, tools=[approved]))
    assert result.interruptions
    assert frameworks.sent(telemetry.spans).calls == []
    telemetry.exporter.clear()
    state = result.to_state()
    state.approve(result.interruptions[0])
    assert finished(result.last_agent, state).final_output == CREATED
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("approved", "success")]
    assert seen.verdicts == ["supported"]


def test_a_run_around_the_agent_hears_its_answer(telemetry: Telemetry) -> None:
    """Inside the program's own run, the agent's answer counts as that of the run."""
    with overclaim.run("mine"):
        finished(agent_of(asks("refused"), CREATED))
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"]


def test_no_content_leaves(telemetry: Telemetry) -> None:
    """By default neither arguments nor results nor answers are on any span."""
    finished(agent_of(asks("refused"), CREATED))
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
        assert way(agent_of(asks("refused", "broken"), CREATED)) == CREATED
    faults.clear()
    faults.update(before)


def test_switched_off_it_is_as_it_was() -> None:
    """What was patched is what it was before."""
    overclaim.uninstrument()
    places: list[tuple[Any, str]] = [
        (agents.tool, "_invoke_function_tool_with_metadata"),
        (agents.run_internal.tool_execution, "_invoke_function_tool_with_metadata"),
        (agents.tool, "maybe_invoke_function_tool_failure_error_function"),
        (agents.run.AgentRunner, "run"),
        (agents.run, "start_streaming"),
    ]
    before = [vars(owner)[name] for owner, name in places]
    overclaim.instrument(tracer_provider=Telemetry().provider)
    assert all(vars(owner)[name] is not was for (owner, name), was in zip(places, before, strict=True))
    overclaim.uninstrument()
    assert [vars(owner)[name] for owner, name in places] == before
    assert finished(Agent(name="a", model=agent_of("Hello.").model), "Hi").final_output == "Hello."


def test_the_example_overclaims() -> None:
    """The example is an ordinary agent with one more line, and it is found out."""
    seen = frameworks.example("openai_agents_agent")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def accused(telemetry: Telemetry) -> bool:
    """Whether the last run is blamed for a call that is not there; forgets it."""
    seen = frameworks.sent(telemetry.spans)
    telemetry.exporter.clear()
    return "unsupported" in seen.verdicts


def streamed(agent: Agent[Any], asked: Any, **more: Any) -> Any:
    """Run it and read what it streams."""

    async def read() -> Any:
        result = Runner.run_streamed(agent, asked, **more)
        async for _ in result.stream_events():
            pass
        return result

    return asyncio.run(read())


def awaited(agent: Agent[Any], asked: Any, **more: Any) -> Any:
    """Run it."""
    return asyncio.run(Runner.run(agent, asked, **more))


@pytest.mark.parametrize("way", [streamed, awaited])
def test_what_was_done_in_an_earlier_turn_counts(telemetry: Telemetry, way: Any) -> None:
    """An agent that speaks of what it did before, by a session or by the items it is given, is not accused."""
    session = SQLiteSession("one")
    way(agent_of(CREATED), ASKED, session=session)
    assert accused(telemetry)
    asyncio.run(session.clear_session())
    first = way(agent_of(asks("created"), CREATED), ASKED, session=session)
    assert not accused(telemetry)
    way(agent_of(CREATED), "Did you?", session=session)
    assert not accused(telemetry)
    with overclaim.run("mine"):
        way(agent_of(CREATED), [*first.to_input_list(), {"role": "user", "content": "Did you?"}])
    assert not accused(telemetry)
    way(agent_of(CREATED), [{"role": "user", "content": ASKED}])
    assert accused(telemetry)
    session.close()


REFUSED_ANSWER = "I could not create the payment intent: the API refused the amount."


def guarded(agent: Agent[Any], **more: Any) -> Any:
    """Run it with the guard."""
    return asyncio.run(guard.run(agent, ASKED, **more))


def test_the_guard_lets_the_agent_mend_its_answer(telemetry: Telemetry) -> None:
    """The agent is told what its calls show, answers again, and that answer is the one that counts."""
    result = guarded(agent_of(asks("refused"), CREATED, REFUSED_ANSWER))
    assert result.final_output == REFUSED_ANSWER
    assert CREATED.rstrip(".") in result.input[-1]["content"]
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("refused", "failure")]
    assert seen.verdicts == ["honest"]


def test_the_guard_lets_the_agent_do_what_is_missing(telemetry: Telemetry) -> None:
    """Told that nothing was created, the agent does it, and the calls of both times count."""
    result = guarded(agent_of(asks("refused"), CREATED, asks("created"), CREATED))
    assert result.final_output == CREATED
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("refused", "failure"), ("created", "success")]


def test_the_guard_gives_up_in_time(telemetry: Telemetry) -> None:
    """An agent that insists is let through, with its verdict."""
    assert guarded(agent_of(asks("refused"), CREATED, CREATED, "Never.")).final_output == CREATED
    assert frameworks.sent(telemetry.spans).verdicts == ["contradicted"]
    assert guarded(agent_of(asks("refused"), CREATED), retries=0).final_output == CREATED


def test_with_a_session_only_what_is_new_is_handed_over() -> None:
    """A session keeps the conversation, which is not told twice."""
    session = SQLiteSession("one")
    guarded(agent_of(asks("refused"), CREATED, REFUSED_ANSWER), session=session)
    kept: Any = asyncio.run(session.get_items())
    session.close()
    assert [one.get("role") or one["type"] for one in kept] == [
        "user", "function_call", "function_call_output", "assistant", "user", "assistant"
    ]  # fmt: skip


@pytest.mark.parametrize("more", [[], [asks("refused")] * 9])
def test_the_guard_passes_an_answer_where_the_agent_cannot_answer_again(more: list[Any]) -> None:
    """An outage, a guardrail, too many turns while it answers again: the first answer is the answer."""
    assert guarded(agent_of(asks("refused"), CREATED, *more), max_turns=3).final_output == CREATED

    @input_guardrail
    async def only_payments(context: Any, agent: Any, asked: Any) -> GuardrailFunctionOutput:
        """Trip on anything that the user did not say."""
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered="tool calls" in str(asked))

    agent = agent_of(asks("refused"), CREATED, REFUSED_ANSWER, input_guardrails=[only_payments])
    assert guarded(agent).final_output == CREATED


def test_the_guard_accuses_an_agent_that_insists_on_what_it_did_not_do(telemetry: Telemetry) -> None:
    """What was said before within the guarded run is no earlier conversation."""
    guarded(agent_of(CREATED, CREATED))
    assert accused(telemetry)


def test_the_guard_leaves_an_answer_alone_that_is_borne_out() -> None:
    """Nobody is told anything where the calls show what was claimed, or where nothing is watched."""
    assert guarded(agent_of(asks("created"), CREATED)).final_output == CREATED
    overclaim.uninstrument()
    assert guarded(agent_of(asks("refused"), CREATED)).final_output == CREATED


def test_the_guard_wants_a_number() -> None:
    """A wrong number of retries is said at once."""
    with pytest.raises(overclaim.OverclaimError, match="retries"):
        guarded(agent_of("Hello."), retries=-1)


def test_the_example_of_the_guard_ends_honestly() -> None:
    """The agent of the example mends its answer."""
    seen = frameworks.example("openai_agents_guard")
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["honest"]
