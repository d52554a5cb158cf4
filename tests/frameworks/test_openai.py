"""OpenAI's client in a plain loop: every pair of call and result is one call, whatever way the loop is written."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from openai._base_client import AsyncAPIClient, SyncAPIClient
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses
from openai_loops import (
    ASK,
    BOAST,
    CHAT_TOOLS,
    HTTP,
    LOOPS,
    REFUSED,
    Server,
    Tool,
    accept,
    async_client,
    awaited,
    chat,
    client,
    plain,
    refuse,
    responses,
    result,
    streamed,
)  # fmt: skip
from recorded import Telemetry

import frameworks
import overclaim
from overclaim.integrations import raw_clients, raw_loops

MANY: list[Any] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("create_user", "delete_user", "reply")
]
REFUSAL = json.dumps(REFUSED)


def seen(telemetry: Telemetry) -> frameworks.Seen:
    """What a collector got."""
    return frameworks.sent(telemetry.spans)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("tool", "outcome", "verdict"), [(refuse, "failure", "contradicted"), (accept, "success", "supported")]
)
def test_a_loop_with_nothing_declared(
    telemetry: Telemetry,
    monkeypatch: pytest.MonkeyPatch,
    loop: Callable[[Server, Tool], str],
    tool: Tool,
    outcome: str,
    verdict: str,
) -> None:
    """With no run and no decorator there is one run, with its calls and its answer, whatever way it is written."""
    monkeypatch.setattr("overclaim._known_tools._tools", {})  # what other tests of this process have decorated
    assert loop(Server(ASK, BOAST), tool) == BOAST
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", outcome)]
    assert got.verdicts == [verdict]
    assert len(telemetry.named("invoke_agent")) == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_within_a_run_of_the_program(telemetry: Telemetry, loop: Callable[[Server, Tool], str]) -> None:
    """The calls belong to the run that is open, and the model's last word is its answer where it says none itself."""
    with overclaim.run("payments"):
        loop(Server(ASK, ASK, BOAST), refuse)
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", "failure")] * 2
    assert got.verdicts == ["contradicted"]
    assert [span.name for span in telemetry.spans if span.name.startswith("invoke_agent")] == ["invoke_agent payments"]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("within", [True, False])
def test_a_decorated_tool_is_one_call(telemetry: Telemetry, loop: Callable[[Server, Tool], str], within: bool) -> None:
    """What a decorator saw is not counted again, with a run and without one."""
    tool = overclaim.tool(name="create_payment_intent")(refuse)
    if within:
        with overclaim.run("payments"):
            loop(Server(ASK, ASK, BOAST), tool)
    else:
        loop(Server(ASK, ASK, BOAST), tool)
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", "failure")] * 2
    assert got.verdicts == ["contradicted"]


def test_parallel_calls(telemetry: Telemetry) -> None:
    """Several calls of one reply are calls of their own."""
    plain(Server([*ASK, ("look_up", "{}"), *ASK], "I could not create the payment intent."), refuse)
    assert [tool for tool, _ in seen(telemetry).calls] == ["create_payment_intent", "look_up", "create_payment_intent"]


def test_turns_of_a_conversation(telemetry: Telemetry) -> None:
    """The next turn repeats the history: its calls count once, and what was done before is not missed."""
    server = Server(ASK, "I created the payment intent.", "Yes, I created it.", ASK, "Created another one.")
    one, messages = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
    chat(one, messages, accept)
    messages.append({"role": "user", "content": "Is it really created?"})
    chat(one, messages, accept)
    messages.append({"role": "user", "content": "Another one."})
    chat(one, messages, accept)
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", "success")] * 2
    assert not {"contradicted", "unsupported"} & set(got.verdicts)


def test_a_history_of_another_process(telemetry: Telemetry) -> None:
    """Calls of a conversation that was stored and loaded are not made again."""
    call = {"id": "call_old", "type": "function", "function": {"name": "create_payment_intent", "arguments": "{}"}}
    messages: list[Any] = [
        {"role": "user", "content": "Charge 12.50 EUR."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_old", "content": json.dumps(REFUSED)},
        {"role": "assistant", "content": "It was refused."},
        {"role": "user", "content": "Again."},
    ]
    chat(client(Server("I created it now.")), messages, accept)
    assert seen(telemetry).calls == []
    assert not {"contradicted", "unsupported"} & set(seen(telemetry).verdicts)


def test_a_request_that_is_sent_twice(telemetry: Telemetry) -> None:
    """Results that are handed back again, as after a timeout, count once."""
    one = client(Server(ASK, BOAST, BOAST))
    messages: list[Any] = [{"role": "user", "content": "Charge 12.50 EUR."}]
    message = one.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS).choices[0].message
    messages += [message, *(result(refuse, call) for call in message.tool_calls or ())]
    for _ in range(2):
        one.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS)
    assert seen(telemetry).calls == [("create_payment_intent", "failure")]
    assert seen(telemetry).verdicts == ["contradicted"]


def test_a_request_that_fails_first(telemetry: Telemetry) -> None:
    """Where handing back the results fails, sending them again goes on with the conversation."""
    server = Server(ASK, BOAST)
    one, messages = client(server).with_options(max_retries=0), list[Any]([{"role": "user", "content": "Charge."}])
    message = one.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS).choices[0].message
    messages += [message, *(result(refuse, call) for call in message.tool_calls or ())]
    answer = server.turns.pop()
    with pytest.raises(Exception, match=r"empty|onnection"):
        one.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS)
    server.turns.append(answer)
    one.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS)
    assert seen(telemetry).calls == [("create_payment_intent", "failure")]
    assert seen(telemetry).verdicts == ["contradicted"]


@pytest.mark.parametrize("within", [True, False])
def test_a_decorated_function_of_another_name(telemetry: Telemetry, within: bool) -> None:
    """A function that the model knows by another name is one call, by its arguments and result."""

    @overclaim.tool
    def charge(amount: str, currency: str = "eur") -> Any:
        return REFUSED

    with overclaim.run("payments") if within else contextlib.nullcontext():
        plain(Server(ASK, BOAST), charge)
    assert seen(telemetry).calls == [("charge", "failure")]
    assert seen(telemetry).verdicts == ["contradicted"]


@pytest.mark.parametrize("decorated", [True, False])
def test_tools_in_worker_threads(telemetry: Telemetry, decorated: bool) -> None:
    """Tools that a pool of threads or a thread runs are part of the conversation's run, once."""
    tool = overclaim.tool(name="create_payment_intent")(refuse) if decorated else refuse

    def in_pool(**given: Any) -> Any:
        with ThreadPoolExecutor() as pool:
            return pool.submit(tool, **given).result()

    def in_thread(**given: Any) -> Any:
        thread = threading.Thread(target=tool, kwargs=given)
        thread.start()
        thread.join()
        return REFUSED

    plain(Server(ASK, BOAST), in_pool)
    plain(Server(ASK, BOAST), in_thread)
    assert seen(telemetry).calls == [("create_payment_intent", "failure")] * 2
    assert seen(telemetry).verdicts == ["contradicted"] * 2


def test_conversations_at_once(telemetry: Telemetry) -> None:
    """Conversations that take turns in one event loop, with the same ids of calls, stay apart."""

    async def one(tool: Tool) -> None:
        asking = async_client(Server(ASK, BOAST))
        messages: list[Any] = [{"role": "user", "content": "Charge 12.50 EUR."}]
        for _ in range(2):
            reply = await asking.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS)
            message = reply.choices[0].message
            messages.append(message)
            await asyncio.sleep(0.01)
            messages.extend(result(overclaim.tool(name="create_payment_intent")(tool), call)
                            for call in message.tool_calls or ())  # fmt: skip

    async def main() -> None:
        await asyncio.gather(*(one(tool) for tool in (refuse, accept, refuse, accept)))

    asyncio.run(main())
    got = seen(telemetry)
    assert sorted(got.calls) == [("create_payment_intent", "failure")] * 2 + [("create_payment_intent", "success")] * 2
    assert got.verdicts.count("contradicted") == 2


def test_a_claim_without_any_call(telemetry: Telemetry) -> None:
    """Who says that it was done, with a tool for it at hand and in its first reply, is not believed."""
    plain(Server("I created the payment intent."), refuse)
    assert seen(telemetry).verdicts == ["unsupported"]


def test_requests_without_tools_are_no_agents(telemetry: Telemetry) -> None:
    """A text that a model only writes is nobody's claim."""
    client(Server(BOAST)).chat.completions.create(model="scripted", messages=[{"role": "user", "content": "Write."}])
    assert telemetry.spans == ()


def test_a_loop_inside_a_tool(telemetry: Telemetry) -> None:
    """An agent that serves as a tool is part of the run around it, and what it says is not the answer."""

    def delegate(**_: Any) -> Any:
        return plain(Server(ASK, "I could not create it."), refuse)

    plain(Server([("ask_payments", "{}")], BOAST), overclaim.tool(name="ask_payments")(delegate))
    got = seen(telemetry)
    assert ("create_payment_intent", "failure") in got.calls
    assert got.verdicts == ["contradicted"]


def test_the_guard_knows_the_conversation(telemetry: Telemetry) -> None:
    """A draft that the model hands to a tool can be checked in there, with no run opened."""
    verdicts: list[str] = []

    def check_too(text: str = "", **_: Any) -> Any:
        verdicts.append(str(overclaim.check(text or "I created the payment intent.").verdict))
        return REFUSED

    plain(Server(ASK, [("reply", json.dumps({"text": BOAST}))], BOAST), check_too)
    assert verdicts == ["incomplete", "contradicted"]


def test_a_framework_around_the_client(telemetry: Telemetry) -> None:
    """Below a framework that has an integration the loop is that one's."""
    space: dict[str, Any] = {"__name__": "langchain_openai.chat_models.base", "plain": plain}
    exec("def invoke(*args): return plain(*args)", space)
    assert space["invoke"](Server(ASK, BOAST), refuse) == BOAST
    assert telemetry.spans == ()


def asked(id: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A message of the model that asks for one call, by an id of the server's choice."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]}


def turns(*messages: dict[str, Any] | str) -> Callable[..., str]:
    """A loop whose steps are taken one by one: each call hands a result back and gives what the model says then."""
    server = Server(*messages)
    one, history = client(server), list[Any]([{"role": "user", "content": "Do it."}])

    def step(given: Any = None) -> str:
        if given is not None:
            id = history[-1]["tool_calls"][0]["id"]
            history.append({"role": "tool", "tool_call_id": id, "content": json.dumps(given)})
        reply = one.chat.completions.create(model="scripted", messages=history, tools=MANY)
        history.append(reply.choices[0].message.model_dump(exclude_none=True))
        return reply.choices[0].message.content or ""

    return step


@pytest.mark.parametrize("id", ["call_0", "functions.create_user:0", ""])
@pytest.mark.parametrize("first", ["create_user", "delete_user"])
def test_ids_that_come_again(telemetry: Telemetry, id: str, first: str) -> None:
    """A result is of the call that its own run asked for, not of one of an aborted run with the same id."""
    with overclaim.run("one"):
        turns(asked(id, first, {"user": "ann@shop.example"}))()
    with overclaim.run("two") as run:
        step = turns(asked(id, "create_user", {"user": "bob@shop.example"}), "I created the user bob@shop.example.")
        step()
        run.answer(step({"id": 7}))
    assert seen(telemetry).calls == [("create_user", "success")]
    assert sorted(seen(telemetry).verdicts) == ["incomplete", "supported"]


@pytest.mark.parametrize(("within", "apart"), [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("deed", ["create_user", "delete_user"])
def test_ids_of_runs_at_once(telemetry: Telemetry, within: bool, apart: bool, deed: str) -> None:
    """Agents that take turns with the same ids do not swap their calls, in runs and without, in one task or two."""
    ann = turns(asked("call_0", "create_user", {"user": "ann"}), "I created the user ann.")
    bob = turns(asked("call_0", deed, {"user": "bob"}), "I could not do it.")
    contexts = [copy_context(), copy_context()] if apart else [copy_context()] * 2
    runs = [overclaim.run("ann"), overclaim.run("bob")] if within else []
    for context, run in zip(contexts, runs, strict=False):
        context.run(run.__enter__)
    contexts[0].run(ann)
    contexts[1].run(bob)
    contexts[1].run(bob, {"error": "not found", "status": 404})
    contexts[0].run(ann, {"id": 7})
    for context, run in zip(contexts, runs, strict=False):
        context.run(run.__exit__, None, None, None)
    assert sorted(seen(telemetry).calls) == sorted([("create_user", "success"), (deed, "failure")])
    assert sorted(seen(telemetry).verdicts) == ["honest", "supported"]


def test_calls_of_one_reply_with_one_id(telemetry: Telemetry) -> None:
    """Servers that give all calls of a reply the same id get each result to its call."""
    both = asked("call", "create_user", {"user": "ann"})
    both["tool_calls"] += asked("call", "delete_user", {"user": "bob"})["tool_calls"]
    server = Server(both, "Done.")
    one, history = client(server), list[Any]([{"role": "user", "content": "Do it."}])
    message = one.chat.completions.create(model="scripted", messages=history, tools=MANY).choices[0].message
    history += [
        message,
        *({"role": "tool", "tool_call_id": "call", "content": told} for told in ('{"id": 7}', REFUSAL)),
    ]
    one.chat.completions.create(model="scripted", messages=history, tools=MANY)
    assert seen(telemetry).calls == [("create_user", "success"), ("delete_user", "failure")]


def test_a_loop_that_is_given_up(telemetry: Telemetry) -> None:
    """What the thread does next for somebody else, by the same tool, is no part of the run."""
    create_user = overclaim.tool(name="create_user")(lambda user: REFUSED)

    def alice() -> None:
        turns(asked("call_0", "create_user", {"user": "alice"}))()
        create_user("alice")
        raise RuntimeError("gone")

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(RuntimeError):
            pool.submit(alice).result()
        pool.submit(create_user, "bob").result()
        assert str(pool.submit(overclaim.check, "I created the user.").result().verdict) == "incomplete"
    overclaim.uninstrument()
    mine, bobs = telemetry.named("execute_tool create_user")
    (run,) = telemetry.named("invoke_agent")
    assert mine.parent is not None
    assert mine.parent.span_id == run.context.span_id
    assert bobs.parent is None
    assert "overclaim.run.id" not in (bobs.attributes or {})


def test_another_try_of_a_decorated_tool(telemetry: Telemetry) -> None:
    """Who tries again with other arguments than the model's, and succeeds, is not accused of the first try."""

    @overclaim.tool(name="create_user")
    def create(user: str) -> Any:
        return {"id": 7} if user == "ann" else {"error": "bad name", "status": 400}

    step = turns(asked("call_0", "create_user", {"user": "Ann"}), "I created the user ann.")
    step()
    create("Ann")
    step(create("ann"))
    assert not {"contradicted", "unsupported"} & set(seen(telemetry).verdicts)


@pytest.mark.parametrize("choice", [{"type": "function", "function": {"name": "create_user"}}, "required"])
def test_a_call_that_is_no_call(telemetry: Telemetry, choice: Any) -> None:
    """Who makes the model call one certain tool wants the arguments, so that is no agent, unless a result is told."""
    one = client(Server([("create_user", "{}")], [("create_user", "{}")], "I could not create it."))
    given: dict[str, Any] = {"model": "scripted", "tools": MANY[:1], "tool_choice": choice}
    history: list[Any] = [{"role": "user", "content": "Extract."}]
    one.chat.completions.create(messages=history, **given)
    message = one.chat.completions.create(messages=history, **given).choices[0].message
    assert not raw_loops._open
    history += [message, *(result(refuse, call) for call in message.tool_calls or ())]
    one.chat.completions.create(messages=history, **{**given, "tool_choice": "auto"})
    assert seen(telemetry).calls == [("create_user", "failure")]
    assert seen(telemetry).verdicts == ["honest"]


def test_a_conversation_that_falls_silent(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody went on with for long is sent without an answer."""
    turns(asked("call_0", "create_user", {"user": "ann"}))()
    monkeypatch.setattr(raw_loops, "_IDLE", -1.0)
    turns("Hello.")()
    assert not raw_loops._open
    assert len(telemetry.named("invoke_agent")) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking with threads
def test_a_child_has_a_lock_of_its_own(telemetry: Telemetry) -> None:
    """A child that is forked while a thread holds the lock can ask its model."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with raw_loops._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(10)
        try:
            plain(Server(ASK, BOAST), refuse)
        finally:
            os._exit(0)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


UNFINISHED = """
import atexit, os, signal, sys
import overclaim
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor, BatchSpanProcessor
from opentelemetry import trace
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter(formatter=lambda span: span.name + "\\n")))
trace.set_tracer_provider(provider)
overclaim.instrument()
from openai_loops import ASK, CHAT_TOOLS, Server, client
client(Server(ASK)).chat.completions.create(
    model="scripted", messages=[{"role": "user", "content": "Charge."}], tools=CHAT_TOOLS
)
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.parametrize("how", [(), ("SIGTERM",)])
def test_the_process_ends(how: tuple[str, ...]) -> None:
    """What is open when the process exits, or is told to, is sent, so that calls do not name a run that nobody has."""
    support = Path(frameworks.__file__).parent
    path = os.pathsep.join((str(support), *sys.path))
    ended = subprocess.run(
        [sys.executable, "-c", UNFINISHED, *how], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert "invoke_agent" in ended.stdout, ended.stderr


def test_memory_is_bounded(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations that are never continued are given up."""
    monkeypatch.setattr(raw_loops, "_MOST_OPEN", 3)
    monkeypatch.setattr(raw_loops, "_MOST", 5)
    for _ in range(20):
        client(Server(ASK)).chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "Charge."}], tools=CHAT_TOOLS
        )
    assert len(raw_loops._open) <= 3
    assert len(raw_loops._done) <= 5
    gc.collect()
    assert len(raw_loops._known) <= 3


def test_what_has_ended_is_forgotten(telemetry: Telemetry) -> None:
    """A conversation with its answer leaves nothing behind, and the next one in the same place is another."""
    for _ in range(3):
        plain(Server(ASK, "I could not create it."), refuse)
    gc.collect()
    assert not raw_loops._open
    assert len(raw_loops._known) == 0
    assert seen(telemetry).verdicts == ["honest"] * 3


def test_turns_in_runs_of_their_own(telemetry: Telemetry) -> None:
    """Where the program opens a run a turn, a later turn may speak of what an earlier one did."""
    server = Server(ASK, "I created the payment intent.", "Yes, I created the payment intent.")
    one, messages = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
    with overclaim.run("payments") as run:
        run.answer(chat(one, messages, accept))
    messages.append({"role": "user", "content": "Is it really created?"})
    with overclaim.run("payments") as run:
        run.answer(chat(one, messages, accept))
    assert not {"contradicted", "unsupported"} & set(seen(telemetry).verdicts)


def test_a_run_that_never_calls(telemetry: Telemetry) -> None:
    """In the first turn of a run there is nothing earlier that the answer could speak of."""
    with overclaim.run("payments"):
        plain(Server("I created the payment intent."), refuse)
    assert seen(telemetry).verdicts == ["unsupported"]


INSTRUMENTORS = (
    ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
    ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"),
    ("opentelemetry.instrumentation.genai.openai", "OpenAIInstrumentor"),
)


@pytest.fixture
def as_it_was() -> Iterator[None]:
    """The library as it was, also where an instrumentor leaves its patches behind."""
    owners = (Completions, AsyncCompletions, Responses, AsyncResponses)
    before = [(owner, dict(vars(owner))) for owner in owners]
    yield
    for owner, attributes in before:
        for name in ("create", "parse", "stream"):
            setattr(owner, name, attributes[name])


@pytest.mark.usefixtures("as_it_was")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # those of other instrumentors
@pytest.mark.parametrize(("module", "name"), INSTRUMENTORS)
@pytest.mark.parametrize("loop", [plain, streamed, awaited, responses])
def test_with_other_instrumentors(
    telemetry: Telemetry, module: str, name: str, loop: Callable[[Server, Tool], str]
) -> None:
    """With the spans of other instrumentors around each request a call stays one call."""
    instrumentor = getattr(pytest.importorskip(module), name)()
    instrumentor.instrument(tracer_provider=telemetry.provider)
    try:
        assert loop(Server(ASK, BOAST), refuse) == BOAST
    finally:
        instrumentor.uninstrument()
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", "failure")]
    assert "contradicted" in got.verdicts


def test_switching_off_restores_the_library(telemetry: Telemetry) -> None:
    """What was patched is what it was."""
    ours = SyncAPIClient.request, AsyncAPIClient.request
    overclaim.uninstrument()
    before = SyncAPIClient.request, AsyncAPIClient.request
    assert all(one is not other for one, other in zip(ours, before, strict=True))
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert (SyncAPIClient.request, AsyncAPIClient.request) == before


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("fault", ["requested", "replied"])
def test_a_fault_of_ours_leaves_the_loop_alone(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, loop: Callable[[Server, Tool], str], fault: str
) -> None:
    """Hooks that fail change nothing for the program."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(raw_clients, fault, broken)
    assert loop(Server(ASK, BOAST), refuse) == BOAST


@pytest.mark.skipif(HTTP.__name__ == "httpx", reason="the example is for later versions")
def test_the_example() -> None:
    """The example's agent is found out."""
    got = frameworks.example("openai_agent")
    assert got.verdicts == ["contradicted"]
    assert got.calls == [("create_payment_intent", "failure")]
