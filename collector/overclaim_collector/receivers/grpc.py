"""OTLP over gRPC. Requests are taken as bytes, so that limits come before parsing.

Each call runs in an event loop until its message is here: a sender that stalls costs no thread. A message may take the
whole limit of memory before anything of it is seen, so only a few are read at the same time. One that does not come
soon is waited for beside the others, as long as the process does not grow by that: then only as many messages are
waited for as can be held, and those that have waited longest are told to come again.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.protobuf.wrappers_pb2 import Int32Value, StringValue

from overclaim._errors import InputError
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.signals import SIGNALS, Signal
from overclaim_collector.pressure import resident_bytes
from overclaim_collector.receivers import answers
from overclaim_collector.receivers.admission import Admission
from overclaim_collector.receivers.inflate import MAX_BODY
from overclaim_collector.receivers.ingest import Ingest
from overclaim_collector.receivers.others import NOT_KEPT, Onward, pass_on
from overclaim_collector.refusal import Reason, Refusal, invalid, unavailable

MAX_CALLS: Final = 2000
HEALTH: Final = "grpc.health.v1.Health"
_AT_ONCE: Final = 8
_SOON: Final = 0.1
_WAITED_FOR: Final = 32
_MESSAGE_SECONDS: Final = 10.0
# Nobody who has waited less gives place to another, unless the process grows.
_FAIR_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.02
_FREED_SECONDS: Final = 0.05
_OPTIONS: Final = (
    ("grpc.so_reuseport", 0),  # two servers on one port would share its requests without a word
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.keepalive_time_ms", 60_000),  # connections whose other end is gone are found
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.max_connection_age_ms", 600_000),  # so that load balancers can move clients
    ("grpc.max_connection_age_grace_ms", 30_000),
    ("grpc.max_concurrent_streams", 200),
)
_CODES: Final[dict[int, Any]] = {code.value[0]: code for code in grpc.StatusCode}
_Calls = AsyncIterator[bytes]
_Context = Any  # grpc.aio.ServicerContext has no stubs
_Method = Callable[[_Calls, _Context], Awaitable[bytes]]
_Work = Callable[[bytes], Awaitable[bytes]]
_Reading = asyncio.Future[bytes | None]


class GrpcReceiver:
    """The gRPC server, in a thread of its own. What is stored is passed on to `onward`, too, if there is one."""

    def __init__(
        self, ingest: Ingest, workers: Executor, onward: Onward | None = None, interceptors: Sequence[Any] = ()
    ) -> None:
        self._ingest = ingest
        self._workers = workers
        self._onward = onward
        self._interceptors = interceptors
        self._largest = min(MAX_BODY, ingest.admission.max_bytes)
        self._inbox = _Inbox(ingest.admission, self._largest)
        self._calls = 0
        self._grace = 0.0
        self._stopping = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self, host: str, port: int, credentials: grpc.ServerCredentials | None = None) -> int:
        """Listen; returns the real port. With `credentials` over TLS.

        Raises:
            InputError: the port cannot be had.
        """
        started: Future[int] = Future()
        serve = partial(self._serve, f"{host}:{port}", credentials, started)
        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), name="overclaim-grpc", daemon=True)
        self._thread.start()
        try:
            return started.result()
        except RuntimeError as error:
            raise port_in_use("gRPC", host, port, "--grpc-port") from error

    def stop(self, grace: float) -> None:
        """Take no new calls and give running ones `grace` seconds."""
        self._grace = grace
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(grace + 1)

    async def _serve(self, address: str, credentials: Any, started: Future[int]) -> None:
        try:
            options = (*_OPTIONS, ("grpc.max_receive_message_length", self._largest))
            server: Any = grpc.aio.server(interceptors=self._interceptors, options=options)
            server.add_generic_rpc_handlers(tuple(self._handlers()))
            port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
            await server.start()
        except BaseException as error:  # the thread that waits must hear of it
            started.set_exception(error)
            return
        self._loop = asyncio.get_running_loop()
        started.set_result(port)
        await self._stopping.wait()
        await server.stop(self._grace)

    def _handlers(self) -> list[Any]:
        found = [_handler(signal.service, "Export", self._method(partial(self._keep, signal))) for signal in SIGNALS]
        for path, service in NOT_KEPT.items():
            found.append(_handler(service, "Export", self._method(partial(self._pass_on, path))))
        services = {"", HEALTH, *(signal.service for signal in SIGNALS)}
        return [*found, _handler(HEALTH, "Check", self._method(partial(_health, services)))]

    def _method(self, work: _Work) -> _Method:
        """What all methods do around their work."""

        async def method(calls: _Calls, context: _Context) -> bytes:
            self._calls += 1
            try:
                if self._calls > MAX_CALLS:  # the library's own limit would not say when to come again
                    raise unavailable("too many calls at once: send again")
                return await work(await self._inbox.message(calls))
            except Refusal as refusal:
                _refuse(context, refusal)
                return b""
            finally:
                self._calls -= 1

        return method

    async def _keep(self, signal: Signal, body: bytes) -> bytes:
        with self._ingest.admission.request() as claim:
            claim.take(len(body))
            receive = partial(self._ingest.receive, claim, body, Encoding.PROTOBUF, "", signal)
            receipt = await asyncio.get_running_loop().run_in_executor(self._workers, receive)
        if self._onward is not None:
            self._onward.offer(signal.path, body, Encoding.PROTOBUF.value, "")
        return answers.written(answers.success(receipt, signal), Encoding.PROTOBUF)

    async def _pass_on(self, path: str, body: bytes) -> bytes:
        pass_on(self._onward, path, body, Encoding.PROTOBUF.value, "")
        return b""


class _Inbox:
    """Reads the message of each call, few at the same time. largest: the bytes that a message may have."""

    def __init__(self, admission: Admission, largest: int) -> None:
        self._reading = asyncio.Semaphore(_AT_ONCE)
        self._late = _Late(admission, largest)

    async def message(self, calls: _Calls) -> bytes:
        """The message of a call.

        Raises:
            Refusal: INVALID where there is none, UNAVAILABLE where it does not come.
        """
        async with self._reading:
            reading = asyncio.ensure_future(anext(calls, None))
            try:
                await asyncio.wait([reading], timeout=_SOON)
            except asyncio.CancelledError:
                reading.cancel()
                raise
        try:
            body = reading.result() if reading.done() else await self._late.message(reading)
        finally:
            reading.cancel()
        if body is None:
            raise invalid("the call has no message, or one over the limit")
        return body


class _Late:
    """The messages that did not come soon. What has come of them is seen only by how the process grows."""

    def __init__(self, admission: Admission, largest: int) -> None:
        self._admission = admission
        self._room = admission.for_arriving_messages
        self._few = max(1, self._room // largest)
        self._tight = False
        self._since: dict[_Reading, float] = {}  # the one that has waited longest comes first
        self._watching: asyncio.Task[None] | None = None

    async def message(self, reading: _Reading) -> bytes | None:
        """What comes of `reading` in the end.

        Raises:
            Refusal: UNAVAILABLE where nothing does, or where its place is needed.
        """
        self._take_place(reading)
        try:
            await asyncio.wait([reading], timeout=_MESSAGE_SECONDS)
        finally:
            self._since.pop(reading, None)
        if reading.cancelled():
            raise unavailable("the message took long, and its place was needed: send again")
        if not reading.done():
            raise unavailable(f"the message did not arrive within {_MESSAGE_SECONDS:.0f} s: send again")
        return reading.result()

    def _take_place(self, reading: _Reading) -> None:
        while len(self._since) >= self._places():
            if not self._since or time.monotonic() - next(iter(self._since.values())) < _FAIR_SECONDS:
                raise unavailable("too many calls wait for their message: send again")
            self._give_up_longest()
        self._since[reading] = time.monotonic()
        if self._watching is None or self._watching.done():
            self._watching = asyncio.ensure_future(self._watch())

    def _places(self) -> int:
        return min(_WAITED_FOR, self._few) if self._tight else _WAITED_FOR

    def _give_up_longest(self) -> None:
        longest = next(iter(self._since))
        del self._since[longest]
        longest.cancel()

    async def _watch(self) -> None:
        while self._since:
            least = await self._look()
            self._tight = False
            if resident_bytes() - least > self._room // 4:  # or the next ones would begin from there
                await asyncio.to_thread(_give_back)

    async def _look(self) -> int:
        """While messages are waited for: whether the process grows by more than there is room for. Its least bytes."""
        least = resident_bytes()
        while self._since:
            now = resident_bytes()
            least = min(least, now)
            # 0 where the system does not tell: then it may have grown
            self._tight = not now or now - least > self._room or self._admission.short
            if self._tight:
                await self._make_room()
            await asyncio.sleep(_LOOK_SECONDS)
        return least

    async def _make_room(self) -> None:
        if len(self._since) <= self._few:
            return
        while len(self._since) > self._few:
            self._give_up_longest()
        await asyncio.sleep(_FREED_SECONDS)
        await asyncio.to_thread(_give_back)


def _give_back() -> None:
    """Return to the system what the allocator holds free, so that the growth that is seen is the real one."""
    with suppress(OSError, AttributeError):  # where it is not glibc's
        ctypes.CDLL(None).malloc_trim(0)


def _handler(service: str, method: str, behaviour: _Method) -> Any:
    # A stream on our side, which is the same on the wire: only so can the time that a message takes be limited.
    # No deserialiser: bytes in, bytes out.
    made: Any = grpc
    return made.method_handlers_generic_handler(service, {method: made.stream_unary_rpc_method_handler(behaviour)})


async def _health(services: set[str], body: bytes) -> bytes:
    """grpc.health.v1: its messages have one field each, the same on the wire as those of these wrappers."""
    try:
        service = StringValue.FromString(body).value
    except DecodeError:
        raise invalid("the body is not a protobuf HealthCheckRequest") from None
    if service not in services:
        raise Refusal(Reason.UNKNOWN_SERVICE, "this service is not served here")
    return Int32Value(value=1).SerializeToString()  # SERVING


def _refuse(context: _Context, refusal: Refusal) -> None:
    status = answers.status(refusal)
    context.set_code(_CODES[status.code])
    context.set_details(status.message)
    if refusal.reason is Reason.UNAVAILABLE:
        # When to come again, in the form of the specification and in the one that the Python exporter reads.
        context.set_trailing_metadata(
            (
                ("grpc-status-details-bin", status.SerializeToString()),
                ("google.rpc.retryinfo-bin", answers.RETRY.SerializeToString()),
            )
        )


def port_in_use(what: str, host: str, port: int, option: str) -> InputError:
    """The error for a port that cannot be had."""
    return InputError(
        f"cannot listen for {what} on {host} port {port}: it is in use, probably by another collector; "
        f"stop that one, or choose another port with {option} (0 takes a free one)"
    )
