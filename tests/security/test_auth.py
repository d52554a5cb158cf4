from __future__ import annotations

import asyncio
import base64
import hmac
import json
import os
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import clickhouse_connect
import grpc
import httpx
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError
from pydantic import SecretStr
from serving import OWNER, SENDER, TOKENS, Served, served
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from world import Reply, World, world

from overclaim._errors import InputError, StoreError
from overclaim.cli import main
from overclaim_collector import config
from overclaim_collector import server as server_module
from overclaim_collector.web.auth import Role, Tokens
from overclaim_collector.web.guard import Guard
from overclaim_collector.web.origin import Origins
from overclaim_detectors.opening import open_store

__all__ = ["world"]

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that asks for tokens."""
    with served(tmp_path_factory.mktemp("auth"), **TOKENS) as running:
        yield running


def bearer(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"authorization": f"Bearer {token}"}


def basic(password: str, user: str = "default") -> dict[str, str]:
    """The header that shows a token as a password."""
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def status(server: Served, headers: dict[str, str]) -> int:
    """What somebody with these headers is answered who asks who owns the store."""
    return httpx.get(f"{server.url}/api/owner", headers=headers, trust_env=False).status_code


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (bearer(OWNER), 200),
        ({"authorization": f"bearer  {OWNER}"}, 200),
        (basic(OWNER), 200),
        (basic(OWNER, user=""), 200),
        ({"x-clickhouse-key": OWNER, "x-clickhouse-user": "default"}, 200),
        (bearer(SENDER), 403),
        (basic(SENDER), 403),
        ({"authorization": "Bearer"}, 401),
        (bearer(OWNER[:-1]), 401),
        (bearer(OWNER + "x"), 401),
        (bearer(OWNER.upper()), 401),
        ({"authorization": OWNER}, 401),
        ({"authorization": f"Token {OWNER}"}, 401),
        ({"authorization": "Basic not-base64"}, 401),
        ({"authorization": "Basic " + base64.b64encode(b"\xff:\xff").decode()}, 401),
        ({"cookie": f"token={OWNER}"}, 401),
        (basic("x", user=OWNER), 401),
    ],
)
def test_a_token_is_shown_in_a_header(server: Served, headers: dict[str, str], expected: int) -> None:
    """After Bearer, as the password of Basic, or as ClickHouse's clients do; nothing else, and nothing like it."""
    assert status(server, headers) == expected


def test_a_token_in_the_address_counts_nothing(server: Served) -> None:
    """Addresses end up in logs and histories: no parameter is taken for a token."""
    address = f"{server.url}/api/owner?token={OWNER}&password={OWNER}&access_token={OWNER}"
    assert httpx.get(address, trust_env=False).status_code == 401


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comparison is made to its end on values of one length, also where the first one fits."""
    compared: list[tuple[int, int]] = []
    real = hmac.compare_digest

    def watched(left: bytes, right: bytes) -> bool:
        compared.append((len(left), len(right)))
        return real(left, right)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    tokens = Tokens(OWNER, SENDER)
    tokens.accept_key("the-key-beside-the-store")
    shown = [OWNER, "the-key-beside-the-store", SENDER, "", "x" * 5000, "\udcff"]
    roles = [tokens.role([token]) for token in shown]
    assert roles == [Role.DECIDER, Role.DECIDER, Role.SENDER, Role.ANONYMOUS, Role.ANONYMOUS, Role.ANONYMOUS]
    assert compared == [(32, 32)] * 3 * len(shown)


def test_a_body_without_a_token_is_not_read(server: Served) -> None:
    """Announced are 50 MB, none comes: the refusal does not wait for them, over HTTP and gRPC."""
    head = "POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50000000\r\n"
    host, _, port = server.url.removeprefix("http://").partition(":")
    for more in ("", "Expect: 100-continue\r\n"):
        begun = time.monotonic()
        with closing(socket.create_connection((host, int(port)), 10)) as raw:
            raw.sendall(f"{head}{more}\r\n".encode())
            assert raw.recv(100).startswith(b"HTTP/1.1 401")
        assert time.monotonic() - begun < 3
    with grpc.insecure_channel(server.grpc) as channel:
        never = (time.sleep(30) or b"" for _ in range(1))
        answer = channel.stream_unary(EXPORT)
        with pytest.raises(grpc.RpcError) as caught:
            answer(never, timeout=3)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED  # type: ignore[attr-defined]


def test_failures_lock_nobody_out_and_are_counted(server: Served) -> None:
    """Many wrong tokens at a time: whoever has the right one is served meanwhile, and the metrics tell."""
    with httpx.Client(base_url=server.url, trust_env=False) as client:

        def answered(token: str) -> int:
            return client.get("/api/owner", headers=bearer(token)).status_code

        def failures() -> float:
            text = client.get("/metrics", headers=bearer(OWNER)).text
            return float(text.split("\noverclaim_auth_failures_total ")[1].split("\n")[0])

        before, served_meanwhile = failures(), 0
        with ThreadPoolExecutor(20) as pool:
            wrong = [pool.submit(answered, f"wrong-{number}") for number in range(60)]
            while not all(one.done() for one in wrong):
                assert answered(OWNER) == 200
                served_meanwhile += 1
        assert {one.result() for one in wrong} == {401}
        assert failures() == before + 60
        assert served_meanwhile > 5


def test_commands_show_the_token(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`overclaim query` sends OVERCLAIM_TOKEN, or what OVERCLAIM_TOKEN_FILE holds, and says what to do without."""
    question = ["query", "SELECT 41 + 1 AS answer", "--store", server.url, "--format", "json"]
    assert main(question) == 4
    assert "asks for a token: set OVERCLAIM_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("OVERCLAIM_TOKEN", "not-the-token-of-the-server")
    assert main(question) == 4
    assert "the one given is another" in capsys.readouterr().err
    monkeypatch.setenv("OVERCLAIM_TOKEN", SENDER)
    assert main(question) == 4
    assert "only allows to send" in capsys.readouterr().err
    monkeypatch.setenv("OVERCLAIM_TOKEN", OWNER)
    assert main(question) == 0
    assert json.loads(capsys.readouterr().out) == [{"answer": 42}]
    monkeypatch.delenv("OVERCLAIM_TOKEN")
    (tmp_path / "token").write_text(f"{OWNER}\n")
    (tmp_path / "token").chmod(0o600)
    monkeypatch.setenv("OVERCLAIM_TOKEN_FILE", str(tmp_path / "token"))
    assert main(question) == 0


def test_a_token_goes_to_one_server_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that sends its visitor elsewhere does not have the token sent there, too."""
    monkeypatch.setenv("OVERCLAIM_TOKEN", OWNER)
    world.reply("/api/owner", Reply(302, headers={"Location": f"{world.url.replace('127.0.0.1', 'localhost')}/thief"}))
    world.reply("/thief", Reply(200, {}))
    store: Any = open_store(world.url)
    assert store.owner() == {}
    shown = {path: "Authorization" in headers for path, headers in world.asked}
    assert shown == {"/ping": False, "/api/owner": True, "/thief": False}


BAD: list[tuple[dict[str, str], dict[str, str], str]] = [
    ({"host": "0.0.0.0"}, {}, "a token is needed|must show a token"),
    ({"host": "::"}, {}, "must show a token"),
    ({"host": ""}, {}, "must show a token"),
    ({"host": "collector.example"}, {}, "--token-file"),
    ({}, {"OVERCLAIM_TOKEN": "fifteen-letters"}, "16 to 512"),
    ({}, {"OVERCLAIM_TOKEN": "sixteen letters with spaces"}, "token_urlsafe"),
    ({}, {"OVERCLAIM_TOKEN": ""}, "OVERCLAIM_TOKEN holds no token"),
    ({}, {"OVERCLAIM_TOKEN": OWNER, "OVERCLAIM_TOKEN_FILE": "/x"}, "both set"),
    ({}, {"OVERCLAIM_TOKEN_FILE": "/nowhere/token"}, "cannot read the token file /nowhere/token"),
    ({"token_file": "/nowhere/token"}, {}, "cannot read the token file /nowhere/token"),
    ({}, {"OVERCLAIM_INGEST_TOKEN": SENDER}, "--token-file"),
    ({}, {"OVERCLAIM_TOKEN": OWNER, "OVERCLAIM_INGEST_TOKEN": OWNER}, "needs another one"),
]


@pytest.mark.parametrize(("given", "environment", "said"), BAD)
def test_what_is_not_safe_is_refused(given: dict[str, str], environment: dict[str, str], said: str) -> None:
    """An open door, or a token that is none, is an error that says what to do and shows no token, nor its traceback."""
    with pytest.raises(InputError, match=said) as caught:
        config.load(given, environment)
    told = "".join(traceback.format_exception(caught.value))
    assert not [token for token in environment.values() if len(token) > 10 and token in told and "/" not in token]


def test_listening_beyond_this_machine_needs_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with 2 and says how to make a token; nothing was opened."""
    assert main(["serve", "--host", "0.0.0.0"]) == 2
    said = capsys.readouterr().err
    assert "secrets.token_urlsafe(32)" in said
    assert "--token-file" in said


def test_a_token_file_that_others_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is used all the same: in containers, files may belong to anybody."""
    file = tmp_path / "token"
    file.write_text(OWNER + "\n")
    file.chmod(0o644)
    made = config.load({"token_file": str(file)}, {})
    assert made.token is not None
    assert made.token.get_secret_value() == OWNER
    assert f"chmod 600 {file}" in caplog.text
    caplog.clear()
    file.chmod(0o600)
    config.load({"token_file": str(file)}, {})
    assert caplog.text == ""


def test_no_token_shows_anywhere(tmp_path: Path) -> None:
    """Not in output, logs, the command line, what the server says about itself, its files, or its configuration."""
    for name, token in (("owner", OWNER), ("sender", SENDER)):
        (tmp_path / name).write_text(token)
        (tmp_path / name).chmod(0o600)
    store, ready = tmp_path / "store", tmp_path / "ready"
    arguments = ["--store", str(store), "--token-file", str(tmp_path / "owner"), "--ready-file", str(ready)]
    command = [sys.executable, "-m", "overclaim.cli", "serve", *arguments, "--http-port", "0", "--grpc-port", "0"]
    environment = {**os.environ, "OVERCLAIM_INGEST_TOKEN_FILE": str(tmp_path / "sender")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    try:
        assert process.stdout
        process.stdout.readline()
        url = json.loads(ready.read_text())["http"]
        with httpx.Client(base_url=url, headers=bearer(OWNER), trust_env=False) as client:
            said = [client.get(path).content for path in ("/", "/healthz", "/readyz", "/metrics", "/api/owner")]
            client.post("/v1/traces", content=b"\xff", headers=bearer(SENDER))
            said.append(client.post("/api/query", json={"sql": "SELECT * FROM nowhere"}).content)
        said += [Path(f"/proc/{process.pid}/cmdline").read_bytes()]
    finally:
        process.terminate()
        said.append(process.communicate(timeout=60)[0])
    said += [file.read_bytes() for file in store.rglob("*") if file.is_file()]
    shown = config.load({"token_file": str(tmp_path / "owner")}, {"OVERCLAIM_INGEST_TOKEN": SENDER})
    said += [repr(shown).encode(), str(shown).encode(), repr(Tokens(OWNER, SENDER)).encode(), str(vars(shown)).encode()]
    assert len(said) > 20
    assert not [text for text in said if OWNER.encode() in text or SENDER.encode() in text]


def test_secrets_of_stores_and_forwarding_are_not_shown() -> None:
    """Neither the password of a store nor the headers for forwarding stand in what the configuration prints."""
    environment = {
        "OVERCLAIM_STORE": "clickhouse://me:hush-hush@127.0.0.1/db",
        "OVERCLAIM_FORWARD_HEADERS": "authorization=hush-hush",
        "OVERCLAIM_FORWARD": "http://me:hush-hush@127.0.0.1:4318",
    }
    assert "hush-hush" not in repr(config.load({}, environment))


async def _through_a_guard(headers: dict[str, str], *, beyond: bool) -> int:
    """The status that a request gets which shows the owner's token and comes with these headers."""
    app = Starlette(routes=[Route("/api/owner", lambda _: PlainTextResponse("yes"))])
    guard = Guard(app, Tokens(OWNER), Origins(beyond=beyond))
    transport = httpx.ASGITransport(guard)
    async with httpx.AsyncClient(transport=transport, base_url="http://collector.example:4318") as client:
        return (await client.get("/api/owner", headers={**bearer(OWNER), **headers})).status_code


@pytest.mark.parametrize(
    ("headers", "on_loopback", "beyond"),
    [
        ({}, 403, 200),
        ({"host": "127.0.0.1:4318"}, 200, 200),
        ({"host": "10.1.2.3:4318"}, 403, 200),
        ({"origin": "http://collector.example:4318"}, 403, 200),
        ({"origin": "https://collector.example"}, 403, 200),
        ({"origin": "https://evil.example"}, 403, 403),
        ({"host": "127.0.0.1:4318", "origin": "https://evil.example"}, 403, 403),
        ({"host": "127.0.0.1:4318", "origin": "http://localhost:3000"}, 200, 200),
        ({"origin": "null"}, 403, 403),
        ({"host": "", "origin": "http://"}, 403, 403),
    ],
)
def test_pages_of_other_sites_are_kept_away(headers: dict[str, str], on_loopback: int, beyond: int) -> None:
    """On loopback only loopback names are answered; beyond, any name, but no page that comes from another one."""
    assert asyncio.run(_through_a_guard(headers, beyond=False)) == on_loopback
    assert asyncio.run(_through_a_guard(headers, beyond=True)) == beyond


def test_a_reader_without_the_token_is_told_so_on_opening(server: Served) -> None:
    """A store behind a server that asks for a token: the error names the address."""
    with pytest.raises(StoreError, match=f"{server.url} asks for a token"):
        open_store(server.url).query("SELECT 1")


def test_clickhouse_clients_show_the_token_as_a_password(server: Served) -> None:
    """clickhouse-connect reads with the token as its password, whatever the user; with another one it reads nothing."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    given: dict[str, Any] = {"interface": "http", "host": host, "port": int(port), "username": "anybody"}
    client = clickhouse_connect.get_client(**given, password=OWNER)
    assert client.query("SELECT 41 + 1").result_rows == [(42,)]
    client.close()
    for password in ("", "wrong-wrong-wrong", SENDER):
        with pytest.raises(DatabaseError):
            clickhouse_connect.get_client(**given, password=password)


def test_beyond_this_machine_without_tls_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """It may stand behind a proxy with TLS, so it starts; but whoever has forgotten it reads it in the log."""
    server_module._tls(config.ServeConfig(token=SecretStr(OWNER)))  # pyright: ignore[reportPrivateUsage]
    assert caplog.text == ""
    beyond = config.ServeConfig(host="0.0.0.0", token=SecretStr(OWNER))
    server_module._tls(beyond)  # pyright: ignore[reportPrivateUsage]
    assert "0.0.0.0 without TLS" in caplog.text
