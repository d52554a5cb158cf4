"""What a tool decorator does to a program, and what it says of failures. A scenario answers "y" (good), "n" or a text.

Groups run in a process each, since some of the values below break the SDK for good.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import json
import logging
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from peers import Peer, kept

Scenario = Callable[[Peer], str]
SECRETS = ("hunter2-very-secret", "sk-proj-ABCDEF0123456789abcdef", "p4ssw0rd")
DEEP: dict[str, Any] = {}
_inner = DEEP
for _ in range(3000):
    _inner["k"] = _inner = {}


class BadRepr:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no text of me")

    __str__ = __repr__


class Logged(logging.Handler):
    """What was logged at WARNING and above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.lines.append(record.getMessage())


LOGGED = Logged()
logging.getLogger().addHandler(LOGGED)


def yes(good: object) -> str:
    """The cell of a scenario that is either good or not."""
    return "y" if good else "n"


def identity(x: Any) -> Any:
    """A tool at module level, so that it pickles by name."""
    return x


def annotated(a: int, b: str = "x", *, c: float = 1.0) -> dict[str, Any]:
    """A tool with a signature."""
    return {"a": a, "b": b, "c": c}


async def coroutine(x: Any) -> Any:
    """A tool that is awaited."""
    await asyncio.sleep(0)
    return x


def generator(n: int) -> Iterator[int]:
    """A tool that yields and returns."""
    yield from range(n)
    return "returned"


async def async_generator(n: int) -> Any:
    """A tool that yields when it is awaited."""
    for number in range(n):
        await asyncio.sleep(0)
        yield number


def flagged(peer: Peer, result: object) -> bool:
    """Whether a tool that returns this leaves a span that says failure: by status or by any attribute of its own."""
    peer.clear()
    peer.decorate(lambda: result)()
    spans = peer.spans()
    return any(s.status == "ERROR" or s.attributes.get("overclaim.observed.outcome") == "failure" for s in spans)


class Result:
    """Stands for the MCP SDK's CallToolResult."""

    def __init__(self) -> None:
        self.isError = True
        self.content = [{"type": "text", "text": "boom"}]


def soft_failures(peer: Peer) -> str:
    """Failures that a tool returns and does not raise: a status, an error text, MCP's mark, a swallowed HTTP 400."""
    results = ({"status_code": 400, "error": "bad request"}, "Error: HTTP 500 Internal Server Error", Result())
    return f"{sum(flagged(peer, one) for one in results) + _swallowed(peer)}/4"


def _swallowed(peer: Peer) -> bool:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    import requests

    class Refuse(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer 400."""
            self.send_response(400)
            self.end_headers()
            self.wfile.write(b"no")

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Refuse)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    peer.clear()
    peer.decorate(lambda: requests.get(f"http://127.0.0.1:{server.server_port}/x", timeout=5).text)()
    server.shutdown()
    tools = [s for s in peer.spans() if s.name != "GET"]
    return any(s.status == "ERROR" or s.attributes.get("overclaim.observed.outcome") == "failure" for s in tools)


def good_results_stay_green(peer: Peer) -> str:
    """Error words that are data: nothing here failed."""
    fine = ({"failed": 0, "error": None}, {"errors": []}, "raise HTTPException(500)  # the file you asked for")
    return yes(not any(flagged(peer, one) for one in fine))


def exception_recorded(peer: Peer) -> str:
    """An exception reaches the caller and the span."""
    peer.clear()
    error = ValueError("bad")

    def boom() -> None:
        raise error

    try:
        peer.decorate(boom)()
    except ValueError as caught:
        return yes(caught is error and any(s.status == "ERROR" for s in peer.spans()))
    return "n"


def abandoned_async_generator(peer: Peer) -> str:
    """A consumer that stops early: no error is logged, and a span ends."""
    peer.clear()
    LOGGED.lines.clear()

    async def consume() -> None:
        async for _ in peer.decorate(async_generator)(5):
            break
        await asyncio.sleep(0.01)

    asyncio.run(consume())
    gc.collect()
    return yes(peer.spans() and not any("ontext" in line for line in LOGGED.lines))


def abandoned_generator(peer: Peer) -> str:
    """The same without await."""
    peer.clear()
    stream = peer.decorate(generator)(5)
    next(stream)
    del stream
    gc.collect()
    return yes(peer.spans())


def base_exceptions(peer: Peer) -> str:
    """KeyboardInterrupt and SystemExit pass, the span ends, and the next call is a root span again."""
    peer.clear()

    def interrupted(kind: type[BaseException]) -> None:
        raise kind

    for kind in (KeyboardInterrupt, SystemExit):
        with suppress(kind):
            peer.decorate(interrupted)(kind)
    ended = len(peer.spans())
    peer.decorate(identity)(1)
    return yes(ended == 2 and peer.spans() and peer.spans()[-1].parent is None)


def cancelled(peer: Peer) -> str:
    """A cancelled call ends its span and is no success."""
    peer.clear()

    async def slow() -> None:
        await asyncio.sleep(10)

    async def cancel() -> None:
        task = asyncio.create_task(peer.decorate(slow)())
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancel())
    spans = peer.spans()
    return yes(spans and "ancel" in spans[0].text)


def generator_return(peer: Peer) -> str:
    """What a generator returns is kept."""
    stream = peer.decorate(generator)(1)
    next(stream)
    try:
        next(stream)
    except StopIteration as stop:
        return yes(stop.value == "returned")
    return "n"


def kinds_kept(peer: Peer) -> str:
    """Coroutine functions, generators and async generators stay what they are."""
    kinds = (
        (inspect.iscoroutinefunction, coroutine), (inspect.isgeneratorfunction, generator),
        (inspect.isasyncgenfunction, async_generator),
    )  # fmt: skip
    return yes(all(kind(peer.decorate(function)) for kind, function in kinds))


def signature_kept(peer: Peer) -> str:
    """Frameworks make the model's schema from it."""
    return yes(inspect.signature(peer.decorate(annotated)) == inspect.signature(annotated))


def copies(peer: Peer) -> str:
    """Frameworks copy tools, and processes pickle them."""
    globals()["identity"], plain = peer.decorate(identity), identity
    try:
        copy.deepcopy(globals()["identity"])
        return yes(pickle.loads(pickle.dumps(globals()["identity"])) is globals()["identity"])
    except Exception:
        return "n"
    finally:
        globals()["identity"] = plain


def threads(peer: Peer) -> str:
    """Tools called in a thread pool inside a tool stay in its trace."""
    peer.clear()
    inner = peer.decorate(identity)

    def outer() -> list[Any]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(inner, [1, 2]))

    peer.decorate(outer)()
    return yes(len({s.trace for s in peer.spans()}) == 1)


def secrets(peer: Peer) -> str:
    """How many of three secrets in arguments leave: a password, a bearer token, a password in a URL."""
    peer.clear()

    def login(password: str, headers: dict[str, str], dsn: str) -> str:
        return "ok"

    bearer = {"Authorization": f"Bearer {SECRETS[1]}"}
    peer.decorate(login)(password=SECRETS[0], headers=bearer, dsn=f"postgres://u:{SECRETS[2]}@h/db")
    sent = " ".join(s.text for s in peer.spans())
    return f"{sum(secret in sent for secret in SECRETS)} leak"


def size(peer: Peer) -> str:
    """How much of 5 MB leaves."""
    peer.clear()
    peer.decorate(identity)("x" * 5_000_000)
    sent = sum(len(s.text) for s in peer.spans())
    return f"{sent / 1e6:.1f} MB" if sent > 100_000 else f"{sent / 1e3:.1f} kB"


def hostile_values(peer: Peer) -> str:
    """Values that cannot be shown: the call goes on, and its span is there. Counts those of five that did both."""
    loop: list[Any] = []
    loop.append(loop)
    values = (loop, BadRepr(), {(1, 2): 3, None: 4}, DEEP, "lone \ud83e")
    good = 0
    for value in values:
        peer.clear()
        try:
            good += peer.decorate(identity)(value) is value and bool(peer.spans())
        except BaseException:
            continue
    return f"{good}/{len(values)}"


GROUPS: dict[str, tuple[Scenario, ...]] = {
    "says": (soft_failures, good_results_stay_green, exception_recorded, secrets, size),
    "keeps": (generator_return, kinds_kept, signature_kept, copies, threads),
    "ends": (abandoned_generator, abandoned_async_generator, cancelled, base_exceptions),
    "values": (hostile_values,),
}


def run(group: str, peer: Peer) -> dict[str, str]:
    """The cells of one group; what a scenario raises is a bad cell."""
    cells: dict[str, str] = {}
    for scenario in GROUPS[group]:
        try:
            cells[scenario.__name__] = scenario(peer)
        except BaseException as error:
            cells[scenario.__name__] = f"n ({type(error).__name__})"
    return cells


def overhead(peer: Peer, rounds: int, calls: int) -> dict[str, float]:
    """A decorated call by a bare span with 10 attributes: sync and async, CPU of the thread and of the process."""
    from opentelemetry.sdk.trace import TracerProvider

    exporter, processor = kept()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("bench")
    attributes = {f"bench.attribute.{number}": value for number, value in enumerate(("a", 1, True, 2.5, "text") * 2)}
    tool, tool_async = peer.decorate(_create_user), peer.decorate(_create_user_async)
    best: dict[str, float] = {}
    for turn in range(rounds):
        gc.collect()
        _best(best, "bare", lambda n: _bare(tracer, attributes, n), calls, turn)
        exporter.clear()
        _best(best, "sync", lambda n: tool(f"user{n}@example.com", n), calls, turn)
        peer.clear()
        for key, clock in (("async", time.thread_time), ("async total", time.process_time)):
            spent = asyncio.run(_awaited(tool_async, calls, turn, clock))
            best[key] = min(best.get(key, 9e9), spent)
        peer.clear()
    bare = best.pop("bare")
    total = best.pop("bare total")
    return {key: round(value / (total if "total" in key else bare), 2) for key, value in best.items()}


def _best(best: dict[str, float], key: str, call: Callable[[int], object], calls: int, turn: int) -> None:
    thread, process = time.thread_time(), time.process_time()
    for number in range(calls):
        call(turn * calls + number)
    spent, total = (time.thread_time() - thread) / calls, (time.process_time() - process) / calls
    best[key] = min(best.get(key, 9e9), spent)
    best[f"{key} total"] = min(best.get(f"{key} total", 9e9), total)


async def _awaited(tool: Any, calls: int, turn: int, clock: Callable[[], float]) -> float:
    started = clock()
    for number in range(calls):
        await tool(f"user{number}@example.com", turn * calls + number)
    return (clock() - started) / calls


def _bare(tracer: Any, attributes: dict[str, Any], number: int) -> None:
    with tracer.start_as_current_span("create_user", attributes=attributes):
        _create_user(f"user{number}@example.com", number)


def _create_user(email: str, number: int) -> dict[str, Any]:
    items = [{"sku": f"A-{number + one}", "price": one * 10, "name": "thing"} for one in range(12)]
    return {"id": f"u-{number}", "email": email, "items": items, "next": None}


async def _create_user_async(email: str, number: int) -> dict[str, Any]:
    return _create_user(email, number)


def main(arguments: list[str]) -> None:
    """Child process: PEER GROUP, prints one line of JSON."""
    from peers import set_up

    name, group, *rest = arguments
    peer = set_up(name)
    cells = overhead(peer, int(rest[0]), int(rest[1])) if group == "overhead" else run(group, peer)
    print("\n" + json.dumps(cells), flush=True)
    os._exit(0)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
