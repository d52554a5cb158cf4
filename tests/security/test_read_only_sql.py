from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors import sql as queries

SECRET = "the-words-of-a-file-outside"


class Trap:
    """A listener on loopback that nothing may ever connect to."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.connections = 0
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    """The listener."""
    listening = Trap()
    yield listening
    listening.close()


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that the server may read and nobody may read through it."""
    file = tmp_path_factory.mktemp("outside") / "secret.csv"
    file.write_text(f"{SECRET}\n")
    return file


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
        "SELECT 1 FORMAT JSON",
        "EXPLAIN SELECT 1 FORMAT TSV",
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


# {file}: a real file outside of the store; {port}: a real listener on loopback. Neither may be touched.
REACHING = [
    "SELECT file('{file}')",
    "select\tfile\n(\n'{file}'\n)",
    "SELECT /* a */ file /* b */ ('{file}') -- c",
    "SELECT `file`('{file}')",
    "SELECT \"file\"('{file}')",
    "SELECT FILE('{file}')",
    "SELECT file('{file}', 'nothing')",
    "SELECT upper(concat('a', file('{file}')))",
    "SELECT arrayMap(x -> file(x), ['{file}'])",
    "SELECT arrayMap(file, ['{file}'])",
    "SELECT arrayMap(`file`, ['{file}'])",
    "SELECT arrayFilter(file, ['{file}'])",
    "WITH file AS f SELECT arrayMap(f, ['{file}'])",
    "SELECT * APPLY(file) FROM (SELECT '{file}' AS x)",
    "SELECT * APPLY file FROM (SELECT '{file}' AS x)",
    "SELECT COLUMNS('x') APPLY(f -> file(f)) FROM (SELECT '{file}' AS x)",
    "SELECT * REPLACE(file('{file}') AS dummy) FROM system.one",
    "SELECT 1 WHERE file('{file}') != ''",
    "SELECT 1 GROUP BY file('{file}')",
    "SELECT 1 ORDER BY file('{file}')",
    "SELECT count() HAVING length(file('{file}')) > 0",
    "SELECT 1 QUALIFY file('{file}') != ''",
    "SELECT 1 LIMIT length(file('{file}'))",
    "SELECT sum(1) OVER (PARTITION BY file('{file}'))",
    "SELECT sum(1) OVER w WINDOW w AS (ORDER BY file('{file}'))",
    "SELECT number FROM numbers(length(file('{file}')))",
    "SELECT 1 UNION ALL SELECT length(file('{file}'))",
    "SELECT 1 EXCEPT SELECT length(file('{file}'))",
    "SELECT (SELECT file('{file}'))",
    "SELECT * FROM (SELECT file('{file}'))",
    "WITH x AS (SELECT file('{file}')) SELECT * FROM x",
    "WITH file('{file}') AS x SELECT x",
    "SELECT 1 IN (SELECT length(file('{file}')))",
    "SELECT * FROM view(SELECT file('{file}'))",
    "SELECT * FROM otel_traces LEFT JOIN (SELECT file('{file}') AS f) AS t ON t.f = TraceId",
    "SELECT * FROM numbers(1) ARRAY JOIN [file('{file}')] AS x",
    "SELECT CASE WHEN 1 THEN file('{file}') END",
    "SELECT if(0, file('{file}'), 1)",
    "SELECT b FROM values('a UInt8, b String ALIAS file(\\'{file}\\')', (1))",
    "SELECT b FROM generateRandom('a UInt8, b String ALIAS file(\\'{file}\\')') LIMIT 1",
    "SELECT b FROM null('a UInt8, b String ALIAS file(\\'{file}\\')')",
    "SELECT b FROM format(CSV, 'a UInt8, b String ALIAS file(\\'{file}\\')', '1')",
    "EXPLAIN SELECT file('{file}')",
    "EXPLAIN SYNTAX SELECT file('{file}')",
    "EXPLAIN QUERY TREE SELECT file('{file}')",
    "EXPLAIN PIPELINE SELECT file('{file}')",
    "SELECT * FROM (EXPLAIN SELECT file('{file}'))",
    "EXPLAIN SELECT * FROM file('{file}', 'LineAsString')",
    "EXPLAIN TABLE OVERRIDE mysql('127.0.0.1:{port}', 'd', 't', 'u', 'p') PARTITION BY x",
    "SHOW TABLES WHERE name = file('{file}')",
    "SHOW COLUMNS FROM otel_traces WHERE field = file('{file}')",
    "DESCRIBE file('{file}')",
    "DESC TABLE file('{file}', 'LineAsString')",
    "DESCRIBE (SELECT file('{file}'))",
    "DESCRIBE TABLE url('http://127.0.0.1:{port}/x.parquet')",
    "DESC url('http://127.0.0.1:{port}/x.csv')",
    "DESC s3('http://127.0.0.1:{port}/bucket/x.parquet')",
    "DESC remote('127.0.0.1:{port}', 'system', 'one')",
    "DESC mysql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "DESC view(SELECT file('{file}'))",
    "DESCRIBE `{file}`",
    "EXISTS TABLE `{file}`",
    "SHOW CREATE TABLE `{file}`",
    "CHECK TABLE `{file}`",
    "SELECT * FROM `{file}`",
    "SELECT * FROM '{file}'",
    "SELECT 1 IN `{file}`",
    "FROM file('{file}', 'LineAsString') SELECT *",
    "SELECT * FROM File('{file}', 'LineAsString')",
    "SELECT * FROM file('{file}', 'LineAsString', 'line String', 'none')",
    "SELECT * FROM numbers(1) AS n JOIN file('{file}', 'LineAsString') AS f ON 1",
    "SELECT 1 IN file('{file}', 'LineAsString')",
    "SELECT * FROM merge('', '.*')",
    "SELECT * FROM loop(file('{file}', 'LineAsString')) LIMIT 1",
    "SELECT * FROM fileCluster('default', '{file}', 'LineAsString')",
    "SELECT * FROM filesystem('/') LIMIT 1",
    "SELECT * FROM url('http://127.0.0.1:{port}/', 'LineAsString')",
    "SELECT * FROM URL('http://127.0.0.1:{port}/', 'LineAsString')",
    "SELECT * FROM s3('http://127.0.0.1:{port}/bucket/x', 'CSV')",
    "SELECT * FROM gcs('http://127.0.0.1:{port}/bucket/x', 'CSV')",
    "SELECT * FROM hdfs('hdfs://127.0.0.1:{port}/x', 'CSV')",
    "SELECT * FROM azureBlobStorage('http://127.0.0.1:{port}/a', 'c', 'x', 'CSV')",
    "SELECT * FROM iceberg('http://127.0.0.1:{port}/bucket/x')",
    "SELECT * FROM deltaLake('http://127.0.0.1:{port}/bucket/x')",
    "SELECT * FROM deltaLakeLocal('/')",
    "SELECT * FROM remote('127.0.0.1:{port}', system.one)",
    "SELECT * FROM remoteSecure('127.0.0.1:{port}', system.one)",
    "SELECT * FROM mysql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "SELECT * FROM postgresql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "SELECT * FROM mongodb('127.0.0.1:{port}', 'd', 'c', 'u', 'p', 'a String')",
    "SELECT * FROM redis('127.0.0.1:{port}', 'k', 'k String')",
    "SELECT * FROM jdbc('jdbc:x://127.0.0.1:{port}', 't')",
    "SELECT * FROM odbc('DSN=x', 'd', 't')",
    "SELECT * FROM sqlite('{file}', 't')",
    "SELECT * FROM executable('cat {file}', 'LineAsString', 'a String')",
    "SELECT * FROM python('os')",
    "SELECT * FROM eval('SELECT file(\\'{file}\\')')",
    "SELECT * FROM viewIfPermitted(SELECT file('{file}') ELSE null('a String'))",
    "SELECT * FROM dictionary('d')",
    "SELECT dictGet('d', 'a', 1)",
    "SELECT AIGenerate('http://127.0.0.1:{port}', 'x')",
    "SELECT aiGenerate('x')",
    "SELECT showCertificate()",
    "SELECT naiveBayesClassifier('{file}', 'x')",
    "SELECT logTrace('x')",
    "SELECT __getScalar('x')",
    "SELECT " + "(" * 900 + "file('{file}')" + ")" * 900,
    "SELECT " + "[" * 300 + "file('{file}')" + "]" * 300,
    "SELECT '" + "x" * 262144 + "', file('{file}')",
]


@pytest.mark.parametrize("sql", REACHING)
def test_nothing_outside_of_the_store_is_reached(server: Server, secret: Path, trap: Trap, sql: str) -> None:
    """Files and connections are out of reach, wherever in a statement they are hidden, and the answer says so."""
    answer = ask(server, sql.replace("{file}", str(secret)).replace("{port}", str(trap.port)))
    assert (answer.status_code, SECRET in answer.text) == (400, False)
    assert answer.json()["error"]
    assert trap.connections == 0


@pytest.mark.parametrize(
    ("sql", "params"),
    [
        ("SELECT arrayMap({f:Identifier}, ['{file}'])", {"f": "file"}),
        ("SELECT arrayMap({f: identifier }, ['{file}'])", {"f": "file"}),
        ("SELECT * FROM {t:Identifier}", {"t": "{file}"}),
        ("SELECT '%(a)s'", {"a": "|| file(concat('{file}')) ||"}),
        ("SELECT '%(a)s'", {"a": "|| file($${file}$$) ||"}),
        ("SELECT 5 %(a)s", {"a": "{file}"}),
        ("SELECT {a:String}, '%(b)s'", {"a": "x", "b": "|| file($${file}$$) ||"}),
        ("SELECT {$a$:String}", {"$a$": "x"}),
    ],
)
def test_values_cannot_become_names_or_text(server: Server, secret: Path, sql: str, params: dict[str, str]) -> None:
    """What is bound comes after the check, so it must not be able to change what the statement does."""
    filled = {name: value.replace("{file}", str(secret)) for name, value in params.items()}
    assert SECRET not in ask(server, sql.replace("{file}", str(secret)), **filled).text


def test_no_table_function_hides_behind_a_harmless_name(server: Server) -> None:
    """IN takes a function for a table function, so none of those may pass for a function that computes."""
    harmless = {"numbers", "numbers_mt", "zeros", "zeros_mt", "primes", "generateseries", "generate_series"}
    names = server.store.query("SELECT lower(name) FROM system.table_functions").rows
    passed = {name for (name,) in names if ask(server, f"EXPLAIN AST SELECT {name}(1)").status_code == 200}
    assert passed - harmless <= {"view", "viewexplain", "format"}


READING = [
    "SELECT name, engine, total_rows FROM system.tables ORDER BY name",
    "SELECT ServiceName, count() AS n, countIf(StatusCode = 'Error') FROM otel_traces GROUP BY ServiceName WITH TOTALS",
    "SELECT quantile(0.9)(Duration) / 1e6 AS p90, topK(3)(SpanName), uniqExactIf(TraceId, 1) FROM otel_traces",
    "SELECT SpanAttributes['gen_ai.tool.name'] AS tool FROM otel_traces WHERE mapContains(SpanAttributes, 'x')",
    "SELECT row_number() OVER (PARTITION BY TraceId ORDER BY Timestamp), lagInFrame(Duration) OVER w "
    "FROM otel_traces WINDOW w AS (ORDER BY Timestamp)",
    "SELECT arrayJoin([1, 2, 3]) AS x, arrayMap(y -> y + 1, [x]), arrayMap(upper, ['a'])",
    "WITH 5 AS k, t AS (SELECT k AS a) SELECT a, a IN (SELECT 5), a BETWEEN 1 AND 9 FROM t",
    "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x WHERE n < 5) SELECT * FROM x",
    "SELECT number FROM numbers(3) UNION ALL SELECT * FROM generateSeries(1, 3)",
    "SELECT * EXCEPT (ResourceAttributes), Events.Name FROM otel_traces ARRAY JOIN Events LIMIT 5",
    "SELECT COLUMNS('^n') APPLY(toString) FROM numbers(2)",
    "SELECT * FROM view(SELECT 1 AS a) AS t ANY LEFT JOIN numbers(3) AS n ON t.a = n.number",
    "SELECT CASE 1 WHEN 1 THEN 'a' END, CASE WHEN 1 THEN 2 END, now() - INTERVAL 1 DAY, EXTRACT(YEAR FROM now())",
    "SELECT toStartOfInterval(Timestamp, INTERVAL 5 MINUTE) AS t, count() FROM otel_traces GROUP BY t "
    "ORDER BY t WITH FILL STEP INTERVAL 5 MINUTE",
    "SELECT number, grouping(number), count() FROM numbers(3) GROUP BY ROLLUP(number)",
    "SELECT count(*) FILTER (WHERE number > 1), COUNT(DISTINCT number), Sum(number) FROM numbers(3)",
    "SELECT version(), hostName(), currentDatabase(), user(), toTypeName(1), formatReadableSize(1), format('{}', 1)",
    "SELECT JSONExtractString('{}', 'file'), 'file' AS file_name, path('http://x/y'), domain('http://x/y')",
    "EXPLAIN SELECT * FROM otel_traces",
    "EXPLAIN indexes = 1 SELECT * FROM otel_traces WHERE TraceId = 'a'",
    "EXPLAIN PIPELINE SELECT count() FROM otel_traces",
    "EXPLAIN AST SELECT 1",
    "EXPLAIN QUERY TREE SELECT 1",
    "SHOW TABLES",
    "SHOW TABLES LIKE 'otel%'",
    "SHOW COLUMNS FROM otel_traces",
    "SHOW CREATE TABLE otel_traces",
    "DESCRIBE otel_traces",
    "desc table default.`otel_traces`",
    "EXISTS otel_traces",
    "CHECK TABLE otel_traces",
]


@pytest.mark.parametrize("sql", READING)
def test_honest_questions_are_answered(server: Server, sql: str) -> None:
    """What people and dashboards ask about the store works as ever."""
    answer = ask(server, sql)
    assert answer.status_code == 200, answer.text
    assert all(len(row) == len(answer.json()["columns"]) for row in answer.json()["rows"])


@pytest.mark.parametrize("name", sorted(path.stem for path in (queries.root() / "report").glob("*.sql")))
def test_our_own_reports_count_as_reading(server: Server, name: str) -> None:
    """The queries that are shipped for reports pass the same check."""
    complaint = ask(server, queries.load(f"report/{name}")).json().get("error", "")
    assert "not allowed" not in complaint
    assert "only reading" not in complaint


def test_values_in_answers(server: Server) -> None:
    """Numbers stay numbers, what JSON lacks is null, the rest is text, and names and strings survive."""
    sql = (
        "SELECT 18446744073709551615 AS n, nan, -inf, toDecimal64(1.5, 2) AS d, map('k', 1) AS m, (1, 'a') AS t, "
        "toDateTime64('2026-01-02 03:04:05.5', 3, 'UTC') AS w, unhex('61ff62') AS b, '\\n\"\\0' AS s, NULL AS z, "
        "toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u, [toDate('2026-01-02')] AS l"
    )
    answer = ask(server, sql).json()
    when, uuid = "2026-01-02 03:04:05.500", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"
    numbers = [18446744073709551615, None, None, "1.5", {"k": 1}, [1, "a"]]
    assert answer["rows"] == [[*numbers, when, "a\ufffdb", '\n"\0', None, uuid, ["2026-01-02"]]]
    assert ask(server, "SELECT 1 AS a WHERE 0").json() == {"columns": ["a"], "rows": []}
