"""A ClickHouse server as the store: what its URL may say, how it is opened, and every command on it.

The server is the real engine behind our own HTTP endpoint; see tests/support/clickhouse_server.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import scripted_agents as agents
from clickhouse_server import clickhouse_server
from relay import certificate, relay

from overclaim._errors import InputError, StoreError
from overclaim.cli import main
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors import _server
from overclaim_detectors.hiding import without_password
from overclaim_detectors.opening import open_store
from overclaim_detectors.server_address import PASSWORD, PASSWORD_FILE, server_address
from overclaim_detectors.store import LIMITS, QueryError, Store

SECRET = "hunter2"
TOKEN = {"insert_deduplication_token": "one"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its host:port."""
    with clickhouse_server(tmp_path_factory.mktemp("clickhouse")) as address:
        yield address


@pytest.fixture(scope="module")
def filled(server: str) -> str:
    """The URL of a database that `overclaim serve` made and filled, and detected in."""
    url = f"clickhouse://ann:{SECRET}@{server}/filled"
    with agents.recorded() as exporter:
        agents.overclaimer()
        body = agents.as_body(exporter)
    with Server(ServeConfig(store=url, http_port=0, grpc_port=0, detect=False)) as collector:
        headers = {"Content-Type": "application/x-protobuf"}
        httpx.post(
            f"{collector.addresses.http}/v1/traces", content=body, headers=headers, timeout=30
        ).raise_for_status()
        assert collector.addresses.store == f"clickhouse://ann@{server}/filled"
        assert SECRET not in httpx.get(f"{collector.addresses.http}/api/owner", timeout=30).text
    assert main(["detect", "--store", url]) == 0
    return url


@pytest.fixture
def store(server: str) -> Iterator[Store]:
    """A database with a table that knows tokens."""
    opened = open_store(f"clickhouse://{server}/plain")
    columns = "A UInt8) ENGINE = MergeTree ORDER BY A SETTINGS non_replicated_deduplication_window = 100"
    opened.command(f"CREATE OR REPLACE TABLE kept ({columns}")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["report", "claims"], 0, "overclaimer"),
        (["report", "coverage", "--format", "json"], 0, '"Service": "shop"'),
        (["query", "SELECT Label, count() AS Runs FROM overclaim_run_verdicts GROUP BY 1"], 0, "contradicted"),
        (["query", "DROP TABLE otel_traces"], 4, ""),
        (["query", "INSERT INTO otel_traces (TraceId) VALUES ('x')"], 4, ""),
        (["detect", "--fail"], 1, "open accusations: 1"),
    ],
)
def test_commands_work_on_a_server(
    filled: str, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    """As on an embedded store; people's SQL cannot write."""
    assert main([*arguments, "--store", filled]) == code
    said = capsys.readouterr()
    assert words in said.out
    assert SECRET not in said.out + said.err


def test_show_and_doctor_work_on_a_server(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither shows the password, nor does the command that `show` proposes."""
    reader = open_store(filled, read_only=True)
    ((trace,),) = reader.query("SELECT DISTINCT TraceId FROM otel_traces").rows
    reader.close()
    assert main(["show", trace, "--store", filled]) == 0
    assert "contradicted" in capsys.readouterr().out
    main(["doctor", "--store", filled])
    said = capsys.readouterr().out
    assert "ClickHouse" in said
    assert "none lost in the 1 runs" in said
    assert "opened by nobody else" not in said
    assert main(["show", trace, "--store", filled]) == 0
    assert SECRET not in said + capsys.readouterr().out


def test_a_database_is_made_by_those_who_write(server: str) -> None:
    """Who only reads is told that it is not there."""
    url = f"clickhouse://{server}/made_now"
    with pytest.raises(StoreError, match=r"no database 'made_now' at .* yet: `overclaim serve`"):
        open_store(url, read_only=True)
    open_store(url).close()
    open_store(url, read_only=True).close()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("clickhouse://u:hunter2@127.0.0.1/d?timeout=3", "there is no option 'timeout'; there are cluster, "),
        (
            "clickhouse://u:hunter2@127.0.0.1/d?connect_timeout=soon",
            "connect_timeout cannot be 'soon': give a whole number",
        ),
        ("clickhouse://u:hunter2@127.0.0.1/d?connect_timeout=0", "connect_timeout cannot be '0': give more than 0"),
        (
            "clickhouse://u:hunter2@127.0.0.1/d?cluster=a'b",
            'cluster cannot be "a\'b": use letters, digits and the characters _ - . { }',
        ),
        ("clickhouse://u:hunter2@127.0.0.1/d?verify=false", "verify is for TLS: write clickhouses://"),
        (
            "clickhouses://u:hunter2@127.0.0.1/d?ca_cert=/nowhere",
            "ca_cert cannot be '/nowhere': give the path of a file",
        ),
        ("clickhouse://u:hunter2@127.0.0.1/d?cluster=a&cluster=b", "the option cluster is given twice"),
        ("clickhouse://u:hunter2@127.0.0.1/d;x", "'d;x' is no name of a database"),
        ("clickhouse://u:hunter2@127.0.0.1:99999/d", "Port out of range"),
        ("clickhous://u:hunter2@127.0.0.1/d", "use chdb:///path"),
        ("clickhouse://u:hun@ter2@127.0.0.1/d?x=1", "there is no option 'x'"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, why: str) -> None:
    """With what is wrong, and without its password."""
    with pytest.raises(InputError) as refused:
        open_store(url)
    assert why in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert "ter2" not in str(refused.value)


def test_the_password_comes_from_one_of_three_places(tmp_path: Path) -> None:
    """The URL, a file, the environment; it never shows."""
    file = tmp_path / "secret"
    file.write_text("from file\n")
    url = "clickhouse://ann@db/agents"
    for environment, address, expected in (
        ({}, url, ""),
        ({PASSWORD: "from env"}, url, "from env"),
        ({PASSWORD: "from env", PASSWORD_FILE: str(file)}, url, "from file"),
        ({PASSWORD: "from env"}, f"{url}?password_file={file}", "from file"),
        ({PASSWORD: "from env"}, "clickhouse://ann:from%20url@db/agents", "from url"),
    ):
        found = server_address(address, environment)
        assert found.connection["password"] == expected
        assert not expected or expected not in f"{found!r} {found.url}"
    with pytest.raises(InputError, match="/nowhere cannot be read"):
        server_address(url, {PASSWORD_FILE: "/nowhere"})


def test_a_url_says_how_to_connect() -> None:
    """Host, port, user, database, TLS and times; nothing else is assumed."""
    found = server_address("clickhouses://a%40b:c@[::1]:9/d?verify=false&server_host_name=x&connect_timeout=3", {})
    assert (found.database, found.cluster) == ("d", None)
    assert dict(found.connection) == {
        "interface": "https",
        "host": "::1",
        "port": 9,
        "username": "a@b",
        "password": "c",
        "connect_timeout": 3,
        "send_receive_timeout": 300,
        "verify": False,
        "server_host_name": "x",
    }
    plain = server_address("clickhouse://", {})
    assert (plain.connection["host"], plain.connection["port"], plain.database) == ("localhost", 8123, "default")


def test_words_for_people_hide_passwords() -> None:
    """Wherever a URL stands in them."""
    said = "serve --store clickhouse://ann:s3:cr@t@db:1/x --forward http://otel:4318"
    assert without_password(said) == "serve --store clickhouse://ann@db:1/x --forward http://otel:4318"


@pytest.mark.parametrize("host", ["127.0.0.1:1", "nowhere.invalid:8123"])
def test_a_server_that_is_not_there_is_named(host: str) -> None:
    """With what the connection failed of, in a few words."""
    with pytest.raises(StoreError, match=r"cannot use ClickHouse at clickhouse://u@.*(refused|resolve)") as refused:
        open_store(f"clickhouse://u:{SECRET}@{host}/d?connect_timeout=2")
    assert len(str(refused.value)) < 250
    assert SECRET not in str(refused.value)


def test_an_answer_that_breaks_a_limit_is_an_error_with_a_cure(
    server: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says so in the middle of the answer: one line on stderr, exit 4, and no part of the answer."""
    monkeypatch.setattr(_server, "LIMITS", {**LIMITS, "max_result_rows": 300_000})
    question = ["query", "SELECT number FROM numbers(400000)", "--store", f"clickhouse://{server}/default"]
    assert main(question) == 4
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"overclaim: Limit for result exceeded, .*: narrow the query, .*\n", said.err)


def test_a_connection_that_is_tried_again_is_not_told_by_the_library(
    server: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The server is gone: the error says it once, in our words, and no line "Retrying (Retry(total=0, ..."."""
    with relay(server) as between:
        store = open_store(f"clickhouse://127.0.0.1:{between.port}/default")
        assert store.query("SELECT 1").rows == [(1,)]
    between.word, between.losing = b"", 1000
    with pytest.raises(QueryError, match="refused"):
        store.query("SELECT 1")
    store.close()
    assert "Retrying" not in caplog.text


def test_an_insert_whose_answer_got_lost_is_stored_once(server: str, store: Store) -> None:
    """It is tried again and again for a moment, since the engine knows its token."""
    with relay(server) as between:
        lossy = open_store(f"clickhouse://127.0.0.1:{between.port}/plain")
        between.word, between.losing = b"INSERT INTO", 3
        lossy.insert("kept", ("A",), [(1,)], TOKEN)
        assert len(between.asked) == 4
        lossy.close()
    assert store.query("SELECT A FROM kept").rows == [(1,)]


def test_an_insert_without_a_token_is_given_up_sooner(server: str, store: Store) -> None:
    """Each try may store it once more: there is no more than the one that clickhouse-connect makes."""
    with relay(server) as between:
        lossy = open_store(f"clickhouse://127.0.0.1:{between.port}/plain")
        between.word, between.losing = b"INSERT INTO", 9
        with pytest.raises(QueryError):
            lossy.insert("kept", ("A",), [(1,)])
        assert len(between.asked) == 2
        lossy.close()


def test_an_insert_that_is_refused_is_not_tried_again(server: str, store: Store) -> None:
    """The server answered: it would say the same again."""
    with relay(server) as between:
        lossy = open_store(f"clickhouse://127.0.0.1:{between.port}/plain")
        between.word = b"INSERT INTO"
        with pytest.raises(QueryError, match=r"^Expected end of line") as refused:
            lossy.raw_insert("kept", b"not a number\n", "CSV", TOKEN)
        assert refused.value.code
        assert len(between.asked) == 1
        lossy.close()
    assert store.query("SELECT A FROM kept").rows == []


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_a_server_behind_tls(server: str, tmp_path: Path) -> None:
    """Its certificate must be known, unless it is said that it need not be."""
    cert, context = certificate(tmp_path)
    with relay(server, context) as between:
        url = f"clickhouses://127.0.0.1:{between.port}/default"
        with pytest.raises(StoreError, match="certificate verify failed"):
            open_store(url)
        for options in (f"ca_cert={cert}", "verify=false"):
            opened = open_store(f"{url}?{options}")
            assert opened.query("SELECT 1").rows == [(1,)]
            opened.close()
