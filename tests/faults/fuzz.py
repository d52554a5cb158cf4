"""Damaged requests by the thousand: `python -m tests.faults.fuzz [--bodies N] [--seed N] [--seconds S]`.

They go through the guard to the HTTP receivers in this process, with a writer that makes the rows of what it takes and
keeps only their number: so all code up to the store has to read them. Printed: bodies a second, the answers, and
whether the balance is exact. Exits with 1 where something was not refused as it should be.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from google.protobuf import json_format
from google.rpc.status_pb2 import Status
from starlette.applications import Starlette
from tests.conformance.cases import JSON, PROTOBUF
from tests.faults.fuzz_mutations import mutated, packed
from tests.faults.fuzz_seeds import Seed, seeds

from overclaim_collector.otlp.items import Refused
from overclaim_collector.otlp.signals import SIGNALS, Signal
from overclaim_collector.receivers.http import HttpReceiver
from overclaim_collector.receivers.ingest import Ingest
from overclaim_collector.web.auth import Tokens
from overclaim_collector.web.guard import Guard
from overclaim_collector.web.origin import Origins
from overclaim_collector.writing.entry import Entry

ALLOWED = {200, 400, 403, 404, 405, 413, 415}
_ODD_LENGTHS = ["1_0", "+5", "-5", "", "\u0665", "9" * 19, "9" * 5000, "0"]
_ODD_TYPES = ["", "text/plain", "application/json;", "APPLICATION/JSON ; charset=x", "application/x-protobuf,x", "\xff"]
_ODD_HOSTS = ["", "evil.example", "localhost:x", "[::1", "http://localhost:1", "null", "\u0661", "a" * 3000, "http://["]
Headers = list[tuple[bytes, bytes]]


@dataclass
class Kept:
    """Stands for the writer. stored: the rows that were made. wrong: requests whose rows are not as many as counted."""

    stored: int = 0
    refused: int = 0
    wrong: int = 0

    def submit(self, entry: Entry) -> Future[None]:
        """Make the rows."""
        rows = len(entry.rows())
        self.wrong += rows != entry.items
        self.stored += rows
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def refuse(self, signal: Signal, items: Sequence[Refused]) -> None:
        """Count what was refused alone."""
        self.refused += len(items)


class Inline(Executor):
    """Works in the thread that asks: nothing blocks here, and a change of threads costs more than the work."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it now."""
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


@dataclass
class Found:
    """What came of all requests. told: how many items the answers say were refused. faults: what must not happen."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    told: int = 0
    faults: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Sent:
    """A request as it is sent."""

    path: str
    headers: Headers
    parts: list[bytes]
    method: str = "POST"
    cut_off: bool = False


class Fuzzer:
    """Sends damaged requests to the application."""

    def __init__(self, seed: int) -> None:
        self.found = Found()
        self.kept = Kept()
        self._random = Random(seed)
        self._seeds = seeds()
        receiver = HttpReceiver(Ingest(cast(Any, self.kept)), Inline())
        self._app = Guard(Starlette(routes=receiver.routes()), Tokens(), Origins(beyond=False))

    async def run(self, bodies: int, seconds: float = float("inf")) -> int:
        """Send so many, or for so long; returns how many it was."""
        end = time.monotonic() + seconds
        for number in range(bodies):
            if time.monotonic() > end:
                return number
            await self._once(number)
        return bodies

    async def _once(self, number: int) -> None:
        seed, other = self._random.choice(self._seeds), self._random.choice(self._seeds)
        sent = _request(self._random, seed, *packed(self._random, mutated(self._random, seed, other)))
        try:
            status, headers, body = await _answer(self._app, sent)
            self.found.statuses[status] += 1
            fault = self._judge(sent.path, status, headers, body)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        if fault:
            self.found.faults.append(f"body {number}: {fault}"[:500])

    def _judge(self, path: str, status: int, headers: dict[bytes, bytes], body: bytes) -> str:
        """What is wrong with an answer; empty where it is fine."""
        if status not in ALLOWED:
            return f"answered with {status}: {body[:200]!r}"
        media_type = headers.get(b"content-type", b"").decode("latin-1")
        if media_type in (JSON, PROTOBUF):
            self.found.told += _refused(status, path, media_type, body)
            return ""
        return "" if status in (400, 403, 405, 415) else f"{status} of type {media_type}"

    @property
    def balance(self) -> str:
        """What is not as it should be with the numbers; empty where they are exact."""
        if self.kept.wrong:
            return f"{self.kept.wrong} requests became more or fewer rows than were counted"
        if self.kept.refused != self.found.told:
            return f"{self.kept.refused} items were refused, and senders were told of {self.found.told}"
        return ""


def _request(random: Random, seed: Seed, body: bytes, encoding: str) -> Sent:
    headers = {"host": "localhost:4318", "content-type": seed.media_type, "content-length": str(len(body))}
    if encoding:
        headers["content-encoding"] = encoding
    if random.random() < 0.1:
        _damage(random, headers)
    paths = ["/v1/metrics", "/v1development/profiles", *(signal.path for signal in SIGNALS)]
    path = random.choice(paths) if random.random() < 0.05 else seed.signal.path
    method = random.choice(["GET", "HEAD", "OPTIONS", "PUT"]) if random.random() < 0.01 else "POST"
    pairs = [(name.encode(), value.encode("utf-8", "surrogatepass")) for name, value in headers.items()]
    return Sent(path, pairs, _parts(random, body), method, random.random() < 0.01)


def _damage(random: Random, headers: dict[str, str]) -> None:
    way = random.randrange(6)
    if way == 0:
        headers["content-length"] = random.choice(_ODD_LENGTHS)
    elif way == 1:
        headers["content-type"] = random.choice(_ODD_TYPES)
    elif way == 2:
        headers["content-type"] = random.choice([JSON, PROTOBUF])  # perhaps the other one
    elif way == 3:
        headers.pop(random.choice(list(headers)))
    elif way == 4:
        headers[random.choice(["host", "origin"])] = random.choice(_ODD_HOSTS)
    else:
        headers["x-" + "y" * random.choice((1, 10_000))] = "\u20ac" * 10


def _parts(random: Random, body: bytes) -> list[bytes]:
    """The body in pieces, of which some are empty."""
    if random.random() < 0.7:
        return [body]
    cuts = sorted(random.randrange(len(body) + 1) for _ in range(random.randrange(6)))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


async def _answer(app: Any, sent: Sent) -> tuple[int, dict[bytes, bytes], bytes]:
    """Have the application answer a request: its status, headers and body."""
    coming = _events(sent)
    got: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(coming, {"type": "http.disconnect"})

    async def send(event: dict[str, Any]) -> None:
        got.append(event)

    scope = {"type": "http", "http_version": "1.1", "scheme": "http", "query_string": b"", "root_path": ""}
    await app({**scope, "method": sent.method, "path": sent.path, "headers": sent.headers}, receive, send)
    body = b"".join(event.get("body", b"") for event in got[1:])
    return got[0]["status"], dict(got[0]["headers"]), body


def _events(sent: Sent) -> Any:
    parts = sent.parts[: len(sent.parts) // 2] if sent.cut_off else sent.parts
    for index, part in enumerate(parts):
        more = sent.cut_off or index + 1 < len(parts)
        yield {"type": "http.request", "body": part, "more_body": more}


def _refused(status: int, path: str, media_type: str, body: bytes) -> int:
    """How many items an answer says were refused. Raises where it is no OTLP answer."""
    signal = next((signal for signal in SIGNALS if signal.path == path), SIGNALS[0])
    kind: Any = signal.response if status == 200 else Status
    message = json_format.Parse(body, kind()) if media_type == JSON else kind.FromString(body)
    return int(getattr(message.partial_success, signal.rejected)) if status == 200 else 0


class Complaints(logging.Handler):
    """What the collector logs as an error is a fault, even where the sender got a polite answer."""

    def __init__(self, found: Found) -> None:
        super().__init__(logging.ERROR)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        cause = record.exc_info[1] if record.exc_info else ""
        self._found.faults.append(f"logged: {record.getMessage()}: {cause!r}"[:500])


def fuzz(bodies: int, seed: int, seconds: float = float("inf")) -> tuple[Fuzzer, int]:
    """Send so many damaged requests; the fuzzer with what it found, and how many it sent."""
    fuzzer = Fuzzer(seed)
    log, complaints = logging.getLogger("overclaim_collector"), Complaints(fuzzer.found)
    log.addHandler(complaints)
    try:
        sent = asyncio.run(fuzzer.run(bodies, seconds))
    finally:
        log.removeHandler(complaints)
    return fuzzer, sent


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    args = parser.parse_args(arguments)
    begun = time.perf_counter()
    fuzzer, sent = fuzz(args.bodies, args.seed, args.seconds)
    rate = sent / (time.perf_counter() - begun)
    found, kept = fuzzer.found, fuzzer.kept
    print(f"{sent} bodies with seed {args.seed}, {rate:.0f} a second")
    print("answers: " + ", ".join(f"{count} x {status}" for status, count in sorted(found.statuses.items())))
    print(f"items: {kept.stored} stored, {kept.refused} refused; balance {fuzzer.balance or 'exact'}")
    print(f"faults: {len(found.faults)}")
    for fault in found.faults[:20]:
        print(f"  {fault}")
    return 1 if found.faults or fuzzer.balance else 0


if __name__ == "__main__":
    sys.exit(main())
