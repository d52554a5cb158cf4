"""Webhooks: signatures after Standard Webhooks, what they may reach, and what becomes of answers."""

from __future__ import annotations

import base64
import hmac
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from endpoints import Answer, Endpoint, endpoint
from outgoing import made_finding
from relay import certificate, relay

from overclaim._errors import InputError
from overclaim_detectors.outgoing import options, posting
from overclaim_detectors.outgoing.addresses import Allowed, is_public, resolved
from overclaim_detectors.outgoing.options import Outgoing, chosen
from overclaim_detectors.outgoing.signing import keys, signed
from overclaim_detectors.outgoing.sink import Refused, Undelivered
from overclaim_detectors.outgoing.webhook import LARGEST, Webhook

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(range(1, 33))).decode()
PRIVATE = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "192.88.99.1", "::", "::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
    "2001:db8::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1",
    "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "::ffff:0:127.0.0.1",
]  # fmt: skip


def of(*addresses: str) -> Callable[..., list[Any]]:
    """A resolver that answers with these, whatever it is asked."""
    families = {4: socket.AF_INET, 6: socket.AF_INET6}
    return lambda *_, **__: [
        (families[ip_address(one).version], socket.SOCK_STREAM, 6, "", (one, 443)) for one in addresses
    ]


def local(url: str, **more: Any) -> Webhook:
    """A webhook to a server of the test, which is allowed by its name."""
    return Webhook(url, keys(SECRET), allowed=Allowed(["127.0.0.1"]), **more)


def test_the_signature_is_that_of_the_specification() -> None:
    """Id, time and body, with dots between, under the key behind the prefix; the example of the specification holds."""
    body = b'{"test": 2432232314}'
    made = signed(body, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    assert made["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert (made["webhook-id"], made["webhook-timestamp"]) == ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330")


def test_two_secrets_sign_while_they_are_exchanged() -> None:
    """A receiver that knows one of them can verify."""
    both = signed(b"x", "i", 1, keys(f"{SECRET} {OTHER}"))["webhook-signature"].split()
    assert [signed(b"x", "i", 1, keys(one))["webhook-signature"] for one in (SECRET, OTHER)] == both


@pytest.mark.parametrize("text", ["", "hunter2", "whsec_!!", "whsec_" + "QQ==", SECRET[6:], "whsec_é"])
def test_what_is_no_secret_is_refused_unseen(text: str) -> None:
    """Too short, without its prefix, no base64: the message says how to make one, and never what was given."""
    with pytest.raises(InputError, match="to make one: python3 -c") as raised:
        keys(text)
    assert not text or text not in str(raised.value)


@pytest.mark.parametrize("address", PRIVATE)
def test_no_address_of_this_side_is_public(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback, private, link-local, metadata, multicast, reserved, and IPv4 in any disguise."""
    assert not is_public(ip_address(address))
    monkeypatch.setattr(socket, "getaddrinfo", of(address))
    with pytest.raises(Undelivered, match="no public address"):
        resolved("hook.example", 443, Allowed())


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111"])
def test_addresses_of_the_internet_are_public(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those are sent to."""
    monkeypatch.setattr(socket, "getaddrinfo", of(address))
    assert resolved("hook.example", 443, Allowed()) == address


def test_one_bad_address_among_good_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is public and private at once is a trick."""
    monkeypatch.setattr(socket, "getaddrinfo", of("8.8.8.8", "10.0.0.1"))
    with pytest.raises(Undelivered, match=r"10\.0\.0\.1"):
        resolved("hook.example", 443, Allowed())


def test_what_is_allowed_is_allowed_and_nothing_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host by its name, a network by its range; neither opens others."""
    monkeypatch.setattr(socket, "getaddrinfo", of("10.1.2.3"))
    assert resolved("hook.corp", 443, Allowed(["HOOK.corp"])) == "10.1.2.3"
    assert resolved("any.corp", 443, Allowed(["10.1.0.0/16"])) == "10.1.2.3"
    for entries in (["other.corp"], ["10.2.0.0/16"], ["fc00::/7"]):
        with pytest.raises(Undelivered):
            resolved("hook.corp", 443, Allowed(entries))
    with pytest.raises(InputError, match="--webhook-allow"):
        Allowed(["10.1.2.3/8"])


def test_a_name_that_changes_between_check_and_connection_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is resolved once, and the connection goes to the address that was checked."""
    asked, connected = list[str](), list[object]()

    def rebinding(host: str, *_: object, **__: object) -> list[Any]:
        asked.append(host)
        return of("8.8.8.8" if len(asked) == 1 else "127.0.0.1")()

    def connect(address: object, *_: object, **__: object) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(Undelivered):
        Webhook("https://hook.example/x", keys(SECRET)).send([made_finding()])
    assert (asked, connected) == (["hook.example"], [("8.8.8.8", 443)])


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://hook.example/x", "must be https"),
        ("http://127.0.0.2/x", "must be https"),
        ("ftp://hook.example/x", "no URL"),
        ("https:///x", "no URL"),
        ("https://user@hook.example/x", "a user or a password"),
        ("https://user:pass@hook.example/x", "a user or a password"),
        ("https://hook.example/a b", "no URL"),
        ("https://hook.example/a\r\nX: y", "no URL"),
        ("https://hook.example:99999/", "no URL"),
    ],
)
def test_urls_that_cannot_be_meant_are_refused(url: str, message: str) -> None:
    """Not https, no host, credentials in it, control characters: said at once, without the URL's secrets."""
    with pytest.raises(InputError, match=message) as raised:
        local(url)
    assert "pass@" not in str(raised.value)


def test_a_message_verifies_and_a_changed_one_does_not() -> None:
    """What arrives is signed over id, time and body; each finding stands in it once, as plain JSON."""
    with endpoint() as other:
        local(f"{other.url}/hook?a=b").send([made_finding(1), made_finding(2, open=False, known=True)])
    (got,) = other.got
    assert got.path == "/hook?a=b"
    assert verifies(got.headers, got.body)
    assert not verifies(got.headers, got.body.replace(b"finding1", b"finding3"))
    assert not verifies({**got.headers, "webhook-timestamp": "1"}, got.body)
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 60
    message = json.loads(got.body)
    assert message["type"] == "overclaim.findings"
    first, second = message["data"]["findings"]
    assert (first["id"], first["state"], first["label"], second["state"]) == ("finding1", "opened", "fail", "retracted")
    assert first["explanation"] == "Something below a tool failed (http.status 400)"


def verifies(headers: Any, body: bytes) -> bool:
    """What a receiver does, written after the specification."""
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.digest(key, text, "sha256")).decode()
    return hmac.compare_digest(headers["webhook-signature"], f"v1,{wanted}")


def test_the_receiver_that_the_readme_shows_verifies() -> None:
    """Its lines take what we send, and nothing that was changed, is old, or is signed by another secret."""
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    (shown,) = [block for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if "webhook-id" in block]
    names: dict[str, Any] = {}
    exec(shown, names)
    with endpoint() as other:
        Webhook(other.url, keys(f"{OTHER} {SECRET}"), allowed=Allowed(["127.0.0.1"])).send([made_finding()])
    (got,) = other.got
    assert names["verified"](got.headers, got.body, SECRET)
    assert names["verified"](got.headers, got.body, OTHER)
    assert not names["verified"](got.headers, got.body + b" ", SECRET)
    assert not names["verified"]({**got.headers, "webhook-timestamp": "1700000000"}, got.body, SECRET)
    assert not names["verified"](got.headers, got.body, "whsec_" + base64.b64encode(bytes(32)).decode())


def test_a_repetition_has_the_same_id() -> None:
    """The same findings at the same versions are the same message, to the byte; others are another one."""
    with endpoint() as other:
        hook = local(other.url)
        for batch in ([made_finding(1)], [made_finding(1)], [made_finding(1, version=8)]):
            hook.send(batch)
    ids = [got.headers["webhook-id"] for got in other.got]
    assert ids[0] == ids[1] != ids[2]
    assert other.got[0].body == other.got[1].body


@pytest.mark.parametrize(
    ("answer", "kind", "pause"),
    [
        (Answer(500), Undelivered, 0.0),
        (Answer(404), Undelivered, 0.0),
        (Answer(429, headers={"Retry-After": "7"}), Undelivered, 7.0),
        (Answer(503, headers={"Retry-After": "999999"}), Undelivered, 3600.0),
        (Answer(503, headers={"Retry-After": "soon"}), Undelivered, 0.0),
        (Answer(413), Refused, None),
        (Answer(422, b"\x1b[31mno"), Refused, None),
        (Answer(400), Undelivered, 0.0),
        (Answer(whole=False), Undelivered, 0.0),
    ],
)
def test_what_is_not_taken_is_tried_again_or_left(answer: Answer, kind: type[Exception], pause: float | None) -> None:
    """Only 2xx is taken. What asks for a pause gets it, up to an hour; what says that it never will is believed."""
    with endpoint(answer=lambda _: answer) as other, pytest.raises(kind) as raised:
        local(other.url).send([made_finding()])
    assert getattr(raised.value, "pause", None) == pause
    assert "\x1b" not in str(raised.value)


def test_redirects_are_not_followed() -> None:
    """Where an answer points is nowhere that was checked."""
    with endpoint() as inner:
        moved = Answer(307, headers={"Location": f"{inner.url}/secret"})
        with endpoint(answer=lambda _: moved) as other, pytest.raises(Undelivered, match="redirect"):
            local(other.url).send([made_finding()])
        assert inner.got == []


def test_a_message_that_is_too_large_is_halved_before_it_is_sent() -> None:
    """The bound is on what leaves: nothing does."""
    with endpoint() as other, pytest.raises(Refused, match="larger than"):
        local(other.url).send([made_finding(title="x" * LARGEST)])
    assert other.got == []


@contextmanager
def dripping(first: bytes) -> Iterator[str]:
    """A server that says something now and then, and never comes to an end."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            client, _ = listening.accept()
            with client:
                client.sendall(first)
                while not stop.wait(0.05):
                    try:
                        client.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            stop.set()
            thread.join(5)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
    ],
)
def test_an_answer_without_end_is_given_up(first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then does not begin the time anew: status line, headers and body share one limit.

    A status that came with all its headers is an answer, whatever follows it.
    """
    monkeypatch.setattr(posting, "SECONDS", 0.5)
    began = time.monotonic()
    ways = {b"": pytest.raises(Undelivered), b"HTTP/1.1 200 OK\r\n": suppress(Undelivered)}
    with dripping(first) as url, ways.get(first, nullcontext()):
        local(url).send([made_finding()])
    assert time.monotonic() - began < 20


def test_over_tls_the_certificate_must_be_the_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody we trust signed is refused; one that is trusted is taken, and the message arrives."""
    cert, context = certificate(tmp_path)
    with endpoint() as other, relay(other.url.removeprefix("http://"), context) as secure:
        url = f"https://127.0.0.1:{secure.port}/hook"
        with pytest.raises(Undelivered, match="certificate"):
            local(url).send([made_finding()])
        assert other.got == []
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        trusting = local(url)
        trusting.send([made_finding()])
        assert_one(other)
        with pytest.raises(Undelivered, match="certificate"):
            posting.post(trusting._url._replace(netloc=f"else.example:{secure.port}"), "127.0.0.1", b"", {},
                         ssl.create_default_context())  # fmt: skip


def assert_one(other: Endpoint) -> None:
    """One message arrived."""
    assert len(other.got) == 1


def test_options_win_over_variables_and_secrets_come_from_files(tmp_path: Path) -> None:
    """Each variable counts where no option is given; nothing that is secret shows in what is printed of it."""
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n", "ascii")
    environment = {
        "OVERCLAIM_EVENTS": "http://a", "OVERCLAIM_WEBHOOK": "https://b/hidden", "OVERCLAIM_WEBHOOK_SECRET": OTHER,
        "OVERCLAIM_WEBHOOK_ALLOW": "x,10.0.0.0/8", "OVERCLAIM_WEBHOOK_SEVERITY": "low",
        "OVERCLAIM_EVENTS_HEADERS": "a=b",
    }  # fmt: skip
    assert chosen({}, environment) == Outgoing("http://a", "a=b", "https://b/hidden", OTHER, "x,10.0.0.0/8", "low")
    given = {"events": "http://c", "webhook_secret_file": str(file), "webhook_severity": "high"}
    found = chosen(given, environment)
    assert (found.events, found.secret, found.severity) == ("http://c", SECRET, "high")
    assert not chosen({}, {}).wanted
    for secret in (SECRET, "hidden", "a=b"):
        assert secret not in repr(found)
    with pytest.raises(InputError, match="cannot be read"):
        chosen({"webhook_secret_file": str(tmp_path / "none")}, {})


def test_the_lowest_severity_is_a_choice() -> None:
    """What is chosen and all above it is sent; a word that is none is refused."""
    wanted = {least: list(local("http://127.0.0.1/", least=least).severities) for least in ("high", "medium", "low")}
    assert wanted == {"high": ["high"], "medium": ["high", "medium"], "low": ["high", "medium", "low"]}
    with pytest.raises(InputError, match="--webhook-severity"):
        options.checked(Outgoing(webhook="https://a.example", secret=SECRET, severity="grave"))
