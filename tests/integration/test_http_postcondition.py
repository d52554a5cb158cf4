"""Declared requests against a real server: what they find out, and what they never do."""

from __future__ import annotations

import gzip
import socket
import time
from typing import Any

import pytest
from world import Reply, World, world

from overclaim._postconditions import Answer
from overclaim.expectations import HttpPostcondition
from overclaim.outcome.model import Outcome

__all__ = ["world"]
ANN = "/users/ann%40example.com"


def asked(get: str, arguments: dict[str, Any] | None = None, result: object = None, **declared: Any) -> Answer:
    """The answer of a declared request, about Ann unless something else is said."""
    one = HttpPostcondition.model_validate({"get": get, **declared})
    return one.compiled()(arguments or {"email": "ann@example.com"}, result)


@pytest.mark.parametrize(
    ("reply", "declared", "outcome", "value"),
    [
        (Reply(200, {"email": "ann@example.com"}), {}, Outcome.SUCCESS, "200"),
        (Reply(404), {}, Outcome.FAILURE, "404"),
        (Reply(410), {}, Outcome.FAILURE, "410"),
        (Reply(404), {"status": 404}, Outcome.SUCCESS, "404"),
        (Reply(200), {"status": 404}, Outcome.FAILURE, "200"),
        (Reply(200), {"status": [200, 304]}, Outcome.SUCCESS, "200"),
        (Reply(500), {}, Outcome.UNKNOWN, "500"),
        (Reply(401), {}, Outcome.UNKNOWN, "401"),
        (Reply(429), {}, Outcome.UNKNOWN, "429"),
        (Reply(200, {"state": "on"}), {"where": {"field": "state", "equals": "on"}}, Outcome.SUCCESS, "200 state"),
        (Reply(200, {"state": "off"}), {"where": {"field": "state", "equals": "on"}}, Outcome.FAILURE, "200 state"),
        (Reply(200, b"<html>"), {"where": {"field": "state", "equals": "on"}}, Outcome.UNKNOWN, "200 no_json"),
        (Reply(200, b"<html>"), {"where": {"not": {"field": "a", "exists": True}}}, Outcome.UNKNOWN, "200 no_json"),
        (Reply(200, b""), {"where": {"field": "state", "equals": "on"}}, Outcome.UNKNOWN, "200 no_json"),
        (Reply(200, b"gone"), {"where": {"field": "", "contains": "gone"}}, Outcome.SUCCESS, "200 result"),
        (Reply(200, b'{"state": "o'), {"where": {"field": "state", "equals": "on"}}, Outcome.UNKNOWN, "200 no_json"),
        (Reply(200, b" " * (1 << 20) + b"{}"), {"where": {"field": "a", "exists": True}}, Outcome.UNKNOWN, "too_large"),
    ],
)
def test_what_the_answer_means(
    world: World, reply: Reply, declared: dict[str, Any], outcome: Outcome, value: str
) -> None:
    """There or not there is told by 2xx, 404 and 410 and by the body; everything else is no answer."""
    world.reply(ANN, reply)
    assert asked(f"{world.url}/users/{{email}}", **declared) == (outcome, value)


def test_the_body_is_compared_with_the_arguments(world: World) -> None:
    """What is there must be what the call asked for."""
    world.reply("/charges/ch_1", Reply(200, {"amount": 45.0}))
    where = {"field": "amount", "equals_argument": "amount"}
    get = f"{world.url}/charges/{{result.id}}"
    assert asked(get, {"amount": "45.00"}, {"id": "ch_1"}, where=where).outcome is Outcome.SUCCESS
    assert asked(get, {"amount": "54.00"}, '{"id": "ch_1"}', where=where).outcome is Outcome.FAILURE


def test_it_is_asked_again_until_it_holds(world: World) -> None:
    """A world that is slow to follow gets the attempts that are declared."""
    world.reply(ANN, Reply(404), Reply(404), Reply(200))
    assert asked(f"{world.url}/users/{{email}}", attempts=3, pause=0.01).outcome is Outcome.SUCCESS
    assert len(world.asked) == 3
    world.reply(ANN, Reply(404), Reply(404), Reply(404), Reply(200))
    assert asked(f"{world.url}/users/{{email}}", attempts=3, pause=0.01).outcome is Outcome.FAILURE


def test_a_slow_answer_is_none(world: World) -> None:
    """Neither a server that thinks too long nor one that drips holds the call up."""
    world.reply(ANN, Reply(200, pause=2))
    start = time.monotonic()
    assert asked(f"{world.url}/users/{{email}}", timeout=0.2) == (Outcome.UNKNOWN, "timeout")
    assert time.monotonic() - start < 1.5


def test_nobody_there_is_no_answer() -> None:
    """A refused connection says nothing about the call."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert asked(f"http://127.0.0.1:{port}/users/{{email}}") == (Outcome.UNKNOWN, "ConnectionRefusedError")


def test_redirects_stay_with_the_host(world: World) -> None:
    """One to another place on the same host is followed, one elsewhere is not, and nothing is sent there."""
    world.reply(ANN, Reply(302, headers={"Location": "/people/ann"}))
    world.reply("/people/ann", Reply(200))
    assert asked(f"{world.url}/users/{{email}}").outcome is Outcome.SUCCESS
    with World() as elsewhere:
        world.reply(ANN, Reply(302, headers={"Location": f"{elsewhere.url}/users/ann"}))
        assert asked(f"{world.url}/users/{{email}}") == (Outcome.UNKNOWN, "redirect_elsewhere")
        assert elsewhere.asked == []
    world.reply(ANN, Reply(302, headers={"Location": "file:///etc/passwd"}))
    assert asked(f"{world.url}/users/{{email}}").outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("email", "path"),
    [
        ("a/b?c#d&e", "/users/a%2Fb%3Fc%23d%26e?q=a%2Fb%3Fc%23d%26e"),
        ("@evil.example.com", "/users/%40evil.example.com?q=%40evil.example.com"),
        ("x\r\nHost: evil", "/users/x%0D%0AHost%3A%20evil?q=x%0D%0AHost%3A%20evil"),
        ("ü", "/users/%C3%BC?q=%C3%BC"),
        (17, "/users/17?q=17"),
    ],
)
def test_arguments_are_encoded(world: World, email: object, path: str) -> None:
    """They stay one segment of the path, or one value of the query, on the declared host."""
    asked(f"{world.url}/users/{{email}}?q={{email}}", {"email": email})
    assert world.paths == [path]


@pytest.mark.parametrize("email", ["..", ".", "../admin", "a/../../admin", "", "  ", None, ["x"], {"a": 1}, "x" * 400])
def test_arguments_that_would_lead_elsewhere_are_not_sent(world: World, email: object) -> None:
    """No request is made, and that is no failure of the call."""
    assert asked(f"{world.url}/users/{{email}}", {"email": email}) == (Outcome.UNKNOWN, "unusable_email")
    assert asked(f"{world.url}/users/{{other}}", {"email": "x"}) == (Outcome.UNKNOWN, "unusable_other")
    assert world.asked == []


def test_headers_come_from_the_environment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable's value is sent; where it is not set, or cannot be sent, nothing is."""
    world.reply(ANN, Reply(200))
    headers = {"Authorization": "Bearer ${USERS_TOKEN}"}
    get = f"{world.url}/users/{{email}}"
    monkeypatch.delenv("USERS_TOKEN", raising=False)
    assert asked(get, headers=headers) == (Outcome.UNKNOWN, "no_USERS_TOKEN")
    monkeypatch.setenv("USERS_TOKEN", "t-1\r\nX-Evil: 1")
    assert asked(get, headers=headers).outcome is Outcome.UNKNOWN
    assert world.asked == []
    monkeypatch.setenv("USERS_TOKEN", "t-1")
    assert asked(get, headers=headers).outcome is Outcome.SUCCESS
    assert world.asked[0][1]["Authorization"] == "Bearer t-1"


def test_what_nobody_asked_for_is_not_unpacked(world: World) -> None:
    """A compressed body may be endless, and says nothing."""
    world.reply(ANN, Reply(200, gzip.compress(b'{"state": "on"}'), {"Content-Encoding": "gzip"}))
    where = {"field": "state", "equals": "on"}
    assert asked(f"{world.url}/users/{{email}}", where=where) == (Outcome.UNKNOWN, "encoded")


@pytest.mark.parametrize("charset", ["punycode", "idna", "zip", "unicode_escape", "x" * 1000, "utf-8"])
def test_a_strange_charset_is_read_as_utf_8(world: World, charset: str) -> None:
    """Some of Python's codecs take for ever, or are none for texts."""
    world.reply(ANN, Reply(200, {"state": "on"}, {"Content-Type": f"application/json; charset={charset}"}))
    where = {"field": "state", "equals": "on"}
    assert asked(f"{world.url}/users/{{email}}", where=where).outcome is Outcome.SUCCESS


def test_a_secret_with_a_line_break_at_its_end_is_fine(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of secrets end with one; one with a break inside, or with letters that no header holds, is not sent."""
    world.reply(ANN, Reply(200))
    get, headers = f"{world.url}/users/{{email}}", {"Authorization": "Bearer ${USERS_TOKEN}"}
    monkeypatch.setenv("USERS_TOKEN", "t-1\n")
    assert asked(get, headers=headers).outcome is Outcome.SUCCESS
    for secret in ("t-1\nX-Evil: 1", "t-\u4e00"):
        monkeypatch.setenv("USERS_TOKEN", secret)
        assert asked(get, headers=headers) == (Outcome.UNKNOWN, "unusable_USERS_TOKEN")
    assert [headers["Authorization"] for _, headers in world.asked] == ["Bearer t-1"]
