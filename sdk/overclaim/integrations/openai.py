"""OpenAI's client: loops around chat completions and responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overclaim.integrations.raw_clients import Client, apart, content, forced, get, listed, texts
from overclaim.integrations.raw_loops import Asked, Reply, Request, Told

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")


class Chat:
    """Chat completions."""

    def request(self, body: Mapping[str, Any], /) -> Request:
        """Read a request: the results after the last message of the model are new."""
        messages = listed(body.get("messages"))
        asked: dict[str, Asked] = {}
        told: list[Told] = []
        earlier = False
        for message in messages:
            role = get(message, "role")
            if role == "assistant":
                asked.update((call.id, call) for call in _chat_calls(message))
                told, earlier = [], True
            elif role in ("tool", "function"):
                told.append(_chat_result(message))
        must = forced(body) or forced(body, "function_call")
        return Request(str(body.get("model") or ""), *_tools(body), asked, tuple(apart(told)), earlier, must)

    def reply(self, given: Any, /) -> Reply | None:
        """Read a reply: its first choice."""
        choices = listed(get(given, "choices"))
        if not choices:
            return None
        message = get(choices[0], "message")
        return Reply(tuple(_chat_calls(message)), texts(get(message, "content")))

    def pieces(self) -> ChatPieces:
        """Begin to read a stream."""
        return ChatPieces()


def _chat_calls(message: Any) -> list[Asked]:
    calls: list[Asked] = []
    for call in listed(get(message, "tool_calls")):
        function, custom = get(call, "function"), get(call, "custom")
        name = get(function or custom, "name")
        calls.append(Asked(str(get(call, "id") or ""), str(name), get(function, "arguments") or get(custom, "input")))
    old = get(message, "function_call")
    if old and not calls:
        calls.append(Asked(str(get(old, "name")), str(get(old, "name")), get(old, "arguments")))
    return apart(calls)


def _chat_result(message: Any) -> Told:
    id = get(message, "tool_call_id") or get(message, "name")
    return Told(str(id or ""), content(get(message, "content")))


def _tools(body: Mapping[str, Any]) -> tuple[tuple[tuple[str, str], ...], bool]:
    """Name and description of the tools that the program runs, and whether there are others."""
    offered = [*listed(body.get("tools")), *({"function": one} for one in listed(body.get("functions")))]
    found: list[tuple[str, str]] = []
    for tool in offered:
        spec = get(tool, "function") or get(tool, "custom") or tool
        name, kind = get(spec, "name"), get(tool, "type")
        if isinstance(name, str) and kind in ("function", "custom", None):
            found.append((name, str(get(spec, "description") or "")))
    return tuple(found), len(found) < len(offered) or bool(body.get("web_search_options"))


class ChatPieces:
    """A streamed chat completion."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._calls: dict[Any, list[str]] = {}

    def add(self, event: Any, /) -> Reply | None:
        """Take in the next chunk; the whole reply with the one that ends the first choice."""
        choices = [one for one in listed(get(event, "choices")) if not get(one, "index")]
        if not choices:
            return None
        delta = get(choices[0], "delta")
        if isinstance(said := get(delta, "content"), str):
            self._said.append(said)
        for call in listed(get(delta, "tool_calls")):
            parts = self._calls.setdefault(get(call, "index"), ["", "", ""])
            function = get(call, "function")
            for index, piece in enumerate((get(call, "id"), get(function, "name"), get(function, "arguments"))):
                parts[index] += piece or ""
        if not get(choices[0], "finish_reason"):
            return None
        return Reply(tuple(apart(Asked(*parts) for parts in self._calls.values())), "".join(self._said))


class Responses:
    """The Responses API, whose requests may repeat what was said, or name the response that they go on with."""

    def request(self, body: Mapping[str, Any], /) -> Request:
        """Read a request: the results after the last message are new."""
        asked: list[Asked] = []
        told: list[Told] = []
        earlier = bool(body.get("previous_response_id") or body.get("conversation"))
        for item in listed(body.get("input")):
            kind = get(item, "type")
            if kind in _CALLS:
                asked += _response_calls([item])
                earlier = True
            elif kind in _RESULTS:
                told.append(Told(str(get(item, "call_id") or ""), content(get(item, "output"))))
            elif get(item, "role") is not None:
                earlier = earlier or get(item, "role") == "assistant"
                asked, told = [], []
        repeated = {call.id: call for call in apart(asked)}
        return Request(str(body.get("model") or ""), *_tools(body), repeated, tuple(apart(told)), earlier, forced(body))

    def reply(self, given: Any, /) -> Reply | None:
        """Read a reply."""
        output = listed(get(given, "output"))
        if not output:
            return None
        said = [texts(get(item, "content")) for item in output if get(item, "type") == "message"]
        return Reply(tuple(_response_calls(output)), "\n".join(filter(None, said)))

    def pieces(self) -> ResponsePieces:
        """Begin to read a stream."""
        return ResponsePieces()


class ResponsePieces:
    """A streamed response: its last event holds all of it."""

    def add(self, event: Any, /) -> Reply | None:
        """Take in the next event; the whole reply with the last one."""
        if get(event, "type") not in ("response.completed", "response.incomplete"):
            return None
        return RESPONSES.reply(get(event, "response"))


def _response_calls(output: list[Any]) -> list[Asked]:
    calls = [item for item in output if get(item, "type") in _CALLS]
    return apart(
        Asked(str(get(item, "call_id") or ""), str(get(item, "name")), get(item, _CALLS[get(item, "type")]))
        for item in calls
    )


CHAT, RESPONSES = Chat(), Responses()
CLIENT = Client("openai", {"/chat/completions": CHAT, "/responses": RESPONSES})
