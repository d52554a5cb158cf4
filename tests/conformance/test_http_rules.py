from __future__ import annotations

import gzip
import socket
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from google.protobuf import json_format
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from tests.conformance.answering import DONE, Answering, Script
from tests.conformance.cases import JSON, PROTOBUF

from overclaim_collector.otlp.signals import SIGNALS, Signal
from overclaim_collector.receivers.admission import Admission
from overclaim_collector.receivers.inflate import MAX_BODY, inflate, zstd
from overclaim_collector.receivers.ingest import Receipt
from overclaim_collector.receivers.others import NOT_KEPT
from overclaim_collector.refusal import Reason, Refusal, invalid, too_large, unavailable

BOTH = pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
EACH = pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)


@pytest.fixture
def http(at: Answering) -> Iterator[httpx.Client]:
    """An HTTP client."""
    with httpx.Client(base_url=at.http, trust_env=False, timeout=20) as client:
        yield client


def status_in(answer: httpx.Response) -> Status:
    """The google.rpc.Status that an answer must have, in its own encoding."""
    if answer.headers["content-type"] == JSON:
        return json_format.Parse(answer.text, Status())
    return Status.FromString(answer.content)


@EACH
@BOTH
def test_success_has_the_empty_message_in_the_type_of_the_request(
    http: httpx.Client, signal: Signal, media_type: str
) -> None:
    """No partial_success at all: an empty body in protobuf, an empty object in JSON."""
    answer = http.post(signal.path, content=b"", headers={"content-type": media_type})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
    assert answer.content == (b"{}" if media_type == JSON else b"")


@EACH
@BOTH
def test_partial_success_counts_under_the_name_of_the_signal(
    http: httpx.Client, script: Script, signal: Signal, media_type: str
) -> None:
    """rejected_spans, rejected_log_records: each response has its own field, and 64-bit integers are text in JSON."""
    script.outcomes = [Receipt(3, "3 refused: why")]
    answer = http.post(signal.path, content=b"", headers={"content-type": media_type})
    kind: Any = signal.response
    read = json_format.Parse(answer.text, kind()) if media_type == JSON else kind.FromString(answer.content)
    assert getattr(read.partial_success, signal.rejected) == 3
    assert read.partial_success.error_message == "3 refused: why"


@BOTH
@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (invalid("no request"), 400, 3),
        (Refusal(Reason.UNAUTHENTICATED, "a token is needed"), 401, 16),
        (Refusal(Reason.FORBIDDEN, "not from there"), 403, 7),
        (too_large("too much"), 413, 8),
        (unavailable("busy"), 503, 14),
    ],
    ids=lambda value: value.reason.name if isinstance(value, Refusal) else None,
)
def test_each_refusal_is_a_status_in_the_type_of_the_request(
    http: httpx.Client, script: Script, media_type: str, refusal: Refusal, status: int, code: int
) -> None:
    """The body of every 4xx and 5xx is a google.rpc.Status; only 503 says when to come again, in header and body."""
    script.outcomes = [refusal]
    answer = http.post("/v1/traces", content=b"", headers={"content-type": media_type})
    said = status_in(answer)
    assert (answer.status_code, answer.headers["content-type"]) == (status, media_type)
    assert (said.code, said.message) == (code, refusal.message)
    assert answer.headers.get("retry-after") == ("1" if status == 503 else None)
    retry = RetryInfo()
    assert [detail.Unpack(retry) for detail in said.details] == ([True] if status == 503 else [])
    assert retry.retry_delay.seconds == (1 if status == 503 else 0)


@BOTH
def test_no_room_is_503_and_never_429_or_500(http: httpx.Client, script: Script, media_type: str) -> None:
    """Pressure is answered before anything is worked on."""
    script.admission = Admission(max_requests=0)
    answer = http.post("/v1/traces", content=b"x", headers={"content-type": media_type})
    assert (answer.status_code, answer.headers["retry-after"], status_in(answer).code) == (503, "1", 14)
    assert script.bodies == []


@BOTH
@pytest.mark.parametrize("path", NOT_KEPT)
def test_a_signal_that_is_not_kept_is_404(http: httpx.Client, path: str, media_type: str) -> None:
    """Nothing is acknowledged that would be thrown away; the message names what is taken."""
    answer = http.post(path, content=b"", headers={"content-type": media_type})
    assert (answer.status_code, status_in(answer).code) == (404, 12)
    assert "/v1/traces" in status_in(answer).message


def test_long_messages_are_cut_and_half_characters_replaced(http: httpx.Client, script: Script) -> None:
    """An answer stays far below OTLP's 4 MiB, and is UTF-8 whatever the sender wrote."""
    script.outcomes = [Receipt(1, "x\ud800" * 1_000_000)]
    answer = http.post("/v1/traces", json={})
    assert len(answer.content) < 10_000
    assert answer.json()["partialSuccess"]["errorMessage"].startswith("x?x?")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/metrics"])
def test_another_method_is_405_in_plain_text(http: httpx.Client, method: str, path: str) -> None:
    """With the one that is allowed."""
    answer = http.request(method, path, headers={"content-type": JSON})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("media_type", [None, "", "text/plain", "application/protobuf", "application/jsonl", "json"])
def test_another_type_is_415_in_plain_text(http: httpx.Client, media_type: str | None) -> None:
    """The message names the two that are read."""
    headers = {} if media_type is None else {"content-type": media_type}
    answer = http.post("/v1/traces", content=b"", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (415, "text/plain; charset=utf-8")
    assert f"{PROTOBUF} or {JSON}" in answer.text


@pytest.mark.parametrize(
    ("given", "answered"),
    [
        ("application/json; charset=utf-8", JSON),
        ("Application/JSON", JSON),
        ("application/json;charset=utf-8;x=y", JSON),
        ("application/x-protobuf; proto=x", PROTOBUF),
    ],
)
def test_parameters_of_the_type_are_set_aside(http: httpx.Client, given: str, answered: str) -> None:
    """The type counts without them, in any case."""
    answer = http.post("/v1/traces", content=b"", headers={"content-type": given})
    assert (answer.status_code, answer.headers["content-type"]) == (200, answered)


PACKED = {
    "gzip": gzip.compress(b"ab") + gzip.compress(b"c"),
    "x-gzip": gzip.compress(b"abc"),
    "GZIP": gzip.compress(b"abc"),
    "deflate": zlib.compress(b"abc"),
    "zstd": zstd.compress(b"ab") + zstd.compress(b"c"),
    "identity": b"abc",
}


@pytest.mark.parametrize("encoding", PACKED)
def test_each_content_encoding_is_undone(encoding: str) -> None:
    """Several gzip members or zstd frames in a row are one body."""
    assert inflate(PACKED[encoding], encoding) == b"abc"
    assert inflate(b"", encoding) == b""


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "lz4", "gzip;q=1"])
def test_another_content_encoding_is_415_with_those_that_are_read(encoding: str) -> None:
    """Packed twice is another one, too."""
    with pytest.raises(Refusal) as caught:
        inflate(b"abc", encoding)
    assert caught.value.reason is Reason.UNSUPPORTED


def test_a_zstd_frame_cannot_ask_for_a_large_window() -> None:
    """8 MiB are what RFC 9659 allows; a frame that wants more is refused before it gets them."""
    level = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.content_size_flag: 0}
    packer = zstd.ZstdCompressor(options=level)
    with pytest.raises(Refusal, match="not valid zstd"):
        inflate(packer.compress(b"abc") + packer.flush(), "zstd")


def test_data_that_shrank_too_well_are_refused_early_and_real_ones_are_not() -> None:
    """A bomb ends after 8 MiB, whatever stands before it; text that shrinks to a fiftieth passes whole."""
    real = b"".join(b"agent %06d called tool %04d\n" % (number, number % 977) for number in range(1_000_000))
    assert inflate(gzip.compress(real), "gzip") == real
    taken: list[int] = []
    with pytest.raises(Refusal, match="times as large") as caught:
        inflate(gzip.compress(real[:1000] + bytes(60 << 20)), "gzip", take=taken.append)
    assert caught.value.reason is Reason.TOO_LARGE
    assert sum(taken) < 10 << 20


def test_no_page_of_another_site_gets_permission(http: httpx.Client) -> None:
    """CORS is off: a preflight is answered without it, and so is everything else."""
    asked = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
    preflight = http.options("/v1/traces", headers=asked)
    posted = http.post("/v1/traces", content=b"", headers={"content-type": JSON, "origin": "http://localhost:3000"})
    named = [name for answer in (preflight, posted) for name in answer.headers if name.startswith("access-control")]
    assert (preflight.status_code, named) == (405, [])


class Raw:
    """A connection on which a test writes HTTP by hand."""

    def __init__(self, at: Answering) -> None:
        self._socket = socket.create_connection(("127.0.0.1", int(at.http.rsplit(":", 1)[1])), timeout=10)

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, *lines: str, body: bytes = b"") -> None:
        """A request for traces with these headers."""
        head = ["POST /v1/traces HTTP/1.1", "Host: localhost", f"Content-Type: {PROTOBUF}", *lines, "", ""]
        self._socket.sendall("\r\n".join(head).encode() + body)

    def more(self, body: bytes) -> None:
        """More of it."""
        self._socket.sendall(body)

    def statuses(self, count: int) -> list[int]:
        """The status codes of so many answers, in their order."""
        text = b""
        while text.count(b"HTTP/1.1 ") < count and (part := self._socket.recv(65536)):
            text += part
        return [int(answer[:3]) for answer in text.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize("length", ["1_0", "+5", "-5", "5 5", "0x5", "\xb2", "9" * 21, "5, 6"])
def test_a_length_that_is_no_number_is_400(at: Answering, length: str) -> None:
    """Nothing of it is guessed."""
    with Raw(at) as raw:
        raw.send(f"Content-Length: {length}", body=b"hello")
        assert raw.statuses(1) == [400]


def test_two_lengths_must_agree(http: httpx.Client, at: Answering, script: Script) -> None:
    """Where they do not, nobody can say where the request ends."""
    with Raw(at) as raw:
        raw.send("Content-Length: 2", "Content-Length: 3", body=b"abc")
        assert raw.statuses(1) == [400]
    assert script.bodies == []


@pytest.mark.parametrize("length", [MAX_BODY + 1, 10**19])
def test_a_length_over_the_limit_is_refused_before_the_body_comes(at: Answering, length: int) -> None:
    """413 without reading on."""
    with Raw(at) as raw:
        raw.send(f"Content-Length: {length}", body=b"x")
        assert raw.statuses(1) == [413]


def test_requests_on_one_connection_are_answered_in_their_order(
    http: httpx.Client, at: Answering, script: Script
) -> None:
    """Kept alive, and sent before the first answer came (pipelining): each keeps its own body."""
    script.outcomes = [DONE, invalid("no"), DONE]
    with Raw(at) as raw:
        raw.send("Content-Length: 1", body=b"1")
        raw.send("Content-Length: 2", body=b"22")
        raw.send("Content-Length: 0")
        assert raw.statuses(3) == [200, 400, 200]
    assert script.bodies == [b"1", b"22", b""]


def test_a_body_in_chunks_and_one_that_asks_first(http: httpx.Client, at: Answering, script: Script) -> None:
    """Chunked bodies need no length, also where one is given; Expect: 100-continue gets its go-ahead."""
    with Raw(at) as raw:
        raw.send("Transfer-Encoding: chunked", "Content-Length: 2", body=b"2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n")
        assert raw.statuses(1) == [200]
    with Raw(at) as raw:
        raw.send("Expect: 100-continue", "Content-Length: 3")
        assert raw.statuses(1) == [100]
        raw.more(b"fgh")
        assert raw.statuses(1) == [200]
    assert script.bodies == [b"abcde", b"fgh"]


def test_without_a_length_there_is_no_body(http: httpx.Client, at: Answering, script: Script) -> None:
    """An empty request, which succeeds."""
    with Raw(at) as raw:
        raw.send()
        assert raw.statuses(1) == [200]
    assert script.bodies == [b""]
