"""The SQL endpoint lets nobody write, reach outside of the store, or in from a web page, whatever way is taken."""

from __future__ import annotations

import gzip
import re
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import clickhouse_connect
import httpx
import lz4.frame
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError
from hostile_sql import REACHING, REFUSED, SECRET, Trap
from pydantic import SecretStr
from tests.support.migrated import made_store

from overclaim_collector.config import ServeConfig
from overclaim_collector.refusal import Refusal
from overclaim_collector.server import Server
from overclaim_collector.web.clickhouse import coding
from overclaim_collector.web.clickhouse.endpoint import MAX_QUESTION

TOKEN, SENDING = "the-owner-may-read-0123456789", "a-sender-may-not-0123456789"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "lz4": lz4.frame.compress,
    "zstd": lambda data: (packer := coding.packer("zstd")).compress(data) + packer.flush(),
}
# Here a clause may name the format, and a huge answer breaks off, which other tests look at.
NOT_HERE = ("SELECT 1 FORMAT JSON", "EXPLAIN SELECT 1 FORMAT TSV", "SELECT * FROM numbers(2000000)")
SETTLED = re.compile(r"Code: (\d+)\. DB::Exception: .+", re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server on free ports that asks for tokens."""
    store = f"chdb://{made_store(tmp_path_factory.mktemp('clickhouse-security'))}"
    tokens = {"token": SecretStr(TOKEN), "ingest_token": SecretStr(SENDING)}
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False, **tokens)) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    """A plain client on it, which knows the token."""
    headers = {"x-clickhouse-key": TOKEN}
    with httpx.Client(base_url=server.addresses.http, headers=headers, trust_env=False, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    """A listener that nothing may connect to."""
    listening = Trap()
    yield listening
    listening.close()


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that the server may read and nobody may read through it."""
    file = tmp_path_factory.mktemp("outside") / "secret.csv"
    file.write_text(f"{SECRET}\n")
    return file


def all_ways(http: httpx.Client, sql: str) -> list[httpx.Response]:
    """The answers to a statement in the URL (where it has room), as body, as form, and packed in one of the ways."""
    data = sql.encode()
    answers = [http.get("/", params={"query": sql})] if len(data) < 8000 else []
    answers += [http.post("/", content=data), http.post("/", files={"query": (None, sql)})]
    name = list(PACKED)[len(sql) % len(PACKED)]
    return [*answers, http.post("/", content=PACKED[name](data), headers={"content-encoding": name})]


@pytest.mark.parametrize("sql", [sql for sql in REFUSED if sql not in NOT_HERE])
def test_everything_but_reading_the_store_is_refused(
    server: Server, http: httpx.Client, tmp_path: Path, sql: str
) -> None:
    """Writing, files, network, settings, several statements and huge answers end in an error, and change nothing."""
    target = tmp_path / "out"
    for answer in all_ways(http, sql.replace("{file}", str(target))):
        if sql == "" and answer.request.method == "GET":
            continue  # a sign of life
        assert answer.status_code >= 400
        assert SETTLED.fullmatch(answer.text)
        assert "root:" not in answer.text
    assert not target.exists()
    assert server.store.query("SELECT count() FROM otel_traces").rows == [(0,)]


@pytest.mark.parametrize("sql", REACHING)
def test_nothing_outside_of_the_store_is_reached(http: httpx.Client, secret: Path, trap: Trap, sql: str) -> None:
    """Files and connections are out of reach, wherever in a statement they are hidden, however that is sent."""
    for answer in all_ways(http, sql.replace("{file}", str(secret)).replace("{port}", str(trap.port))):
        assert answer.status_code >= 400
        assert SETTLED.fullmatch(answer.text)
        assert SECRET not in answer.text
    assert trap.connections == 0


def test_hostile_text_in_values_stays_text(http: httpx.Client, secret: Path) -> None:
    """Every hostile statement comes back as it was when it is bound as a value, in the URL and in a form."""
    asked = "SELECT {x:String} FORMAT RawBLOB"
    for sql in (*REFUSED, *REACHING):
        filled = sql.replace("{file}", str(secret))
        escaped = filled.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
        if sql in REFUSED:
            answer = http.get("/", params={"query": asked, "param_x": escaped})
        else:
            answer = http.post("/", files={"query": (None, asked), "param_x": (None, escaped)})
        assert answer.text == filled


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT arrayMap({x:Identifier}, ['{file}'])", "file"),
        ("SELECT * FROM {x:Identifier}", "{file}"),
        ("SELECT * FROM {x: Identifier }", "{file}"),
        ("SELECT 1 FORMAT {x:Identifier}", "CSV"),
        ("SELECT 1 INTO OUTFILE {x:String}", "{file}"),
        ("SELECT 1 SETTINGS readonly = {x:UInt8}", "0"),
    ],
)
def test_values_cannot_become_names(http: httpx.Client, secret: Path, sql: str, value: str) -> None:
    """What is bound comes after the check, so it stands for a value and nothing else."""
    params = {"query": sql.replace("{file}", str(secret)), "param_x": value.replace("{file}", str(secret))}
    answer = http.get("/", params=params)
    assert (answer.status_code >= 400, SECRET in answer.text) == (True, False)
    assert secret.read_text() == f"{SECRET}\n"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FORMAT CSV INTO OUTFILE '{file}'",
        "SELECT 1 INTO OUTFILE '{file}' TRUNCATE FORMAT CSV",
        "SELECT 1 INTO OUTFILE '{file}' APPEND",
        "SELECT 1 INTO/**/OUTFILE '{file}' AND STDOUT",
        "SELECT 1 -- x\nINTO OUTFILE '{file}'",
        "EXPLAIN SELECT 1 INTO OUTFILE '{file}'",
        "EXPLAIN AST SELECT 1 INTO OUTFILE '{file}'",
        "SHOW TABLES INTO OUTFILE '{file}'",
        "DESCRIBE otel_traces INTO OUTFILE '{file}' FORMAT CSV",
        "EXISTS otel_traces INTO OUTFILE '{file}'",
        "SELECT 1 UNION ALL SELECT 2 INTO OUTFILE '{file}'",
        "(SELECT 1 INTO OUTFILE '{file}')",
        "SELECT * FROM (SELECT 1 INTO OUTFILE '{file}')",
        "WITH x AS (SELECT 1 INTO OUTFILE '{file}') SELECT * FROM x",
        "SELECT 1 FORMAT CSV SETTINGS output_format_schema = '{file}'",
        "SELECT 1 SETTINGS output_format_schema = '{file}' FORMAT CapnProto",
        "SELECT 1 FORMAT CSV FORMAT TSV",
        "SELECT 1 FORMAT CSV; SELECT 2",
        "SELECT 1 FORMAT CSV\nINSERT INTO otel_traces (TraceId) VALUES ('x')",
        "SELECT 1 FORMAT Template SETTINGS format_template_row = '{file}'",
        "SELECT 1 FORMAT AvroConfluent",
        "SELECT 1 FORMAT MySQLWire",
        "SELECT 1 FORMAT `CSV INTO OUTFILE '{file}'`",
        "/* SELECT */ INSERT INTO otel_traces (TraceId) VALUES ('x')",
        '-- SELECT\nINSERT INTO otel_traces FORMAT JSONEachRow {{"TraceId": "x"}}',
        "#!SELECT\ninsert into otel_traces (TraceId) select 'x'",
        "EXPLAIN INSERT INTO otel_traces (TraceId) SELECT 'x'",
        "WITH 1 AS x INSERT INTO otel_traces (TraceId) SELECT 'x'",
        "BEGIN TRANSACTION",
        "EXECUTE AS default SELECT 1",
        "GRANT ALL ON *.* TO default",
        "CREATE FUNCTION f AS x -> x",
        "WATCH otel_traces",
    ],
)
def test_no_file_and_no_row_is_written(server: Server, http: httpx.Client, tmp_path: Path, sql: str) -> None:
    """The clauses that say where an answer goes are refused wherever they stand, and so is what hides behind others."""
    target = tmp_path / "out"
    for answer in all_ways(http, sql.replace("{file}", str(target))):
        assert answer.status_code >= 400, answer.text
        assert SETTLED.fullmatch(answer.text)
    assert list(tmp_path.iterdir()) == []
    assert server.store.query("SELECT count() FROM otel_traces").rows == [(0,)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("output_format_schema", "{file}"),
        ("format_schema", "{file}"),
        ("format_template_row", "{file}"),
        ("additional_result_filter", "file('{file}')"),
        ("additional_table_filters", "{{'otel_traces': '1'}}"),
        ("session_timezone", "UTC', readonly = '0"),
        ("max_threads", "1, readonly = 0"),
        ("max_threads", "1' --"),
        ("max_execution_time", "60', readonly='0"),
        ("allow_introspection_functions", "1"),
        ("allow_ddl", "1"),
        ("result_overflow_mode", "break"),
        ("max_memory_usage_for_user", "0"),
        ("async_insert", "1"),
        ("http_max_uri_size", "1"),
        ("readonly = 0, max_threads", "1"),
        ("`readonly`", "0"),
        ("custom_x", "1"),
        ("SQL_x", "1"),
    ],
)
def test_settings_open_nothing(http: httpx.Client, tmp_path: Path, name: str, value: str) -> None:
    """Settings that reach outside, lift limits or carry SQL are refused, and the handle stays read-only."""
    target = str(tmp_path / "out")
    answer = http.post("/", params={name: value.replace("{file}", target)}, content="SELECT getSetting('readonly')")
    assert answer.status_code in (403, 404) or answer.text == "1\n", answer.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["nowhere", "default`; DROP TABLE otel_traces", "`", "../etc", "DEFAULT", "x" * 5000])
def test_other_databases_are_unknown(http: httpx.Client, name: str) -> None:
    """The name of a database is one of those that are there, to the letter."""
    for answer in (
        http.post("/", params={"database": name}, content="SELECT 1"),
        http.post("/", headers={"x-clickhouse-database": name}, content="SELECT 1"),
    ):
        assert (answer.status_code, answer.headers["x-clickhouse-exception-code"]) == (404, "81")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        {"host": "evil.example"},
        {"host": "evil.example:4318", "origin": "http://evil.example:4318"},
        {"host": "127.0.0.1.evil.example"},
    ],
)
def test_web_pages_get_nothing(http: httpx.Client, headers: dict[str, str]) -> None:
    """Pages of other sites are refused, by GET and POST, also when their name was made to point here."""
    for answer in (
        http.get("/", params={"query": "SELECT 'told'"}, headers=headers),
        http.post("/", content="SELECT 'told'", headers=headers),
    ):
        assert (answer.status_code, answer.headers["x-clickhouse-exception-code"]) == (403, "497")
        assert "told" not in answer.text
        assert "access-control-allow-origin" not in answer.headers


def test_no_browser_runs_what_an_answer_holds(http: httpx.Client) -> None:
    """Whatever agents wrote into the store, an answer is no page, no script, and opens nothing to other sites."""
    url = "/?add_http_cors_header=1"
    for sql in ("SELECT '<script>alert(1)</script>' FORMAT Raw", "SELECT '<svg onload=x>' FORMAT XML", "SELECT 1"):
        answer = http.post(url, content=sql)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert not re.search("html|javascript|svg", answer.headers["content-type"])
        assert "access-control-allow-origin" not in answer.headers
    preflight = http.options("/", headers={"origin": "http://localhost:3000", "access-control-request-method": "POST"})
    assert preflight.status_code == 405


def test_headers_cannot_be_split(http: httpx.Client) -> None:
    """An id with line breaks, or of another script, is replaced."""
    for given in ("a\r\nx-injected: 1", "ä", "x" * 1000):
        answer = http.post("/", params={"query_id": given}, content="SELECT 1")
        assert (answer.text, "x-injected" in answer.headers) == ("1\n", False)
        assert re.fullmatch(r"[0-9a-f-]{36}", answer.headers["x-clickhouse-query-id"])


@pytest.mark.parametrize("name", PACKED)
def test_bombs_are_defused(http: httpx.Client, name: str) -> None:
    """A body that would fill the memory when unpacked, or is damaged, is refused with little work."""
    headers = {"content-encoding": name}
    bomb = PACKED[name](b" " * (MAX_QUESTION * 8))
    assert http.post("/", content=bomb, headers=headers).status_code == 413
    whole = PACKED[name](b"SELECT 1")
    for damaged in (whole[: len(whole) // 2], whole[:4], b"SELECT 1"):
        answer = http.post("/", content=damaged, headers=headers)
        assert (answer.status_code, answer.headers["x-clickhouse-exception-code"]) == (400, "36")
    assert http.post("/", content=b"SELECT 1" + b" " * MAX_QUESTION).status_code == 413


@pytest.mark.parametrize("name", PACKED)
def test_unpacking_a_bomb_takes_little_memory(name: str) -> None:
    """No more of a body is unpacked than there may be."""
    limit = 1 << 20
    bomb = PACKED[name](bytes(64 * limit))
    tracemalloc.start()
    try:
        with pytest.raises(Refusal, match="larger"):
            coding.unpacked(bomb, name, limit)
        assert tracemalloc.get_traced_memory()[1] < 8 * limit
    finally:
        tracemalloc.stop()


PART = b'--x\r\nContent-Disposition: form-data; name="query"\r\n\r\nSELECT 1\r\n'


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"", "multipart/form-data; boundary=x", "36"),
        (b"--x\r\n", "multipart/form-data; boundary=x", "36"),
        (PART, "multipart/form-data; boundary=x", "36"),
        (PART + b"--x", "multipart/form-data; boundary=x", "36"),
        (PART + b"--x--", "multipart/form-data", "36"),
        (PART + b"--x--", "multipart/form-data; boundary=y", "36"),
        (b"--x\r\nContent-Disposition: form-data\r\n\r\nSELECT 1\r\n--x--", "multipart/form-data; boundary=x", "36"),
        (PART * 2000 + b"--x--", "multipart/form-data; boundary=x", "36"),
        (b"--x\r\n\r\n" * (MAX_QUESTION // 8), "multipart/form-data; boundary=x", "36"),
        (b"--x\r\n" + b" a=b;\r\n" * (MAX_QUESTION // 8), "multipart/form-data; boundary=x", "36"),
        (b"--x\r\nContent-Disposition: " + b"; name" * (MAX_QUESTION // 7), "multipart/form-data; boundary=x", "36"),
        (PART, "multipart/form-data;" + " boundary" * 6000, "36"),
        (b"SELECT '\xff\xfe'", "text/plain", "62"),
        (b"/**/" * 1000 + b"SELEC 1", "text/plain", "62"),
    ],
)
def test_damaged_forms_and_texts_are_refused(http: httpx.Client, body: bytes, kind: str, code: str) -> None:
    """Forms without an end or with very many parts, and bytes that are no text, end in an error before long."""
    answer = http.post("/", content=body, headers={"content-type": kind}, timeout=20)
    assert (answer.status_code, answer.headers["x-clickhouse-exception-code"]) == (400, code), answer.text[:500]


def test_tables_sent_along_are_not_taken(http: httpx.Client) -> None:
    """What the protocol calls external data is refused as what it is."""
    table = http.post("/", data={"query": "SELECT * FROM t"}, files={"t": ("t.csv", b"1")})
    assert (table.status_code, table.headers["x-clickhouse-exception-code"]) == (501, "48")


def test_nothing_of_one_answer_reaches_the_next_question(http: httpx.Client) -> None:
    """Neither rows of an answer that broke off, nor settings and databases, are left for whoever asks next."""
    for _ in range(3):
        with pytest.raises(httpx.RemoteProtocolError):
            http.post("/", content="SELECT number, 'secret' FROM numbers(2000000)")
        http.post("/?database=system&max_result_rows=5&session_id=s", content="SELECT 1")
        asked = "SELECT 7, currentDatabase(), getSetting('max_result_rows')"
        assert http.post("/?session_id=s", content=asked).text == "7\tdefault\t1000000\n"


def test_a_token_is_asked_for(server: Server) -> None:
    """Only its bearer reads: as a password, as ClickHouse's own header, or as a bearer token."""
    with httpx.Client(base_url=server.addresses.http, trust_env=False) as http:
        for headers in ({}, {"x-clickhouse-key": "wrong"}, {"authorization": "Bearer wrong"}):
            answer = http.post("/", content="SELECT 'told'", headers=headers)
            assert (answer.status_code, answer.headers["x-clickhouse-exception-code"]) == (401, "516")
            assert SETTLED.fullmatch(answer.text)
        sender = http.post("/", content="SELECT 1", headers={"x-clickhouse-key": SENDING})
        assert (sender.status_code, sender.headers["x-clickhouse-exception-code"]) == (403, "497")
        for headers in ({"x-clickhouse-key": TOKEN, "x-clickhouse-user": "me"}, {"authorization": f"Bearer {TOKEN}"}):
            assert http.post("/", content="SELECT 1", headers=headers).text == "1\n"
        assert http.post("/", content="SELECT 1", auth=("default", TOKEN)).text == "1\n"
        assert http.get("/ping").text == "Ok.\n"


def test_clickhouse_connect_shows_the_token(server: Server) -> None:
    """The official client is let in with the token as its password or access token, and told so without."""
    port = int(server.addresses.http.rpartition(":")[2])
    for given in ({"password": TOKEN}, {"access_token": TOKEN}):
        with closing(clickhouse_connect.get_client(host="127.0.0.1", port=port, **given)) as client:
            assert client.command("SELECT 1") == 1
    with pytest.raises(DatabaseError, match="516"):
        clickhouse_connect.get_client(host="127.0.0.1", port=port, password="wrong")
