"""OpenAI's client in a plain loop: every pair of call and result is one call, whatever way the loop is written."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import pytest

pytest.importorskip("openai")

from openai import AsyncOpenAI, OpenAI
from openai._base_client import AsyncAPIClient, SyncAPIClient
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses
from recorded import Telemetry

import frameworks
import overclaim
from overclaim.integrations import raw_clients, raw_loops

# What the client is built on, which was another one up to its version 2.
HTTP: Any = importlib.import_module("httpx2" if find_spec("httpx2") else "httpx")
REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
ACCEPTED = {"id": "pi_1", "amount": 1250, "status": "succeeded"}
BOAST = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
ASK = [("create_payment_intent", '{"amount": "12.50"}')]
SPEC = {"name": "create_payment_intent", "description": "Create a payment intent.", "parameters": {"type": "object"}}
CHAT_TOOLS: list[Any] = [{"type": "function", "function": {**SPEC, "strict": True}}]
TOOLS: list[Any] = [{"type": "function", **SPEC}]
IDS = itertools.count()
Turn = str | list[tuple[str, str]]
Tool = Callable[..., Any]


class Server:
    """Plays the API: each request gets the next turn of a script, as an object or as a stream of events."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: Any) -> Any:
        """Answer one request."""
        body = json.loads(request.content)
        self.bodies.append(body)
        turn = self.turns.pop(0)
        if request.url.path.endswith("/responses"):
            return self._response(turn, stream=body.get("stream"))
        return self._chunks(turn) if body.get("stream") else self._completion(turn)

    def _completion(self, turn: Turn) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
        if not isinstance(turn, str):
            message["tool_calls"] = _calls(turn)
        reason = "stop" if isinstance(turn, str) else "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        body = {"id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
        return HTTP.Response(200, json=body)

    def _chunks(self, turn: Turn) -> Any:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if isinstance(turn, str):
            deltas += [{"content": turn[:9]}, {"content": turn[9:]}]
        else:
            for index, call in enumerate(_calls(turn)):
                function = call["function"]
                first = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
                rest = {"index": index, "function": {"arguments": function["arguments"]}}
                deltas += [{"tool_calls": [first]}, {"tool_calls": [rest]}]
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        reason = "stop" if isinstance(turn, str) else "tool_calls"
        choices.append({"index": 0, "delta": {}, "finish_reason": reason})
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        return _events([{**chunk, "choices": [choice]} for choice in choices])

    def _response(self, turn: Turn, *, stream: bool) -> Any:
        output: list[dict[str, Any]]
        if isinstance(turn, str):
            content = [{"type": "output_text", "text": turn, "annotations": []}]
            output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}]
        else:
            output = [
                {"type": "function_call", "id": f"f{n}", "call_id": f"call_{n}", "name": name, "arguments": arguments}
                for (name, arguments), n in zip(turn, IDS, strict=False)
            ]
        body = {"id": f"r{next(IDS)}", "object": "response", "created_at": 0, "model": "scripted", "output": output}
        body |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed"}
        if not stream:
            return HTTP.Response(200, json=body)
        return _events([{"type": "response.completed", "sequence_number": 0, "response": body}])


def _calls(turn: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{next(IDS)}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in turn
    ]


def _events(events: list[dict[str, Any]]) -> Any:
    lines = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"]
    return HTTP.Response(200, text="".join(lines), headers={"content-type": "text/event-stream"})


def client(server: Server) -> OpenAI:
    """A client of the server."""
    return OpenAI(api_key="none", http_client=HTTP.Client(transport=HTTP.MockTransport(server)))


def async_client(server: Server) -> AsyncOpenAI:
    """An asynchronous client of the server."""
    return AsyncOpenAI(api_key="none", http_client=HTTP.AsyncClient(transport=HTTP.MockTransport(server)))


def refuse(**_: Any) -> Any:
    """A tool that is refused."""
    return REFUSED


def accept(**_: Any) -> Any:
    """A tool that works."""
    return ACCEPTED


def result(tool: Tool, call: Any) -> dict[str, Any]:
    """The message that hands a result back."""
    given = tool(**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(given)}


def plain(server: Server, tool: Tool) -> str:
    """The loop as everybody writes it."""
    return chat(client(server), [{"role": "user", "content": "Charge 12.50 EUR."}], tool)


def chat(one: OpenAI, messages: list[Any], tool: Tool) -> str:
    """The loop, from some messages on, which it continues."""
    while True:
        reply = one.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS)
        message = reply.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content or ""
        messages += [result(tool, call) for call in message.tool_calls]


def raw(server: Server, tool: Tool) -> str:
    """The loop over raw responses, with messages as plain dicts."""
    one, messages = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
    while True:
        reply = one.chat.completions.with_raw_response.create(model="scripted", messages=messages, tools=CHAT_TOOLS)
        message = reply.parse().choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        messages += [result(tool, call) for call in message.tool_calls]


def streamed(server: Server, tool: Tool) -> str:
    """The loop over a stream of chunks, which is left at the end of the choice."""
    one, messages = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
    while True:
        said, calls = "", dict[int, Any]()
        for chunk in one.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS, stream=True):
            delta = chunk.choices[0].delta
            said += delta.content or ""
            for call in delta.tool_calls or ():
                known = calls.setdefault(call.index, call)
                if known is not call:
                    known.function.arguments += call.function.arguments
            if chunk.choices[0].finish_reason:
                break
        if not calls:
            return said
        messages.append({"role": "assistant", "tool_calls": [call.model_dump() for call in calls.values()]})
        messages += [result(tool, call) for call in calls.values()]


def raw_stream(server: Server, tool: Tool) -> str:
    """The loop over raw responses that are streams."""
    one, messages = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
    while True:
        reply = one.chat.completions.with_raw_response.create(
            model="scripted", messages=messages, tools=CHAT_TOOLS, stream=True
        )
        deltas = [chunk.choices[0].delta for chunk in reply.parse()]
        calls = [call for delta in deltas for call in delta.tool_calls or ()]
        if not calls:
            return "".join(delta.content or "" for delta in deltas)
        calls[0].function.arguments = "".join(call.function.arguments for call in calls)
        messages.append({"role": "assistant", "tool_calls": [calls[0].model_dump()]})
        messages.append(result(tool, calls[0]))


def streaming_response(server: Server, tool: Tool) -> str:
    """The asynchronous loop over responses whose body is read when it is parsed."""

    async def main() -> str:
        one, messages = async_client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
        while True:
            given: dict[str, Any] = {"model": "scripted", "messages": messages, "tools": CHAT_TOOLS}
            async with one.chat.completions.with_streaming_response.create(**given) as reply:
                message = (await reply.parse()).choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content or ""
            messages.extend(result(tool, call) for call in message.tool_calls)

    return asyncio.run(main())


def helper(server: Server, tool: Tool) -> str:
    """The loop over the client's own helper for streams."""
    one, messages = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
    while True:
        with one.chat.completions.stream(model="scripted", messages=messages, tools=CHAT_TOOLS) as stream:
            message = stream.get_final_completion().choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content or ""
        messages += [result(tool, call) for call in message.tool_calls]


def awaited(server: Server, tool: Tool) -> str:
    """The asynchronous loop."""

    async def main() -> str:
        one, messages = async_client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
        while True:
            reply = await one.chat.completions.create(model="scripted", messages=messages, tools=CHAT_TOOLS)
            message = reply.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content or ""
            messages.extend(result(tool, call) for call in message.tool_calls)

    return asyncio.run(main())


def streamed_async(server: Server, tool: Tool) -> str:
    """The asynchronous loop over the client's helper for streams."""

    async def main() -> str:
        one, messages = async_client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
        while True:
            async with one.chat.completions.stream(model="scripted", messages=messages, tools=CHAT_TOOLS) as stream:
                message = (await stream.get_final_completion()).choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content or ""
            messages.extend(result(tool, call) for call in message.tool_calls)

    return asyncio.run(main())


def responses(server: Server, tool: Tool) -> str:
    """The loop over the Responses API that repeats all items."""
    one, items = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
    while True:
        reply = one.responses.create(model="scripted", input=items, tools=TOOLS)
        items += reply.output
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        items += [output(tool, call) for call in calls]


def chained(server: Server, tool: Tool) -> str:
    """The loop over the Responses API that goes on with the previous response."""
    one, items, previous = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}]), None
    while True:
        more: dict[str, Any] = {"previous_response_id": previous} if previous else {}
        reply = one.responses.create(model="scripted", input=items, tools=TOOLS, **more)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        items, previous = [output(tool, call) for call in calls], reply.id


def streamed_responses(server: Server, tool: Tool) -> str:
    """The loop over streamed responses."""
    one, items = client(server), list[Any]([{"role": "user", "content": "Charge 12.50 EUR."}])
    while True:
        events = list(one.responses.create(model="scripted", input=items, tools=TOOLS, stream=True))
        reply: Any = events[-1]
        items += reply.response.output
        calls = [item for item in reply.response.output if item.type == "function_call"]
        if not calls:
            return reply.response.output_text
        items += [output(tool, call) for call in calls]


def output(tool: Tool, call: Any) -> dict[str, Any]:
    """The item that hands a result back."""
    given = tool(**json.loads(call.arguments))
    return {"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(given)}


LOOPS = (
    plain, raw, raw_stream, streaming_response, streamed, helper, awaited, streamed_async, responses, chained,
    streamed_responses,
)  # fmt: skip


def seen(telemetry: Telemetry) -> frameworks.Seen:
    """What a collector got."""
    return frameworks.sent(telemetry.spans)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("tool", "outcome", "verdict"), [(refuse, "failure", "contradicted"), (accept, "success", "supported")]
)
def test_a_loop_with_nothing_declared(
    telemetry: Telemetry, loop: Callable[[Server, Tool], str], tool: Tool, outcome: str, verdict: str
) -> None:
    """With no run and no decorator there is one run, with its calls and its answer, whatever way it is written."""
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
    """A draft can be checked inside the loop, with no run opened."""
    verdicts: list[str] = []

    def check_too(**_: Any) -> Any:
        verdicts.append(str(overclaim.check(BOAST).verdict))
        return REFUSED

    plain(Server(ASK, ASK, BOAST), check_too)
    assert verdicts[-1] == "contradicted"


def test_a_framework_around_the_client(telemetry: Telemetry) -> None:
    """Below a framework that has an integration the loop is that one's."""
    space: dict[str, Any] = {"__name__": "langchain_openai.chat_models.base", "plain": plain}
    exec("def invoke(*args): return plain(*args)", space)
    assert space["invoke"](Server(ASK, BOAST), refuse) == BOAST
    assert telemetry.spans == ()


def test_memory_is_bounded(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations that are never continued are given up."""
    monkeypatch.setattr(raw_loops, "_MOST_OPEN", 3)
    monkeypatch.setattr(raw_loops, "_MOST", 5)
    for _ in range(20):
        client(Server(ASK)).chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "Charge."}], tools=CHAT_TOOLS
        )
    assert len(raw_loops._open) <= 3
    assert len(raw_loops._waiting) <= 5


def test_what_has_ended_is_forgotten(telemetry: Telemetry) -> None:
    """A conversation with its answer leaves nothing behind, and the next one in the same place is another."""
    for _ in range(3):
        plain(Server(ASK, "I could not create it."), refuse)
    gc.collect()
    assert not raw_loops._open
    assert not raw_loops._waiting
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
