from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server on free ports with a store of its own."""
    store = f"chdb://{tmp_path_factory.mktemp('read-only')}"
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False)) as running:
        yield running


def ask(server: Server, sql: str, **params: object) -> httpx.Response:
    """Send SQL to the query endpoint."""
    body = {"sql": sql, "params": params}
    return httpx.post(f"{server.addresses.http}/api/query", json=body, trust_env=False, timeout=60)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 INTO OUTFILE '{file}'",
        "SELECT 1 INTO OUTFILE '{file}' FORMAT CSV",
        "INSERT INTO FUNCTION file('{file}', 'CSV', 'a UInt8') SELECT 1",
        "INSERT INTO otel_traces (TraceId) VALUES ('x')",
        "CREATE TABLE t (a UInt8) ENGINE = Memory",
        "CREATE TEMPORARY TABLE t (a UInt8)",
        "DROP TABLE otel_traces",
        "TRUNCATE TABLE otel_traces",
        "ALTER TABLE otel_traces DELETE WHERE 1",
        "DELETE FROM otel_traces WHERE 1",
        "OPTIMIZE TABLE otel_traces FINAL",
        "RENAME TABLE otel_traces TO x",
        "DETACH TABLE otel_traces",
        "SET readonly = 0",
        "SET max_execution_time = 0",
        "USE system",
        "KILL QUERY WHERE 1",
        "SYSTEM FLUSH LOGS",
        "BACKUP TABLE otel_traces TO File('{file}')",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE otel_traces",
        "SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "SELECT * FROM file('{file}', 'CSV', 'a UInt8')",
        "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
        "SELECT * FROM remote('127.0.0.1:1', system.one)",
        "SELECT * FROM s3('http://127.0.0.1:1/x', 'CSV')",
        "SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')",
        "SELECT * FROM executable('cat', 'CSV', 'a String')",
        "SELECT * FROM otel_traces WHERE TraceId IN (SELECT line FROM file('/etc/passwd', 'LineAsString'))",
        "WITH (SELECT count() FROM url('http://127.0.0.1:1/', 'LineAsString')) AS n SELECT n",
        "SELECT 1 SETTINGS readonly = 0",
        "SELECT 1 SETTINGS max_execution_time = 0",
        "SELECT * FROM numbers(2000000)",
        "EXPLAIN SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "not sql at all",
        "",
    ],
)
def test_everything_but_reading_the_store_is_refused(server: Server, tmp_path: Path, sql: str) -> None:
    """Writing, files, network, settings, several statements and huge answers end in an error, and change nothing."""
    target = tmp_path / "out"
    answer = ask(server, sql.replace("{file}", str(target)))
    assert (answer.status_code, "root:" in answer.text) == (400, False)
    assert answer.json()["error"]
    assert not target.exists()
    assert server.store.query("SELECT count() FROM otel_traces").rows == [(0,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1;",
        "-- why\nSELECT 1",
        "WITH 1 AS x SELECT x",
        "SHOW TABLES",
        "DESCRIBE TABLE otel_traces",
        "EXPLAIN SELECT 1",
    ],
)
def test_reading_is_allowed(server: Server, sql: str) -> None:
    """What people ask in good faith is answered, with comments and a closing semicolon."""
    answer = ask(server, sql)
    assert (answer.status_code, len(answer.json()["rows"]) > 0) == (200, True)


@pytest.mark.parametrize("value", ["'; DROP TABLE otel_traces; --", "\\'", "a\0b", "😀", "{x:String}", "\n\t"])
def test_bound_values_stay_values(server: Server, value: str) -> None:
    """Whatever a bound value holds, it comes back as it was."""
    assert ask(server, "SELECT {value:String}", value=value).json()["rows"] == [[value]]


def test_a_refused_question_leaves_the_next_one_unharmed(server: Server) -> None:
    """Limits and read-only mode belong to the questions' own handle; writing goes on."""
    assert ask(server, "SET readonly = 0").status_code == 400
    assert ask(server, "SELECT getSetting('readonly')").json()["rows"] == [[1]]
    server.store.command("CREATE TABLE written (a UInt8) ENGINE = Memory")
    server.store.command("DROP TABLE written")


def test_nothing_of_one_answer_reaches_the_next_question(server: Server) -> None:
    """A question that fails in the middle of its result leaves nothing behind for whoever asks next."""
    for _ in range(4):
        assert ask(server, "SELECT number, 'secret' FROM numbers(2000000)").status_code == 400
        for _ in range(8):
            assert ask(server, "SELECT 7").json() == {"columns": ["7"], "rows": [[7]]}


def test_text_that_is_no_text_is_refused(server: Server) -> None:
    """Half a surrogate pair in a question is answered with an error."""
    url = f"{server.addresses.http}/api/query"
    headers = {"content-type": "application/json"}
    for body in (rb'{"sql": "SELECT 1 AS \ud800"}', rb'{"sql": "SELECT {a:String}", "params": {"a": "\ud800"}}'):
        assert httpx.post(url, content=body, headers=headers, trust_env=False).status_code == 400
