from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import httpx
import pytest
from tests.conformance.answering import DONE, Answering, Script, answering
from tests.conformance.cases import JSON, PROTOBUF

from overclaim_collector.otlp.signals import SIGNALS, TRACES
from overclaim_collector.receivers.others import NOT_KEPT
from overclaim_collector.refusal import invalid


@dataclass
class Queue:
    """Stands for what passes requests on. room: whether it takes any."""

    room: bool = True
    offered: list[tuple[str, bytes, str, str]] = field(default_factory=list[tuple[str, bytes, str, str]])

    def offer(self, path: str, body: bytes, content_type: str, content_encoding: str) -> bool:
        """Take it, if there is room."""
        if self.room:
            self.offered.append((path, body, content_type, content_encoding))
        return self.room


@pytest.fixture(scope="module")
def script() -> Script:
    """What comes of the requests of each test."""
    return Script()


@pytest.fixture(scope="module")
def queue() -> Queue:
    """What is passed on."""
    return Queue()


@pytest.fixture(scope="module")
def at(script: Script, queue: Queue) -> Iterator[Answering]:
    """The receivers on free ports, which pass on."""
    with answering(script, queue) as where:
        yield where


@pytest.fixture(autouse=True)
def fresh(script: Script, queue: Queue) -> None:
    """Everything succeeds until a test says otherwise."""
    script.outcomes, queue.room = [DONE], True
    script.bodies.clear()
    queue.offered.clear()


def post(at: Answering, path: str, body: bytes, media_type: str = PROTOBUF, encoding: str = "") -> httpx.Response:
    """Send over HTTP."""
    headers = {"content-type": media_type, **({"content-encoding": encoding} if encoding else {})}
    return httpx.post(f"{at.http}{path}", content=body, headers=headers, trust_env=False)


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_what_is_stored_is_passed_on_as_it_came(at: Answering, queue: Queue, signal: Any) -> None:
    """The bytes, their type and how they are packed are the sender's, over both transports."""
    assert post(at, signal.path, b"packed", JSON, "gzip").status_code == 200
    with grpc.insecure_channel(at.grpc) as channel:
        channel.unary_unary(f"/{signal.service}/Export")(b"plain")
    assert queue.offered == [(signal.path, b"packed", JSON, "gzip"), (signal.path, b"plain", PROTOBUF, "")]


def test_what_is_refused_is_not_passed_on(at: Answering, script: Script, queue: Queue) -> None:
    """The sender hears of it, and may send it again: it must not arrive twice elsewhere."""
    script.outcomes = [invalid("no request")]
    assert post(at, TRACES.path, b"x").status_code == 400
    assert queue.offered == []


def test_a_full_queue_never_fails_what_is_stored(at: Answering, queue: Queue) -> None:
    """Passing on comes second."""
    queue.room = False
    assert post(at, TRACES.path, b"x").status_code == 200


@pytest.mark.parametrize(("path", "service"), NOT_KEPT.items())
def test_signals_that_are_not_kept_are_taken_for_the_other_one(
    at: Answering, script: Script, queue: Queue, path: str, service: str
) -> None:
    """Acknowledged once queued; nothing is decoded."""
    for media_type, said in ((PROTOBUF, b""), (JSON, b"{}")):
        answer = post(at, path, b"any", media_type)
        assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, said, media_type)
    with grpc.insecure_channel(at.grpc) as channel:
        assert channel.unary_unary(f"/{service}/Export")(b"any") == b""
    assert [item[0] for item in queue.offered] == [path] * 3
    assert script.bodies == []


@pytest.mark.parametrize(("path", "service"), NOT_KEPT.items())
def test_signals_that_are_not_kept_come_again_when_the_queue_is_full(
    at: Answering, queue: Queue, path: str, service: str
) -> None:
    """503 with a time, and UNAVAILABLE."""
    queue.room = False
    answer = post(at, path, b"any")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    with grpc.insecure_channel(at.grpc) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(f"/{service}/Export")(b"any")
    failed: Any = caught.value
    assert failed.code() is grpc.StatusCode.UNAVAILABLE
