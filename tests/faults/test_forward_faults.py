from __future__ import annotations

import logging
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path

import pytest
from endpoints import Answer, endpoint
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

from overclaim._errors import InputError
from overclaim_collector.writing.forward import ForwardCounts, Forwarder
from overclaim_collector.writing.forward_target import Target, refuse_own

PROTOBUF = "application/x-protobuf"
MIB = 1024 * 1024


@contextmanager
def forwarding(
    url: str, room: int = MIB, patience: float = 60, headers: str = "", read_seconds: float = 10
) -> Iterator[Forwarder]:
    """A forwarder that pauses for hundredths of seconds where a real one waits for seconds."""
    forwarder = Forwarder(Target(url, headers, read_seconds), room, patience, first_pause=0.02)
    forwarder.start()
    try:
        yield forwarder
    finally:
        forwarder.stop(0.2)


def send(forwarder: Forwarder, count: int, path: str = "/v1/traces") -> list[bytes]:
    """Offer so many requests; the bodies that were taken."""
    bodies = [b"%06d" % n for n in range(count)]
    return [body for body in bodies if forwarder.offer(path, body, PROTOBUF, "")]


def settled(forwarder: Forwarder, seconds: float = 10) -> ForwardCounts:
    """The counts once nothing waits any more; they are exact at any moment on the way."""
    deadline = time.monotonic() + seconds
    while (counts := forwarder.counts).waiting:
        assert counts.offered == counts.delivered + counts.dropped + counts.waiting
        assert time.monotonic() < deadline, counts
        time.sleep(0.005)
    assert counts.offered == counts.delivered + counts.dropped
    assert counts.bytes == 0
    return counts


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_an_endpoint_that_is_down_for_a_while_gets_everything(status: int) -> None:
    """The answers that may be tried again, for the first ten requests: all bodies arrive, none counts as lost."""
    with endpoint(answer=lambda n: Answer(status if n < 10 else 200)) as other, forwarding(other.url) as forwarder:
        bodies = send(forwarder, 20)
        assert settled(forwarder) == ForwardCounts(offered=20, delivered=20)
    assert sorted({got.body for got in other.got}) == bodies
    assert len(other.got) == 30


def test_an_endpoint_that_is_not_there_yet_gets_everything_later() -> None:
    """Connections are refused, and dropped without an answer: what waited arrives when the endpoint is up."""
    with endpoint() as before:
        port = int(before.url.rpartition(":")[2])
    with forwarding(before.url) as forwarder:
        bodies = send(forwarder, 20)
        time.sleep(0.2)
        assert forwarder.counts.waiting == 20
        with endpoint(port, lambda n: Answer(whole=n > 3)) as other:
            assert settled(forwarder).delivered == 20
    assert sorted({got.body for got in other.got}) == bodies


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 413, 415, 500])
def test_final_answers_are_not_tried_again(status: int) -> None:
    """Every other failure, redirects among them, ends a request: sent once, counted as refused."""
    with endpoint() as elsewhere:
        answer = Answer(status, b"no", {"Location": elsewhere.url})
        with endpoint(answer=lambda _: answer) as other, forwarding(other.url) as forwarder:
            send(forwarder, 5)
            assert settled(forwarder) == ForwardCounts(offered=5, refused=5)
    assert (len(other.got), len(elsewhere.got)) == (5, 0)


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_the_pause_that_the_endpoint_asks_for_is_kept(form: str) -> None:
    """Retry-After in seconds and as a date: nothing is sent before."""
    pause = "1" if form == "seconds" else formatdate(time.time() + 3, usegmt=True)  # a date has whole seconds
    with endpoint(answer=lambda n: Answer(200 if n else 503, headers={"Retry-After": pause})) as other:
        with forwarding(other.url) as forwarder:
            began = time.monotonic()
            send(forwarder, 1)
            assert settled(forwarder).delivered == 1
        assert 0.9 < time.monotonic() - began < 20


@pytest.mark.parametrize("nonsense", ["", "soon", "-5", "1e9", "99999999999999999999", "Mon, 99 Foo 2026 00:00:00 GMT"])
def test_a_nonsensical_pause_stops_nothing(nonsense: str) -> None:
    """A Retry-After that is no number of seconds and no date counts as none; a huge one ends with the stop."""
    with endpoint(answer=lambda _: Answer(503, headers={"Retry-After": nonsense})) as other:
        with forwarding(other.url) as forwarder:
            send(forwarder, 1)
            other.wait(1)
        assert forwarder.counts == ForwardCounts(offered=1, given_up=1)


def test_after_minutes_a_request_is_given_up() -> None:
    """An endpoint that never recovers: requests are tried for a while, then counted as given up."""
    with endpoint(answer=lambda _: Answer(503)) as other, forwarding(other.url, patience=0.5) as forwarder:
        send(forwarder, 5)
        assert settled(forwarder) == ForwardCounts(offered=5, given_up=5)
    assert len(other.got) >= 5


def test_what_does_not_fit_is_not_taken_and_counted() -> None:
    """A hung endpoint and room for ten requests: the rest is refused at once, and offering never waits."""
    released = threading.Event()
    with endpoint(answer=lambda _: Answer(200 if released.wait(30) else 500)) as other:
        with forwarding(other.url, room=10 * (6 + 512), read_seconds=30) as forwarder:
            taken = send(forwarder, 1000)
            counts = forwarder.counts
            assert len(taken) == 10
            assert (counts.offered, counts.full, counts.waiting, counts.bytes) == (1000, 990, 10, 5180)
            released.set()
            assert settled(forwarder).delivered == 10
            assert not forwarder.offer("/v1/traces", bytes(2 * MIB), PROTOBUF, "")
        assert sorted({got.body for got in other.got}) == taken


def test_an_endpoint_that_hangs_is_given_up_on_and_asked_again() -> None:
    """No answer within the time for reading: the request is sent again, and arrives."""
    hang_once = endpoint(answer=lambda n: Answer(seconds=0 if n else 1.5))
    with hang_once as other, forwarding(other.url, read_seconds=0.5) as forwarder:
        send(forwarder, 1)
        assert settled(forwarder).delivered == 1
    assert [got.body for got in other.got] == [b"000000"] * 2


def test_a_huge_answer_is_read_no_further_than_needed() -> None:
    """An answer of 200 MiB that never ends: the request counts by its status, without the memory."""
    answer = Answer(400, bytes(200 * MIB))
    with endpoint(answer=lambda _: answer) as other, forwarding(other.url) as forwarder:
        tracemalloc.start()
        send(forwarder, 3)
        assert settled(forwarder).refused == 3
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["protobuf", "json"])
def test_what_the_other_side_rejects_is_said(form: str, caplog: pytest.LogCaptureFixture) -> None:
    """A partial success counts as delivered, and the log says how much was rejected and why; once a minute."""
    partial = ExportLogsServiceResponse()
    partial.partial_success.rejected_log_records = 7
    partial.partial_success.error_message = "too old\x1b[31m"
    if form == "protobuf":
        answer = Answer(200, partial.SerializeToString(), {"Content-Type": PROTOBUF})
    else:
        text = b'{"partialSuccess": {"rejectedLogRecords": "7", "errorMessage": "too old"}}'
        answer = Answer(200, text, {"Content-Type": "application/json"})
    with endpoint(answer=lambda _: answer) as other, forwarding(other.url) as forwarder:
        send(forwarder, 3, "/v1/logs")
        assert settled(forwarder).delivered == 3
    (line,) = [record.getMessage() for record in caplog.records]
    assert "7 items rejected: too old" in line
    assert line.isprintable()


@pytest.mark.parametrize("body", [b"\xff" * 100, b"{", b"[]", b'{"partialSuccess": 3}', b"[" * 60_000])
def test_answers_that_make_no_sense_are_answers(body: bytes) -> None:
    """The status tells that a request was taken, whatever the body says."""
    for media_type in ("application/json", PROTOBUF):
        answer = Answer(200, body, {"Content-Type": media_type})
        with endpoint(answer=lambda _, said=answer: said) as other, forwarding(other.url) as forwarder:
            send(forwarder, 1)
            assert settled(forwarder).delivered == 1


def test_secrets_are_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """What must be shown to the endpoint shows in no log and no representation, even where an answer repeats it."""
    caplog.set_level(logging.DEBUG)
    said = Answer(401, b"unknown token s3cret-t0ken, Bearer s3cret-t0ken")
    headers = "Authorization=Bearer%20s3cret-t0ken,x-team=a%2Cb"
    with endpoint(answer=lambda _: said) as other, forwarding(other.url, headers=headers) as forwarder:
        send(forwarder, 1)
        assert settled(forwarder).refused == 1
        shown = repr(forwarder) + repr(forwarder.counts) + repr(Target(other.url, "a=s3cret-t0ken"))
    assert other.got[0].headers["x-team"] == "a,b"
    assert other.got[0].headers["authorization"] == "Bearer s3cret-t0ken"
    text = caplog.text + shown
    assert "HTTP 401 unknown token ***" in text
    assert "s3cret" not in text


@pytest.mark.parametrize("url", ["http://ann:hunter22@h:4318", "https://hunter22@h", "http://:hunter22@h", "http://@h"])
def test_a_password_in_the_address_is_refused(url: str) -> None:
    """It would stand in the list of processes: the error names the variable that is for it, and does not repeat it."""
    with pytest.raises(InputError, match="OVERCLAIM_FORWARD_HEADERS=authorization=Basic%20") as refused:
        Target(url)
    assert "hunter22" not in str(refused.value)


def test_how_long_an_endpoint_takes_nothing_is_known() -> None:
    """From the first failure on, and no longer once it answers."""
    answers = [Answer(503)]
    with endpoint(answer=lambda _: answers[0]) as other, forwarding(other.url) as forwarder:
        assert forwarder.failing_seconds == 0
        send(forwarder, 1)
        other.wait(2)
        assert 0 < (before := forwarder.failing_seconds) < 60
        other.wait(3)
        assert forwarder.failing_seconds > before
        answers[0] = Answer()
        assert settled(forwarder).delivered == 1
        assert forwarder.failing_seconds == 0


def test_a_bearer_token_is_not_replaced_by_one_from_netrc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The headers that were given are the ones that are sent, whatever lies in the home directory."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password wrong\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with endpoint() as other, forwarding(other.url, headers="authorization=Bearer%20abc") as forwarder:
        send(forwarder, 1)
        other.wait(1)
    assert other.got[0].headers["authorization"] == "Bearer abc"


def test_what_goes_wrong_is_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """A hundred refused requests and a hundred that found no room: two lines."""
    with endpoint(answer=lambda _: Answer(400, b"bad")) as other, forwarding(other.url, room=100 * 600) as forwarder:
        send(forwarder, 100)
        settled(forwarder)
        for _ in range(100):
            forwarder.offer("/v1/traces", bytes(MIB), PROTOBUF, "")
    assert len(caplog.records) == 2


def test_the_stop_delivers_what_it_can_and_counts_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """A working endpoint gets everything before the stop returns; a hung one costs the time given; the loss is said."""
    with endpoint(answer=lambda _: Answer(seconds=0.02)) as other:
        forwarder = Forwarder(Target(other.url), MIB)
        forwarder.start()
        bodies = send(forwarder, 40)
        assert forwarder.stop(5)
        assert other.bodies == bodies
        assert not forwarder.offer("/v1/traces", b"late", PROTOBUF, "")
        assert forwarder.counts == ForwardCounts(offered=41, delivered=40, full=1)
    caplog.clear()
    released = threading.Event()
    with endpoint(answer=lambda _: Answer(200 if released.wait(20) else 500)) as other:
        forwarder = Forwarder(Target(other.url), MIB)
        forwarder.start()
        send(forwarder, 40)
        other.wait(4)
        began = time.monotonic()
        assert not forwarder.stop(0.2)
        assert time.monotonic() - began < 2
        released.set()
        time.sleep(0.3)  # answers that come now change nothing any more
        assert forwarder.counts == ForwardCounts(offered=40, given_up=40)
    assert "40 requests were not forwarded" in caplog.text


def test_the_stop_does_not_wait_for_a_pause_to_end(caplog: pytest.LogCaptureFixture) -> None:
    """An endpoint that asked for a minute is tried once more at the stop, then given up."""
    with endpoint(answer=lambda _: Answer(503, headers={"Retry-After": "60"})) as other:
        forwarder = Forwarder(Target(other.url), MIB)
        forwarder.start()
        send(forwarder, 1)
        while "tried again: HTTP 503" not in caplog.text:
            time.sleep(0.01)
        began = time.monotonic()
        assert not forwarder.stop(20)
        assert time.monotonic() - began < 10
        assert len(other.got) == 2
        assert forwarder.counts == ForwardCounts(offered=1, given_up=1)


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:4318", "ftp://h", "http://", "http://h:0", "http://h:x", "http://h?a=b", "http://h/#x", "http://["],
)
def test_an_endpoint_that_is_no_url_is_refused(url: str) -> None:
    """What cannot be sent to is said at the start, without repeating what may hold a password."""
    with pytest.raises(InputError, match="--forward"):
        Target(url)


@pytest.mark.parametrize(
    "headers", ["secret", "a=b,secret", "=secret", "a b=secret", "a=secret%0d%0aX: y", "a=secret%E2%82%AC"]
)
def test_headers_that_cannot_be_sent_are_refused_without_repeating_them(headers: str) -> None:
    """The error tells the place of the pair, not what is in it."""
    with pytest.raises(InputError, match=r"pair \d") as caught:
        Target("http://127.0.0.1:1", headers)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "host", "own"),
    [
        ("http://127.0.0.1:4318", "127.0.0.1", True),
        ("http://localhost:4318/", "127.0.0.1", True),
        ("http://127.0.0.1:4317", "127.0.0.1", True),
        ("http://127.0.0.1:4318", "0.0.0.0", True),
        ("http://127.0.0.2:4318", "0.0.0.0", True),
        ("http://127.0.0.2:4318", "127.0.0.1", False),
        ("http://127.0.0.1:9999", "127.0.0.1", False),
        ("http://192.0.2.1:4318", "0.0.0.0", False),
        ("http://no-such-host.invalid:4318", "127.0.0.1", False),
    ],
)
def test_a_server_does_not_forward_to_itself(url: str, host: str, own: bool) -> None:
    """An endpoint at our own address and port is refused, by whatever name; another one is not."""
    if own:
        with pytest.raises(InputError, match="this server itself"):
            refuse_own(Target(url), host, (4318, 4317))
    else:
        refuse_own(Target(url), host, (4318, 4317))
