from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hostile_sql import REACHING, REFUSED, SECRET, Trap
from tests.support.migrated import made_store

from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors import sql as queries


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
    store = f"chdb://{made_store(tmp_path_factory.mktemp('read-only'))}"
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False)) as running:
        yield running


def ask(server: Server, sql: str, **params: object) -> httpx.Response:
    """Send SQL to the query endpoint."""
    body = {"sql": sql, "params": params}
    return httpx.post(f"{server.addresses.http}/api/query", json=body, trust_env=False, timeout=60)


@pytest.mark.parametrize("sql", REFUSED)
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
