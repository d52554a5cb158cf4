"""Loops around OpenAI's client as people write them, against a scripted API."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from openai import AsyncOpenAI, OpenAI

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
Turn = str | list[tuple[str, str]] | dict[str, Any]  # a text, calls, or the message itself
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
        if isinstance(turn, dict):
            message = turn
        elif not isinstance(turn, str):
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
