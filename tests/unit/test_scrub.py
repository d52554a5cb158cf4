"""What may leave as text: bounded, valid, and without secrets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overclaim._hashing import keyed_hash
from overclaim._mentions import plain_values
from overclaim._scrub import as_json, scrub
from overclaim._shape import describe, shape_hash
from overclaim.evidence.http import bare_url
from overclaim.outcome.operations import mentions

SECRETS = [
    ("password=hunter2", "hunter2"),
    ('{"api_key": "abcdef123456"}', "abcdef123456"),
    ("Authorization: Bearer abc.def-123456", "abc.def-123456"),
    ("postgres://bob:pa55w0rd@db/x", "pa55w0rd"),
    ("sk-proj-AbCdEf1234567890abcd", "AbCdEf1234567890abcd"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F292c6912E7710c838347Ae178B4a"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "eyJzdWIiOiIxMjM0In0"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----", "MIIEvQ"),
    ("card 4242 4242 4242 4242", "4242 4242"),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secrets_are_masked(text: str, secret: str) -> None:
    """Secrets of common shapes do not survive, wherever they stand."""
    for around in (text, f"before {text} after", "x" * 2000 + " " + text):
        assert secret not in scrub(around)


def test_secret_fields_are_masked_by_name() -> None:
    """A field named like a secret loses its value at any depth."""
    out = as_json({"user": {"password": "p", "accessToken": "t", "name": "Ann", "tokens": 3}, "x": [{"cookie": "c"}]})
    assert json.loads(out)["user"]["name"] == "Ann"
    assert '"p"' not in out
    assert '"t"' not in out
    assert '"c"' not in out


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=39), inner),  # a longer name is not kept for later
)


@given(JSON)
def test_texts_are_bounded_and_valid(value: object) -> None:
    """Whatever goes in, what comes out can be sent and is short."""
    out = as_json(value)
    out.encode("utf-8")
    assert len(out) <= 2048


@given(JSON)
def test_shape_does_not_depend_on_content(value: object) -> None:
    """Shapes are stable, bounded, and hold keys and types only."""
    assert shape_hash(value) == shape_hash(value)
    assert len(shape_hash(value)) == 16
    assert describe({"a": 1, "b": "x"}) == describe({"b": "y", "a": 2}) != describe({"a": "1", "b": "x"})


@given(JSON, JSON)
def test_late_reading_finds_the_same_mentions(arguments: object, result: object) -> None:
    """What a call mentions is the same, whether it is read at once or at the end of the run."""
    assert mentions(*plain_values(arguments, result)) == mentions(arguments, result)


@given(st.text())
def test_hashes_are_short_and_stable(text: str) -> None:
    """A hash has 16 hex digits and does not change."""
    assert keyed_hash(text) == keyed_hash(text)
    assert len(keyed_hash(text)) == 16
    int(keyed_hash(text), 16)


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("https://user:pw@host:8080/a/b?token=1#x", "https://host:8080/a/b"),
        ("http://host", "http://host"),
        ("//host/path?x", "/path"),
        ("http://[::1]:80/x?y", "http://[::1]:80/x"),
        ("http://host:port/x?y", "http://host:port/x"),
        ("http://host/a;id=1/b;pw=2?y", "http://host/a/b"),
        ("http://user:p?w@host:port/x", ""),
        ("/a;id=1?y", "/a"),
    ],
)
def test_urls_lose_their_secrets(url: str, bare: str) -> None:
    """User info, query, fragment and matrix parameters go; odd URLs are cut, not refused."""
    assert bare_url(url) == bare
