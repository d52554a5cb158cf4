"""The clients of models: one function sends every request, and gives back a reply, a stream of it, or the raw response.

`openai` and `anthropic` are built alike: `_base_client` has a class of clients, and one of asynchronous ones, whose
`request` serves every resource, and a stream keeps what it iterates in `_iterator`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar, cast

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import report
from overclaim._provider import at_last, not_at_last
from overclaim.integrations.patching import Patches
from overclaim.integrations.raw_loops import Asked, Place, Reply, Request, Told, clear, replied, requested

# Frameworks that have an integration of their own: their loops are not raw.
_FRAMEWORKS = (
    "agent_framework", "agent_framework_anthropic", "agent_framework_openai", "agents.extensions.models",
    "agents.models.openai_chatcompletions", "agents.models.openai_responses", "agno", "autogen_ext", "crewai", "dspy",
    "google.adk", "haystack", "haystack_integrations", "langchain_anthropic", "langchain_core", "langchain_openai",
    "llama_index", "pydantic_ai", "semantic_kernel", "smolagents", "strands",
)  # fmt: skip
_DEEPEST = 250
T = TypeVar("T", Asked, Told)


class Pieces(Protocol):
    """A reply that comes in pieces."""

    def add(self, event: Any, /) -> Reply | None:
        """Take in the next piece; the whole reply with the last one."""
        ...


class Dialect(Protocol):
    """How an endpoint writes requests and replies."""

    def request(self, body: Mapping[str, Any], /) -> Request:
        """Read a request."""
        ...

    def reply(self, given: Any, /) -> Reply | None:
        """Read a reply: the client's object, or the JSON of the raw response; None where it is neither."""
        ...

    def pieces(self) -> Pieces:
        """Begin to read a stream."""
        ...


def get(given: Any, key: str) -> Any:
    """A field of an object or of its JSON; None where it has none."""
    return cast("Mapping[str, Any]", given).get(key) if isinstance(given, Mapping) else getattr(given, key, None)


def listed(given: Any) -> list[Any]:
    """A list, or nothing."""
    return list(cast("Any", given)) if isinstance(given, list | tuple) else []


def texts(parts: Any) -> str:
    """A text, or those of the parts of a message."""
    if isinstance(parts, str):
        return parts
    found = [get(part, "text") for part in listed(parts) if get(part, "type") in ("text", "output_text", "input_text")]
    return "\n".join(text for text in found if isinstance(text, str))


def content(parts: Any) -> object:
    """What the model gets to see of a result: a text, or the parts where they are more than texts."""
    only_texts = all(get(part, "type") in ("text", "output_text", "input_text") for part in listed(parts))
    return texts(parts) if only_texts else parts


def apart(items: Iterable[T]) -> list[T]:
    """Calls or results of one message, where some servers give more than one the same id: each gets one of its own."""
    seen: Counter[str] = Counter()
    found: list[T] = []
    for item in items:
        again = seen[item.id]
        seen[item.id] += 1
        found.append(item if not again else cast("T", item._replace(id=f"{item.id}#{again}")))
    return found


def forced(body: Mapping[str, Any], key: str = "tool_choice") -> bool:
    """Whether the model must call one certain tool."""
    choice: Any = body.get(key)
    kind = choice if isinstance(choice, str) else get(choice, "type")
    only = len(listed(body.get("tools"))) == 1 and kind in ("required", "any")
    return only or bool(get(choice, "name") or get(get(choice, "function") or get(choice, "custom"), "name"))


class Client:
    """The switch of a library's clients.

    dialects: by the end of the path of an endpoint.
    """

    def __init__(self, library: str, dialects: Mapping[str, Dialect]) -> None:
        self._library, self._dialects = library, dialects
        self._patches = Patches(library)

    def probe(self) -> str:
        """It can always be tried."""
        return ""

    def on(self, provider: TracerProvider, /) -> None:
        """Patch the functions that send requests.

        Raises:
            AttributeError: this version of the library lacks one of them.
        """
        base: Any = importlib.import_module(f"{self._library}._base_client")
        try:
            self._patches.replace(base.SyncAPIClient, "request", self._sync)
            self._patches.replace(base.AsyncAPIClient, "request", self._async)
        except AttributeError:
            self.off()
            raise
        at_last(self._end)

    def off(self) -> None:
        """Take the patches off."""
        not_at_last(self._end)
        if self._patches.on:
            clear()
        self._patches.undo()

    def _end(self) -> None:
        """End what is open: its calls name a span that would never be sent."""
        clear()

    def _sync(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def request(*args: Any, **kwargs: Any) -> Any:
            heard = self._begin(args, kwargs)
            result = original(*args, **kwargs)
            if heard is not None:
                heard.result(result)
            return result

        return request

    def _async(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def request(*args: Any, **kwargs: Any) -> Any:
            heard = self._begin(args, kwargs)
            result = await original(*args, **kwargs)
            if heard is not None:
                heard.result(result)
            return result

        return request

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Heard | None:
        try:
            options: Any = kwargs["options"] if "options" in kwargs else args[2]
            dialect = self._dialects.get(str(options.url).partition("?")[0].rstrip("/"))
            body = options.json_data
            if dialect is None or not isinstance(body, Mapping) or _in_framework():
                return None
            place = requested(dialect.request(cast("Mapping[str, Any]", body)))
            return _Heard(dialect, place) if place is not None else None
        except Exception as error:
            report(f"{self._library} request", error)
            return None


def _in_framework() -> bool:
    frame: Any = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    for _ in range(_DEEPEST):
        if frame is None:
            return False
        name: Any = frame.f_globals.get("__name__")
        if isinstance(name, str) and name.startswith(_FRAMEWORKS) and _is_framework(name):
            return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=1024)
def _is_framework(module: str) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in _FRAMEWORKS)


class _Heard:
    """Hears the reply to one request."""

    def __init__(self, dialect: Dialect, place: Place) -> None:
        self._dialect, self._place = dialect, place

    def result(self, result: Any) -> None:
        """Take what the client gives back."""
        try:
            if hasattr(result, "__stream__"):
                self._listen(result)
            elif hasattr(result, "http_response"):
                self._raw(result)
            else:
                self._take(result)
        except Exception as error:
            report("model reply", error)

    def _take(self, given: Any) -> None:
        reply = self._dialect.reply(given)
        if reply is not None:
            replied(self._place, reply)

    def _raw(self, raw: Any) -> None:
        """Read a raw response; where its body is not here yet, what the program makes of it."""
        try:
            body = json.loads(raw.http_response.content)
        except Exception:
            raw.parse = self._parsing(raw.parse)
        else:
            self._take(body)

    def _parsing(self, parse: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose first result is heard."""
        todo = [self.result]

        def hear(parsed: Any) -> Any:
            if todo:
                todo.pop()(parsed)
            return parsed

        @functools.wraps(parse)
        def parsing(*args: Any, **kwargs: Any) -> Any:
            return hear(parse(*args, **kwargs))

        @functools.wraps(parse)
        async def parsing_async(*args: Any, **kwargs: Any) -> Any:
            return hear(await parse(*args, **kwargs))

        return parsing_async if inspect.iscoroutinefunction(parse) else parsing

    def _listen(self, stream: Any) -> None:
        iterator = stream._iterator
        passed_on: Any = self._passed_on_async if hasattr(iterator, "__anext__") else self._passed_on
        stream._iterator = passed_on(iterator)

    def _passed_on(self, iterator: Iterator[Any]) -> Iterator[Any]:
        hear = self._hearing()
        for event in iterator:
            hear(event)
            yield event

    async def _passed_on_async(self, iterator: AsyncIterator[Any]) -> AsyncIterator[Any]:
        hear = self._hearing()
        async for event in iterator:
            hear(event)
            yield event

    def _hearing(self) -> Callable[[Any], None]:
        pieces: Pieces | None = self._dialect.pieces()

        def hear(event: Any) -> None:
            nonlocal pieces
            try:
                reply = pieces.add(event) if pieces is not None else None
                if reply is not None:
                    pieces = None  # some servers say twice that they are done
                    replied(self._place, reply)
            except Exception as error:
                report("model stream", error)

        return hear
