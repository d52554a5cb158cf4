from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from tests.conformance.answering import Answering, Script

from overclaim_collector.otlp.signals import SIGNALS, TRACES, Signal
from overclaim_collector.receivers import grpc as receiver
from overclaim_collector.receivers.admission import Admission
from overclaim_collector.receivers.inflate import MAX_BODY
from overclaim_collector.receivers.ingest import Receipt
from overclaim_collector.receivers.others import NOT_KEPT
from overclaim_collector.refusal import Reason, Refusal, invalid, too_large, unavailable

Code = grpc.StatusCode
EXPORT, CHECK = f"/{TRACES.service}/Export", "/grpc.health.v1.Health/Check"
EACH = pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)


@pytest.fixture
def channel(at: Answering) -> Iterator[grpc.Channel]:
    """A connection."""
    with grpc.insecure_channel(at.grpc) as opened:
        yield opened


def failure(channel: grpc.Channel, method: str, body: bytes = b"", **options: Any) -> Any:
    """How a call fails."""
    call: Any = channel.unary_unary(method)
    with pytest.raises(grpc.RpcError) as caught:
        call(body, timeout=30, **options)
    return caught.value


def retries(failed: Any) -> list[float]:
    """The seconds after which to come again: in the form of the specification, and in that of the Python exporter."""
    said = dict(failed.trailing_metadata())
    details, found = Status.FromString(said["grpc-status-details-bin"]), RetryInfo()
    assert (details.code, details.message) == (failed.code().value[0], failed.details())
    assert details.details[0].Unpack(found)
    other = RetryInfo.FromString(said["google.rpc.retryinfo-bin"])
    return [found.retry_delay.ToTimedelta().total_seconds(), other.retry_delay.ToTimedelta().total_seconds()]


@EACH
def test_success_is_the_empty_message(channel: grpc.Channel, script: Script, signal: Signal) -> None:
    """Each signal has its service, and no partial_success where nothing was refused."""
    assert channel.unary_unary(f"/{signal.service}/Export")(b"abc") == b""
    assert script.bodies == [b"abc"]


@EACH
def test_partial_success_counts_under_the_name_of_the_signal(
    channel: grpc.Channel, script: Script, signal: Signal
) -> None:
    """The status is OK: nothing is to be sent again."""
    script.outcomes = [Receipt(3, "3 refused: why")]
    response: Any = signal.response.FromString(channel.unary_unary(f"/{signal.service}/Export")(b""))
    assert getattr(response.partial_success, signal.rejected) == 3
    assert response.partial_success.error_message == "3 refused: why"


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (invalid("no request"), Code.INVALID_ARGUMENT),
        (Refusal(Reason.UNAUTHENTICATED, "a token is needed"), Code.UNAUTHENTICATED),
        (too_large("too much"), Code.RESOURCE_EXHAUSTED),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_what_can_never_succeed_says_nothing_of_coming_again(
    channel: grpc.Channel, script: Script, refusal: Refusal, code: Any
) -> None:
    """RESOURCE_EXHAUSTED is retryable only with RetryInfo, so there is none."""
    script.outcomes = [refusal]
    failed = failure(channel, EXPORT)
    assert (failed.code(), failed.details()) == (code, refusal.message)
    assert not {"grpc-status-details-bin", "google.rpc.retryinfo-bin"} & dict(failed.trailing_metadata()).keys()


def test_unavailable_says_when_to_come_again_in_both_forms(channel: grpc.Channel, script: Script) -> None:
    """The specification and the Python exporter look for it in different places."""
    script.outcomes = [unavailable("busy")]
    failed = failure(channel, EXPORT)
    assert (failed.code(), retries(failed)) == (Code.UNAVAILABLE, [1, 1])


def test_no_room_is_unavailable_with_a_time(channel: grpc.Channel, script: Script) -> None:
    """Never a bare RESOURCE_EXHAUSTED, which most exporters take for final."""
    script.admission = Admission(max_requests=0)
    failed = failure(channel, EXPORT, b"x")
    assert (failed.code(), retries(failed), script.bodies) == (Code.UNAVAILABLE, [1, 1], [])


def test_too_many_calls_are_unavailable_with_a_time(channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds where the number of calls itself is the trouble."""
    monkeypatch.setattr(receiver, "MAX_CALLS", 0)
    failed = failure(channel, EXPORT)
    assert (failed.code(), retries(failed)) == (Code.UNAVAILABLE, [1, 1])


@pytest.mark.parametrize("method", [*(f"/{service}/Export" for service in NOT_KEPT.values()), "/a.B/C", f"{EXPORT}s"])
def test_what_is_not_served_is_unimplemented(channel: grpc.Channel, method: str) -> None:
    """Signals that are not kept, and whatever else there is."""
    assert failure(channel, method).code() is Code.UNIMPLEMENTED


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_messages_are_read(channel: grpc.Channel, script: Script, compression: Any) -> None:
    """By the library, with its two algorithms."""
    channel.unary_unary(EXPORT)(b"abc" * 1000, compression=compression)
    assert script.bodies == [b"abc" * 1000]


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_over_the_limit_is_resource_exhausted(channel: grpc.Channel, compression: Any) -> None:
    """As it comes, and unpacked; the limit itself is fine."""
    body = bytes(MAX_BODY + 1)
    assert failure(channel, EXPORT, body, compression=compression).code() is Code.RESOURCE_EXHAUSTED


def test_a_large_message_within_the_limit_is_taken(channel: grpc.Channel, script: Script) -> None:
    """The library's own limit would be 4 MiB."""
    body = bytes(20 << 20)
    channel.unary_unary(EXPORT)(body)
    assert script.bodies == [body]


def test_a_call_without_a_message_is_refused(channel: grpc.Channel) -> None:
    """The stream ends before anything came."""
    call: Any = channel.stream_unary(EXPORT)
    with pytest.raises(grpc.RpcError) as caught:
        call(iter([]))
    failed: Any = caught.value
    assert failed.code() is Code.INVALID_ARGUMENT


@pytest.mark.parametrize("service", ["", TRACES.service])
def test_health_is_serving(channel: grpc.Channel, service: str) -> None:
    """grpc.health.v1, for the server and for each service; field 1 of the answer is the status, 1 is SERVING."""
    request = StringValue(value=service).SerializeToString()
    assert channel.unary_unary(CHECK)(request) == b"\x08\x01"


@pytest.mark.parametrize(("body", "code"), [(b"\x0a\x01x", Code.NOT_FOUND), (b"\xff", Code.INVALID_ARGUMENT)])
def test_health_of_what_is_not_served(channel: grpc.Channel, body: bytes, code: Any) -> None:
    """An unknown service is NOT_FOUND, as the health protocol has it."""
    assert failure(channel, CHECK, body).code() is code


def test_calls_that_stall_do_not_shut_out_the_others(
    channel: grpc.Channel, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty calls that never send their message take no thread, are told in the end, and others are served."""
    monkeypatch.setattr(receiver, "_MESSAGE_SECONDS", 1.0)
    stalled = [channel.stream_unary(EXPORT).future(_never()) for _ in range(40)]
    time.sleep(0.3)
    begun = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(channel.unary_unary(EXPORT), [b"x"] * 8))
    assert time.monotonic() - begun < 15
    assert answers == [b""] * 8
    assert {call.exception().code() for call in stalled} == {Code.UNAVAILABLE}


def _never() -> Iterator[bytes]:
    time.sleep(8)
    yield from ()


def test_not_more_calls_are_waited_for_than_can_be_held(channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """One too many is told to come again at once, long before its time is over."""
    monkeypatch.setattr(receiver, "_WAITED_FOR", 0)
    call: Any = channel.stream_unary(EXPORT)
    with pytest.raises(grpc.RpcError) as caught:
        call(_never())
    failed: Any = caught.value
    assert (failed.code(), "too many calls" in failed.details()) == (Code.UNAVAILABLE, True)


def test_few_messages_are_read_at_the_same_time() -> None:
    """Each may take the whole limit of memory before anything of it is seen."""
    reading, most = 0, 0

    async def message() -> AsyncIterator[bytes]:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        await asyncio.sleep(0.01)
        reading -= 1
        yield b"x"

    async def read() -> list[bytes]:
        inbox = receiver._Inbox(Admission(), MAX_BODY)  # pyright: ignore[reportPrivateUsage]
        return await asyncio.gather(*(inbox.message(message()) for _ in range(50)))

    assert asyncio.run(read()) == [b"x"] * 50
    assert most == 8


def test_when_the_process_grows_those_that_have_waited_longest_are_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only as many messages are waited for as can be held; the others are retryable, and the latest gets its time."""
    grown = 1
    monkeypatch.setattr(receiver, "resident_bytes", lambda: grown)
    monkeypatch.setattr(receiver, "_SOON", 0.001)

    async def message(seconds: float) -> AsyncIterator[bytes]:
        await asyncio.sleep(seconds)
        yield b"x"

    async def read() -> list[bytes | BaseException]:
        nonlocal grown
        inbox = receiver._Inbox(Admission(), MAX_BODY)  # pyright: ignore[reportPrivateUsage]
        calls = [asyncio.ensure_future(inbox.message(message(1.0))) for _ in range(20)]
        await asyncio.sleep(0.3)
        assert not any(call.done() for call in calls)
        grown = Admission().for_arriving_messages + 2
        return await asyncio.gather(*calls, return_exceptions=True)

    came = asyncio.run(read())
    assert came[11:] == [b"x"] * 9
    assert {getattr(one, "reason", None) for one in came[:11]} == {Reason.UNAVAILABLE}


def test_a_full_waiting_room_makes_place_only_of_those_that_had_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that neither senders that stall nor many slow ones shut out the next for long."""
    monkeypatch.setattr(receiver, "_WAITED_FOR", 1)
    monkeypatch.setattr(receiver, "_SOON", 0.001)
    monkeypatch.setattr(receiver, "_FAIR_SECONDS", 0.2)

    async def message(seconds: float) -> AsyncIterator[bytes]:
        await asyncio.sleep(seconds)
        yield b"x"

    async def read() -> list[str]:
        inbox = receiver._Inbox(Admission(), MAX_BODY)  # pyright: ignore[reportPrivateUsage]
        first = asyncio.ensure_future(inbox.message(message(5)))
        await asyncio.sleep(0.05)
        early = await asyncio.gather(inbox.message(message(0.1)), return_exceptions=True)
        await asyncio.sleep(0.25)
        late = await asyncio.gather(inbox.message(message(0.1)), first, return_exceptions=True)
        return [str(one) for one in (*early, *late)]

    early, late, first = asyncio.run(read())
    assert "too many calls wait" in early
    assert late == "b'x'"
    assert "its place was needed" in first
