"""Secrets of every kind are masked in whatever text or value leaves; what is none stays readable."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any, NamedTuple

import pytest

from overclaim._scrub import as_json, clean, scrub, small
from overclaim._secrets import is_secret_name

S = "Hq7hunter2Zx"  # no shape of its own: it is found by where it stands

TEXTS: dict[str, str] = {
    "pwd": f"pwd={S}",
    "header": f"Authorization: {S}",
    "scheme": f"Authorization: token {S}",
    "digest": f'Authorization: Digest username="u", response="{S}"',
    "proxy": f"Proxy-Authorization: {S}",
    "cookie": f"Cookie: sid={S}; a={S}",
    "set-cookie": f"Set-Cookie: sid={S}; HttpOnly",
    "curl": f'curl -H "x-api-key: {S}" h',
    "JSON": json.dumps({"api_key": S}),
    "JSON in JSON": json.dumps({"a": json.dumps({"api_key": S})}),
    "deeper": json.dumps(json.dumps(json.dumps({"password": S}))),
    "escaped quote": f'{{"password": "a\\"{S}"}}',
    "env": f"AWS_SECRET_ACCESS_KEY={S}",
    "short env": f"DB_PASS={S}",
    "access key": f'"access_key": "{S}"',
    "private key": f"private_key: {S}",
    "session": f"session={S}",
    "session id": f"JSESSIONID={S}; PHPSESSID={S}",
    "flag": f"mysql --password {S} -h x",
    "user": f"curl -u bob:{S} https://x",
    "api key flag": f"tool --api-key {S}",
    "mysql": f"mysql -u root -p{S}",
    "XML": f"<password>{S}</password>",
    "YAML": f"password:\n  {S}",
    "multipart": f'Content-Disposition: form-data; name="password"\r\n\r\n{S}\r\n--b',
    "netrc": f"machine h login u password {S}",
    "DSN with @": f"postgres://bob:p@{S}/x@db/x",
    "DSN with /": f"postgres://bob:a/{S}@db/x",
    "redis": f"redis://:{S}@h:1/0",
    "connection": f"Server=x;Uid=a;Pwd={S};",
    "azure": f"AccountKey={S}==;End",
    "libpq": f"host=h password='{S} {S}'",
    "signature": f"https://h/x?X-Amz-Signature={S}",
    "sas": f"https://h/b?sv=1&sig={S}",
    "key": f"https://h/b?key={S}",
    "code": f"https://h/cb?code={S}&state=1",
    "fragment": f"https://h/cb#access_token={S}",
    "encoded": f"password%3D{S}",
    "spoken": f"The password is {S}.",
    "quoted": f'your new password is "{S}"',
    "set to": f"Your PIN was set to {S}",
    "pairs": f'[["Authorization", "{S}"]]',
    "tuple": f"('Authorization', '{S}')",
    "comma": f"password=ab,{S}",
    "name and value": f'{{"name": "Authorization", "value": "{S}"}}',
    "value and name": f'{{"value": "{S}", "name": "Authorization"}}',
    "dict": f"{{'password': '{S}'}}",
    "bytes": f"{{b'password': b'{S}'}}",
    "arrow": f"password => {S}",
    "German": f"Passwort: {S}",
    "array": f'{{"credentials": ["bob", "{S}"]}}',
    "object": f'{{"credentials": {{"a": {{"b": "{S}"}}}}}}',
    "basic": f"Authorization: Basic aGVsbG86{S}",
    "dataclass": f"User(name='Ann', password='{S}')",
    "slack hook": f"https://hooks.slack.com/services/T0/B0/{S}",
    "PGP": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{S}",
    "ssh": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{S}\n-----END OPENSSH PRIVATE KEY-----",
}
KEYS = {
    "github": "github" + "_pat_" + S * 3,
    "npm": "npm" + "_" + S * 3,
    "slack app": "xapp" + "-1-" + S * 2,
    "gitlab": "glpat" + "-" + S * 2,
    "pypi": "pypi" + "-" + S * 3,
    "sendgrid": "SG" + "." + S + "." + S,
    "anthropic": "sk" + "-ant-api03-" + S * 3,
    "stripe": "sk" + "_test_" + S * 2,
    "hugging face": "hf" + "_" + S * 3,
    "groq": "gsk" + "_" + S * 4,
    "shopify": "shpat" + "_" + "0123456789abcdef" * 2,
    "google": "ya29" + "." + S * 3,
    "half a JWT": "eyJhbGciOiJIUzI1NiJ9." + S * 300,
}


@pytest.mark.parametrize("text", [*TEXTS.values(), *KEYS.values()], ids=[*TEXTS, *KEYS])
def test_a_secret_in_a_text(text: str) -> None:
    """It is masked alone, amid prose, in a field of JSON, and where the text is cut."""
    telling = S if S in text else text[-20:]
    for around in (text, f"Before it.\n{text}\nAfter it.", "x" * 2000 + "\n" + text):
        assert telling not in scrub(around)
        assert telling not in as_json({"body": around})
    assert telling not in small(text)
    assert telling not in clean(text)


NAMES = """
password passwd pwd secret token api_key apikey x-api-key authorization Authorization cookie set-cookie private_key
client_secret access_key session credentials X-Auth-Token jwt bearer dbPass userPassword pass passphrase sid
secretAccessKey accessKeyId sessionId csrf otp pin refresh_tokens Ocp-Apim-Subscription-Key signing_key APIKEY
AWS_SECRET_ACCESS_KEY newPassword2 password_hash xoxToken cvv card_number connection_string
"""
HARMLESS = """
token_count tokens max_tokens tokenizer author authenticated auth_method oauth_provider token_type passenger
pass_rate passed bypass compass secretary password_changed_at api_key_name cookies_accepted key keys id name
monkey session_notes pin_code_required turkey keyboard primary_key foreign_key sort_key
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_field_named_like_a_secret(name: str) -> None:
    """Its value is masked, be it a text, a number, a list or a mapping; a flag or nothing is none."""
    assert is_secret_name(name)
    for value in (S, [S], {"a": {"b": S}}, ("bob", S)):
        assert S not in as_json({name: value})
        assert S not in as_json([{"deep": {name: value}}])
    assert json.loads(as_json({name: True, "b": 1})) == {name: True, "b": 1}
    assert json.loads(as_json({name: None})) == {name: None}
    assert "4711" not in as_json({name: 4711})


@pytest.mark.parametrize("name", HARMLESS.split())
def test_a_field_that_is_only_about_secrets(name: str) -> None:
    """Its value stays."""
    assert json.loads(as_json({name: "north"})) == {name: "north"}


@dataclasses.dataclass
class Login:
    """An object with a secret."""

    password: str = S
    name: str = "Ann"


@dataclasses.dataclass(slots=True)
class SlottedLogin:
    """The same without a dictionary."""

    password: str = S
    name: str = "Ann"


class Pair(NamedTuple):
    """The same as a tuple."""

    password: str = S
    name: str = "Ann"


def model() -> Any:
    """The same as a model."""
    return pytest.importorskip("pydantic").create_model("Model", password=(str, S), name=(str, "Ann"))()


VALUES: dict[str, Any] = {
    "dataclass": Login(),
    "slots": SlottedLogin(),
    "named tuple": Pair(S, "Ann"),
    "bytes key": {b"password": S, "name": "Ann"},
    "name and value": [{"name": "Authorization", "value": S}, {"name": "Ann"}],
    "env": [{"value": S, "name": "DB_PASSWORD"}, "Ann"],
    "tuples": [("Authorization", S), ("name", "Ann")],
    "lists": {"headers": [["x-api-key", S], ["name", "Ann"]]},
    "bytes": [(b"authorization", S.encode()), "Ann"],
    "flag": ["--password", S, "--name", "Ann"],
    "key of several": {("user", "password"): S, "name": "Ann"},
    "JSON": {"body": json.dumps({"Authorization": S}), "name": "Ann"},
    "in a key": {f"password={S}": 1, "name": "Ann"},
    "raw": {"data": S.encode(), "name": "Ann"},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_secret_in_a_value(value: Any) -> None:
    """It is masked in any shape, and what stands beside it stays."""
    assert S not in as_json(value)
    assert "Ann" in as_json(value)


def test_a_secret_in_a_model() -> None:
    """The same in a model of pydantic."""
    assert json.loads(as_json(model())) == {"password": "[scrubbed]", "name": "Ann"}


KEPT = [
    "order 1732975200000 placed at 2026-11-30 2026-12-01",
    "skill_manager_tool",
    "skip_validation_step",
    "hf_dataset_loader_v2",
    "ann@example.com paid 12.50 EUR for 3 items",
    "ISBN 9783161484100",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "commit 3f2c1e9a7b5d4c6e8f0a1b2c3d4e5f6a7b8c9d0e",
    "def token_count(text: str) -> int: return len(text)",
    "token_count: 5, max_tokens=100, tokenizer: cl100k_base",
    "basic authentication needed",
    "Basic information about bearer bonds",
    "call +49 170 1234567",
    "if password is None: raise",
    "password is required",
    "the token: invalid",
    "Password: must be set",
    "pk_order_items_table",
    "auth_method: oauth2",
    "https://host:8080/users/bob@example.com",
    "IBAN DE89370400440532013000",
    "pi_3MtwBwLkdIwHu7ix28a3tqPa cus_NffrFeUfNV2Hib",
    "session 4 of 12: intro",
    "the author: Ann",
    "tweet 1234567890123456789",
    "skyscraper-building-plan",
    "password = os.environ['DB_PASSWORD']",
    "def login(user: str, password: str) -> None:",
    "token=$TOKEN",
    "SELECT id FROM users WHERE total = 5",
    "the key: see docs",
    "https://example.com/a?page=2&sort=asc",
    "The reset token was sent to ann2@example.com",
    "Error: password incorrect (attempt 3 of 5)",
    "a == b; c: d",
    "x = y -- note",
    "git push --force origin main",
    "tracking 1Z999AA10123456784",
    "lat 52.5200066, lon 13.4049540",
    "üñí 你好 🙂",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_secret_stays(text: str) -> None:
    """Ids, addresses, prices, dates, code and words about secrets are not touched."""
    assert scrub(text) == text
    assert json.loads(as_json({"note": text})) == {"note": text}


def test_values_of_the_standard_library_stay_readable() -> None:
    """A price, a date or an id is shown as what it is."""
    from datetime import date
    from decimal import Decimal
    from uuid import UUID

    given = {"price": Decimal("12.50"), "day": date(2026, 11, 30), "id": UUID(int=1)}
    assert json.loads(as_json(given)) == {"price": "12.50", "day": "2026-11-30", "id": str(UUID(int=1))}


SLOW = {
    "dots": "a.",
    "schemes": "a://",
    "names": "password",
    "begins": "-----BEGIN ",
    "digits": "1 ",
    "basic": "basic ",
    "JWT": "eyJ",
    "quotes": 'password="',
    "escapes": '\\"',
    "slashes": "\\",
    "brackets": "token=[",
    "elements": "<password>",
    "pairs": '["a","',
    "parts": 'name="password"',
    "flags": "--token ",
    "spaces": "bearer ",
    "colons": "a:",
    "is": "password is ",
    "mysql": "mysql ",
    "query": "?sig=",
    "value": '"value": "',
    "hyphens": "-",
    "letters": "w",
    "users": " -u a:",
}


@pytest.mark.parametrize("part", SLOW.values(), ids=SLOW)
def test_no_text_makes_it_slow(part: str) -> None:
    """However a text is made, masking it takes a few milliseconds."""
    text = part * (20_000 // len(part))
    began = time.thread_time()
    scrub(text, 8192)
    assert time.thread_time() - began < 0.2


@pytest.mark.parametrize("text", ["a\nb", "a\0b", "\u202eevil", "\x1b[31m", "a\u2028b", "\ufeff"])
def test_names_stay_in_one_line(text: str) -> None:
    """Neither a line break nor a mark that turns text around gets into a name."""
    assert clean(text).isprintable()
    assert len(clean(text * 1000)) <= 256
