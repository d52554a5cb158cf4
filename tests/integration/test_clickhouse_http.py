"""The SQL endpoint as real clients see it: clickhouse-connect, curl, and what Grafana's plugin sends."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import re
import shutil
import socket
import subprocess
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import clickhouse_connect
import httpx
import lz4.frame
import pytest
from clickhouse_connect import dbapi
from clickhouse_connect.driver.exceptions import DatabaseError, StreamFailureError
from tests.support.migrated import made_store

from overclaim.cli import main
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_collector.web.clickhouse import answering, endpoint
from overclaim_collector.web.clickhouse.frames import Framing, unframed
from overclaim_detectors.opening import open_store
from overclaim_detectors.report import Window, run_report
from overclaim_detectors.store import QueryError

BINARY = ["Native", "RowBinaryWithNamesAndTypes", "Arrow", "ArrowStream", "Parquet", "ORC", "MsgPack", "Avro"]
TEXT = [
    "JSON",
    "JSONCompact",
    "JSONEachRow",
    "TSV",
    "TSVWithNamesAndTypes",
    "CSV",
    "XML",
    "Pretty",
    "Vertical",
    "Values",
]
FAILS_LATE = "SELECT number, throwIf(number = 600000) FROM numbers(900000)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server on free ports with two spans in a store of its own."""
    store = f"chdb://{made_store(tmp_path_factory.mktemp('clickhouse-http'))}"
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False)) as running:
        rows = [{"TraceId": "a" * 32, "SpanName": name, "ServiceName": "shop"} for name in ("pay", "it's\tnew")]
        running.store.raw_insert("otel_traces", "\n".join(map(json.dumps, rows)).encode(), "JSONEachRow")
        yield running


@pytest.fixture(scope="module")
def port(server: Server) -> int:
    """Where it answers on loopback."""
    return int(server.addresses.http.rpartition(":")[2])


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    """A plain HTTP client on it, which asks for no compression."""
    headers = {"accept-encoding": "identity"}
    with httpx.Client(base_url=server.addresses.http, headers=headers, trust_env=False, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def client(port: int) -> Iterator[Any]:
    """clickhouse-connect as people make it."""
    with closing(clickhouse_connect.get_client(host="127.0.0.1", port=port)) as made:
        yield made


def running_questions(server: Server, mark: str) -> int:
    """How many questions with these words in them the engine works on."""
    sql = "SELECT count() FROM system.processes WHERE query LIKE {mark:String} AND query NOT LIKE '%system.processes%'"
    return server.store.query(sql, {"mark": f"%{mark}%"}).rows[0][0]


def wait_until(true: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("compress", [True, False, "lz4", "zstd", "gzip", "deflate"])
def test_clickhouse_connect_reads_with_every_compression(port: int, compress: bool | str) -> None:
    """The official client opens, reads spans, binds values and gets typed rows, however it packs what it gets."""
    with closing(clickhouse_connect.get_client(host="127.0.0.1", port=port, compress=compress)) as made:
        assert sorted(made.query("SELECT SpanName FROM otel_traces").result_rows) == [("it's\tnew",), ("pay",)]
        bound = {"text": "it's\n\t\\", "number": 3, "list": ["a'", "b"], "when": datetime(2026, 1, 2, tzinfo=UTC)}
        asked = "SELECT {text:String}, {number:UInt8}, {list:Array(String)}, toUnixTimestamp({when:DateTime('UTC')})"
        assert made.query(asked, parameters=bound).result_rows == [("it's\n\t\\", 3, ["a'", "b"], 1767312000)]
        assert made.query("SELECT sum(number), max(toString(number)) FROM numbers(300000)").result_rows == [
            (44999850000, "99999")
        ]


def test_clickhouse_connect_offers_all_its_ways_to_read(client: Any) -> None:
    """Commands, raw answers, streams of rows and blocks, a probe of the columns, and values too long for a URL."""
    assert client.command("SELECT count() FROM otel_traces") == 2
    assert client.raw_query("SELECT 1 AS a", fmt="JSONEachRow") == b'{"a":1}\n'
    with client.query_rows_stream("SELECT number FROM numbers(200000)") as rows:
        assert sum(row[0] for row in rows) == 19_999_900_000
    assert client.query("SELECT SpanName, Duration FROM otel_traces LIMIT 0").column_names == ("SpanName", "Duration")
    assert client.query("SELECT length({x:String})", parameters={"x": "ß" * 100_000}).result_rows == [(200_000,)]
    summary = client.query("SELECT * FROM numbers(10)").summary
    assert (summary["read_rows"], summary["result_rows"]) == ("10", "10")
    assert client.ping()


def test_clickhouse_connect_reads_arrow(client: Any) -> None:
    """Tables of Arrow arrive where pyarrow is installed."""
    pytest.importorskip("pyarrow")
    assert client.query_arrow("SELECT number AS n FROM numbers(3)").to_pydict() == {"n": [0, 1, 2]}


def test_clickhouse_connect_reads_asynchronously(port: int) -> None:
    """The asynchronous client of the same library reads too, several questions at a time."""

    async def read() -> list[Any]:
        made = await clickhouse_connect.get_async_client(host="127.0.0.1", port=port)
        try:
            answers = await asyncio.gather(*(made.query(f"SELECT {number}") for number in range(5)))
        finally:
            await made.close()
        return [answer.result_rows[0][0] for answer in answers]

    assert asyncio.run(read()) == [0, 1, 2, 3, 4]


def test_dbapi_reads(port: int) -> None:
    """Python's database interface works, so tools that build on it do."""
    with closing(dbapi.connect(host="127.0.0.1", port=port)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("SELECT SpanName FROM otel_traces WHERE SpanName = %(name)s", {"name": "pay"})
        assert cursor.fetchall() == [("pay",)]


def test_clickhouse_connect_learns_of_errors(client: Any) -> None:
    """What cannot be answered raises the library's error, with ClickHouse's code and words."""
    for sql, code in (("SELECT nope", 47), ("SELECT * FROM nowhere", 60), ("SELEC 1", 62), ("SELECT throwIf(1)", 395)):
        with pytest.raises(DatabaseError, match=f"Code: {code}. DB::Exception") as caught:
            client.query(sql)
        assert caught.value.code == code
    with pytest.raises(DatabaseError, match="nothing can be inserted") as caught:
        client.raw_insert("otel_traces", insert_block=b'{"TraceId":"x"}', fmt="JSONEachRow")
    assert caught.value.code == 164


@pytest.mark.parametrize("compress", [True, False, "gzip"])
def test_an_answer_that_fails_late_is_no_answer(port: int, compress: bool | str) -> None:
    """What fails after much was sent raises the engine's error in the client: a part never passes for the whole."""
    with closing(clickhouse_connect.get_client(host="127.0.0.1", port=port, compress=compress)) as made:
        with pytest.raises(StreamFailureError, match="Code: 395") as caught:
            _ = made.query(FAILS_LATE).result_rows
        assert caught.value.code == 395
        with pytest.raises(StreamFailureError, match="Code: 396"):
            _ = made.query("SELECT number, repeat('x', 20) FROM numbers(2000000)").result_rows


def test_an_answer_that_fails_late_breaks_off(http: httpx.Client) -> None:
    """A plain HTTP client sees the error at the end of what it got, and a connection that broke off."""
    last = deque[bytes](maxlen=2)
    with http.stream("POST", "/", content=f"{FAILS_LATE} FORMAT TSV") as answer:
        tag = answer.headers["x-clickhouse-exception-tag"]
        with pytest.raises(httpx.RemoteProtocolError):
            last.extend(answer.iter_bytes())
    got = b"".join(last)
    assert re.search(rf"\r\n__exception__\r\n{tag}\r\nCode: 395.+\n\d+ {tag}\r\n__exception__\r\n$".encode(), got)


def test_the_same_over_curl(port: int, tmp_path: Path) -> None:
    """The examples of the documentation work with curl: a query in the URL, as the body, packed, and with a value."""
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl")
    url = f"http://127.0.0.1:{port}/"
    packed = tmp_path / "query.gz"
    packed.write_bytes(gzip.compress(b"SELECT 4"))

    def got(*arguments: str) -> str:
        return subprocess.run([curl, "-sS", "--fail-with-body", *arguments], capture_output=True, text=True).stdout

    assert got(f"{url}?query=SELECT%201") == "1\n"
    assert got(url, "--data-binary", "SELECT 2 FORMAT CSV") == "2\n"
    assert got("--compressed", url, "-G", "-d", "param_x=3", "--data-urlencode", "query=SELECT {x:UInt8}") == "3\n"
    assert got(url, "-H", "Content-Encoding: gzip", "--data-binary", f"@{packed}") == "4\n"
    assert got(f"{url}ping") == "Ok.\n"
    assert "Code: 62" in got(url, "-d", "SELEC 1")


def test_what_grafana_asks_is_answered(http: httpx.Client) -> None:
    """The questions of Grafana's data source: its test of the connection, its query builder, and a panel."""
    url = "/?database=default&default_format=JSON&max_execution_time=65&enable_http_compression=1"
    headers = {"accept-encoding": "gzip", "user-agent": "grafana/12 clickhouse-datasource"}

    def data(sql: str) -> list[dict[str, Any]]:
        answer = http.post(url, content=sql, headers=headers)
        assert (answer.status_code, answer.headers["content-encoding"]) == (200, "gzip"), answer.text
        return answer.json()["data"]

    assert data("SELECT 1") == [{"1": 1}]
    assert {"name": "default"} in data("SHOW DATABASES")
    assert {"name": "otel_traces"} in data("SELECT name FROM system.tables WHERE database = 'default'")
    assert {"name": "otel_traces"} in data("SHOW TABLES FROM `default`")
    columns = {row["name"] for row in data("DESC TABLE `default`.`otel_traces`")}
    assert {"TraceId", "Timestamp", "SpanAttributes"} <= columns
    assert data("EXISTS otel_traces") == [{"result": 1}]
    asked = "SELECT table_name FROM information_schema.tables WHERE table_name = 'otel_traces'"
    assert [row["table_name"] for row in data(asked)] == ["otel_traces"]
    assert data("SELECT name, type FROM system.columns WHERE table = 'otel_traces' LIMIT 1")
    panel = (
        "SELECT toStartOfInterval(Timestamp, INTERVAL 60 second) AS time, count() AS spans FROM otel_traces "
        "WHERE Timestamp >= toDateTime(0) AND Timestamp <= toDateTime(4000000000) "
        "GROUP BY time ORDER BY time LIMIT 1000"
    )
    assert [int(row["spans"]) for row in data(panel)] == [2]


class GoBlocks:
    """Reads blocks as clickhouse-go does for its revision of the protocol; columns of a few simple types."""

    INFO = b"\x01\x00\x02\xff\xff\xff\xff\x00"
    SIZES: ClassVar = {"UInt8": 1, "UInt32": 4, "UInt64": 8}

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)
        self.columns: list[tuple[str, str]] = []
        self.rows: list[tuple[object, ...]] = []
        while info := self._data.read(len(self.INFO)):
            assert info == self.INFO
            self._read_block()

    def _read_block(self) -> None:
        count, rows = self._varint(), self._varint()
        self.columns, values = [], []
        for _ in range(count):
            self.columns.append((self._text(), self._text()))
            assert self._data.read(1) == b"\0", "a custom serialization"
            values.append([self._value(self.columns[-1][1]) for _ in range(rows)])
        self.rows += zip(*values, strict=True)

    def _value(self, kind: str) -> object:
        return self._text() if kind == "String" else int.from_bytes(self._data.read(self.SIZES[kind]), "little")

    def _text(self) -> str:
        return self._data.read(self._varint()).decode()

    def _varint(self) -> int:
        number, shift = 0, 0
        while True:
            byte = self._data.read(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number


def as_go(http: httpx.Client, sql: str, **more: object) -> GoBlocks:
    """What clickhouse-go, on which Grafana's plugin stands, gets over HTTP."""
    params = {"default_format": "Native", "client_protocol_version": 54460, "database": "default", **more}
    answer = http.post("/", params=params, content=sql, headers={"accept-encoding": "gzip"})
    assert (answer.status_code, answer.headers["content-encoding"]) == (200, "gzip"), answer.text
    return GoBlocks(answer.content)


def test_clients_in_go_get_blocks_of_their_revision(http: httpx.Client) -> None:
    """Their greeting, answers of many blocks and of none, statements that are no SELECT, and a limit set apart."""
    hello = as_go(http, "SELECT displayName(), version(), revision(), timezone()")
    assert [kind for _, kind in hello.columns] == ["String", "String", "UInt32", "String"]
    assert len(hello.rows) == 1
    many = as_go(http, "SELECT number AS n, toString(number) AS s, 1 AS one FROM numbers(200000) ORDER BY n")
    assert (len(many.rows), many.rows[199_999]) == (200_000, (199_999, "199999", 1))
    none = as_go(http, "SELECT 1 AS a, 'x' AS b WHERE 0")
    assert (none.columns, none.rows) == ([("a", "UInt8"), ("b", "String")], [])
    assert ("default",) in as_go(http, "SHOW DATABASES").rows
    assert "Timestamp" in [row[0] for row in as_go(http, "DESC TABLE otel_traces").rows]
    assert as_go(http, "EXISTS otel_traces").rows == [(1,)]
    assert as_go(http, "SELECT number, 'a' FROM numbers(9)", limit=2, max_result_rows=5).rows == [(0, "a"), (1, "a")]
    assert as_go(http, "SELECT {x:UInt8}, {y:String}", param_x=7, param_y="it's").rows == [(7, "it's")]


def test_columns_of_all_kinds_are_the_same_in_each_revision(http: httpx.Client) -> None:
    """Apart from what stands before a column, it is written as the engine writes it."""
    kinds = ["[1, 2]", "map('k', 'v')", "toLowCardinality('x')", "(1, 'a')", "NULL", "now64(9) - now64(9)", "1.5", "[]"]
    for kind in kinds:
        sql = f"SELECT {kind} AS c FORMAT Native"
        old = http.post("/", content=sql).content
        new = http.post("/?client_protocol_version=54485", content=sql).content
        head = GoBlocks.INFO + old[: old.index(b"\x01c") + 2]
        kind_of = old[len(head) - len(GoBlocks.INFO) :]
        size = 1 + kind_of[0]
        assert new == head + kind_of[:size] + b"\0" + kind_of[size:]


@pytest.mark.parametrize("name", BINARY + TEXT)
def test_every_way_to_name_a_format(http: httpx.Client, name: str) -> None:
    """A format is named in the statement, else by default_format, else in a header, and the answer says which it is."""
    sql = "SELECT number AS n, toString(number) AS s FROM numbers(3)"
    in_statement = http.post("/?default_format=TSVRaw", content=f"{sql} FORMAT {name};")
    by_default = http.post(f"/?default_format={name}", content=sql)
    in_header = http.post("/", content=sql, headers={"x-clickhouse-format": name})
    for answer in (in_statement, by_default, in_header):
        assert (answer.status_code, answer.headers["x-clickhouse-format"]) == (200, name)
        assert answer.content
    if name not in ("JSON", "JSONCompact", "XML", "Avro"):  # those hold times or random marks
        assert in_statement.content == by_default.content == in_header.content
    kind = in_statement.headers["content-type"]
    assert kind.startswith("application/octet-stream" if name in BINARY else ("application/", "text/"))


def test_where_a_statement_may_stand(http: httpx.Client) -> None:
    """In the URL, in the body, half in each, and in a form; comments and end marks do no harm."""
    assert http.get("/", params={"query": "SELECT 1 -- one\n;"}).text == "1\n"
    assert http.post("/", content="/* two */ SELECT 2 ;; ").text == "2\n"
    assert http.post("/", params={"query": "SELECT 3,"}, content="4 FORMAT CSV").text == "3,4\n"
    fields = {"query": (None, "SELECT {a:String}, {b:UInt8}"), "param_a": (None, "ä\\nb"), "param_b": (None, "5")}
    assert http.post("/", files=fields).text == "ä\\nb\t5\n"
    assert http.post("/?param_b=6", files={"query": (None, "SELECT {b:UInt8}")}).text == "6\n"


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("lz4", lz4.frame.compress),
        ("identity", bytes),
    ],
)
def test_packed_questions_are_read(http: httpx.Client, coding: str, pack: Callable[[bytes], bytes]) -> None:
    """A statement may be sent in each of the codings that clients use."""
    answer = http.post("/", content=pack(b"SELECT 'packed'"), headers={"content-encoding": coding})
    assert answer.text == "packed\n"


@pytest.mark.parametrize(
    ("accepted", "parameter", "coding"),
    [
        ("gzip, deflate", "", "gzip"),
        ("deflate", "", "deflate"),
        ("zstd;q=0, gzip", "1", "gzip"),
        ("br", "1", None),
        ("gzip", "0", None),
    ],
)
def test_answers_are_packed_as_the_client_can_read(
    http: httpx.Client, accepted: str, parameter: str, coding: str | None
) -> None:
    """The coding is one that the client names; without one, or where it is switched off, the answer is plain."""
    url = f"/?enable_http_compression={parameter}" if parameter else "/"
    answer = http.post(url, content="SELECT number FROM numbers(300000)", headers={"accept-encoding": accepted})
    assert answer.headers.get("content-encoding") == coding
    whole = "".join(f"{number}\n" for number in range(300_000))
    assert (len(answer.text), hash(answer.text)) == (len(whole), hash(whole))


def test_blocks_of_clickhouses_own_compression(http: httpx.Client) -> None:
    """compress=1 packs answers and errors as clients in Java and Go unpack them; decompress=1 takes such questions."""
    answer = http.post(
        "/?compress=1", content="SELECT number FROM numbers(500000)", headers={"accept-encoding": "gzip"}
    )
    assert "content-encoding" not in answer.headers
    whole = "".join(f"{number}\n" for number in range(500_000)).encode()
    assert (unframed(answer.content, 1 << 30) == whole, len(answer.content) < len(whole)) == (True, True)
    error = http.post("/?compress=1", content="SELECT nope")
    assert (error.status_code, error.headers["x-clickhouse-exception-code"]) == (404, "47")
    assert unframed(error.content, 1 << 20).startswith(b"Code: 47. DB::Exception: ")
    assert http.post("/?decompress=1", content=Framing().compress(b"SELECT 5")).text == "5\n"
    go = http.post("/?compress=1&client_protocol_version=54460&default_format=Native", content="SELECT 6 AS six")
    assert GoBlocks(unframed(go.content, 1 << 20)).rows == [(6,)]


def test_headers_tell_about_the_answer(http: httpx.Client) -> None:
    """The id that was given comes back; summary, format, time zone and server name are there, as clients expect."""
    answer = http.post("/?query_id=mine", content="SELECT * FROM numbers(7)")
    summary = json.loads(answer.headers["x-clickhouse-summary"])
    assert (summary["read_rows"], summary["result_rows"]) == ("7", "7")
    assert answer.headers["x-clickhouse-query-id"] == "mine"
    assert answer.headers["x-clickhouse-server-display-name"] == "overclaim"
    assert answer.headers["x-clickhouse-timezone"]
    assert answer.headers["x-clickhouse-format"] == "TabSeparated"
    assert len(http.post("/", content="SELECT 1").headers["x-clickhouse-query-id"]) == 36


def test_a_browser_sees_words_and_a_probe_a_sign_of_life(http: httpx.Client) -> None:
    """The bare address says what answers here to a person, and Ok. to a program; so do the paths for probes."""
    assert "overclaim" in http.get("/", headers={"accept": "text/html,*/*"}).text
    assert {http.get(path).text for path in ("/", "/ping", "/replicas_status")} == {"Ok.\n"}


@pytest.mark.parametrize(
    ("url", "sql", "status", "code"),
    [
        ("/", "SELEC 1", 400, 62),
        ("/", "", 400, 62),
        ("/", "SELECT 1; SELECT 2", 400, 62),
        ("/", "SELECT nope", 404, 47),
        ("/", "SELECT * FROM nowhere", 404, 60),
        ("/", "SELECT nope(1)", 403, 164),
        ("/?database=nowhere", "SELECT 1", 404, 81),
        ("/?default_format=Nope", "SELECT 1", 404, 73),
        ("/", "SELECT 1 FORMAT Nope", 404, 73),
        ("/?nope=1", "SELECT 1", 404, 115),
        ("/?max_memory_usage_for_user=0", "SELECT 1", 403, 164),
        ("/", "SELECT 1 SETTINGS max_threads = 1", 403, 164),
        ("/", "INSERT INTO otel_traces (TraceId) VALUES ('x')", 403, 164),
        ("/", "INSERT INTO otel_traces FORMAT Native \x01\x02", 403, 164),
        ("/", "CREATE TABLE t (a UInt8) ENGINE = Memory", 403, 164),
        ("/", "SELECT throwIf(1)", 500, 395),
        ("/", "SELECT {missing:UInt8}", 500, 456),
    ],
)
def test_errors_are_those_of_a_server(http: httpx.Client, url: str, sql: str, status: int, code: int) -> None:
    """Each error has ClickHouse's code in a header and in the text, its name, and a status that fits."""
    answer = http.post(url, content=sql)
    assert (answer.status_code, answer.headers["x-clickhouse-exception-code"]) == (status, str(code)), answer.text
    assert re.fullmatch(rf"Code: {code}\. DB::Exception: .+ \([A-Z_]+\) \(version [\d.]+\)\n", answer.text, re.DOTALL)


def test_settings_that_do_no_harm_can_be_chosen(http: httpx.Client) -> None:
    """How values are written is the asker's choice, limits can be lowered and not raised, sessions change nothing."""
    url = "/?default_format=JSONEachRow&output_format_json_quote_64bit_integers=1&session_timezone=Asia/Tokyo"
    answer = http.post(url, content="SELECT toUInt64(5) AS n, toString(toDateTime(0)) AS t")
    assert answer.json() == {"n": "5", "t": "1970-01-01 09:00:00"}
    limits = "SELECT getSetting('max_result_rows'), getSetting('max_execution_time'), getSetting('readonly')"
    url = "/?max_result_rows={}&max_execution_time={}&readonly={}&session_id=s&session_check=1&wait_end_of_query=1"
    assert http.post(url.format(10, 5, 0), content=limits).text == "10\t5\t1\n"
    assert http.post(url.format(0, 100000, 2), content=limits).text == "1000000\t60\t1\n"
    assert http.post("/?max_result_rows=10", content="SELECT * FROM numbers(11)").status_code == 500


def test_a_database_can_be_chosen(http: httpx.Client) -> None:
    """By parameter or header; names are then looked up there."""
    assert (
        http.post("/?database=system", content="SELECT currentDatabase(), count() > 0 FROM one").text == "system\t1\n"
    )
    header = {"x-clickhouse-database": "INFORMATION_SCHEMA"}
    assert http.post("/", content="SELECT currentDatabase()", headers=header).text == "INFORMATION_SCHEMA\n"


def test_an_answer_goes_out_as_it_is_read(server: Server, http: httpx.Client) -> None:
    """The engine waits for a client that reads slowly, holding no more than a piece; the client gets all in the end."""
    sql = "SELECT number, repeat('slow', 10) AS waiting_for_its_reader FROM numbers(900000) FORMAT TSV"
    size = 0
    with http.stream("POST", "/", content=sql) as answer:
        pieces = answer.iter_raw(65536)
        size += len(next(pieces))
        time.sleep(0.5)
        assert running_questions(server, "waiting_for_its_reader") == 1
        size += sum(map(len, pieces))
    assert size == sum(len(f"{number}\t{'slow' * 10}\n") for number in range(900_000))


@pytest.mark.parametrize(
    "sql",
    [
        b"SELECT number AS left_alone FROM numbers(1000000000000)",
        b"SELECT count() AS left_alone FROM numbers(1000000000000)",
    ],
)
def test_a_question_ends_when_its_client_goes(server: Server, port: int, sql: bytes) -> None:
    """Nobody works for a client that has gone away, whether the answer has begun or not."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(sql), sql))
        assert wait_until(lambda: running_questions(server, "left_alone") == 1, 5)
    assert wait_until(lambda: running_questions(server, "left_alone") == 0, 5)


def test_a_client_that_stops_reading_is_left(
    server: Server, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that takes nothing more loses its answer, and its question leaves the engine."""
    monkeypatch.setattr(answering, "_STALL_SECONDS", 0.3)
    with http.stream("POST", "/", content="SELECT number, repeat('y', 50) AS stalled FROM numbers(900000)") as answer:
        pieces = answer.iter_raw(1024)
        next(pieces)
        assert wait_until(lambda: running_questions(server, "stalled") == 0)
        with pytest.raises(httpx.RemoteProtocolError):
            deque(pieces, maxlen=0)


def test_only_so_many_questions_wait(server: Server, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the bound a question is refused at once, with the code that clients know as: come again."""
    monkeypatch.setattr(endpoint, "MAX_WAITING", 1)
    url = f"http://127.0.0.1:{port}/"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(httpx.post, url, content="SELECT sleep(2) AS occupied", trust_env=False)
        assert wait_until(lambda: running_questions(server, "occupied") == 1)
        refused = httpx.post(url, content="SELECT 1", trust_env=False)
        assert (refused.status_code, refused.headers["x-clickhouse-exception-code"]) == (503, "202")
        assert first.result().status_code == 200
    assert httpx.post(url, content="SELECT 1", trust_env=False).status_code == 200


def test_a_huge_answer_takes_little_memory(http: httpx.Client) -> None:
    """Two hundred megabytes go through a server that grows by a fraction of that."""
    status, forget = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        pytest.skip("memory is measured where /proc is")

    def peak_mib() -> float:
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024

    http.post("/", content="SELECT number FROM numbers(300000)")
    forget.write_text("5")
    before = peak_mib()
    sql = "SELECT number AS aaaaaaaaaa FROM numbers(200000) FORMAT JSONEachRow".replace("a" * 10, "a" * 1000)
    with http.stream("POST", "/", content=sql) as answer:
        size = sum(map(len, answer.iter_raw(65536)))
    assert size > 200_000_000
    assert peak_mib() - before < 80


def test_our_own_commands_read_through_it(server: Server, port: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The endpoint is a ClickHouse server to our own code too: queries and reports work, writing does not."""
    url = f"clickhouse://127.0.0.1:{port}/default"
    assert main(["query", "--store", url, "SELECT count() AS spans FROM otel_traces", "--format", "json"]) == 0
    assert json.load(io.StringIO(capsys.readouterr().out)) == [{"spans": 2}]
    with closing(open_store(url, read_only=True)) as store:
        now = datetime.now(UTC)
        assert run_report(store, "claims", Window(now, now, 24, 24, 10, False)).rows == []
        with pytest.raises(QueryError, match="only reading"):
            store.command("DROP TABLE otel_traces")
    assert server.store.query("SELECT count() FROM otel_traces").rows == [(2,)]
