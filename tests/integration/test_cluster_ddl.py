"""The schema on a cluster: its statements, and a whole detection pass on the engine's own one-shard cluster.

One engine stands for all servers here: no second shard, no replicas, no ON CLUSTER. Those are only read as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import scripted_agents as agents
from stores import FINDINGS, VERDICTS, receive

from overclaim._errors import StoreError
from overclaim.cli import main
from overclaim.expectations import chosen
from overclaim_collector.otlp.decoding import decode
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.signals import TRACES
from overclaim_collector.writing.entry import Entry
from overclaim_collector.writing.inserting import Inserter
from overclaim_detectors import batched, sql
from overclaim_detectors import cluster as cluster_module
from overclaim_detectors._clients import Clients, ClientStore, connect
from overclaim_detectors.again import judge_again
from overclaim_detectors.cluster import Cluster, refuse_strangers
from overclaim_detectors.disk import enforce
from overclaim_detectors.drift.job import DriftJob
from overclaim_detectors.migrate import migrate, whole
from overclaim_detectors.opening import open_store
from overclaim_detectors.report import REPORTS, Window, left_out, run_report
from overclaim_detectors.retention import keep
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Params, Store

SHARD = """<shard><internal_replication>true</internal_replication>
<replica><host>127.0.0.1</host><port>9000</port></replica></shard>"""
# Both shards of the second one are this engine, so its tables show every row twice.
SERVERS = f"""<clickhouse><tcp_port>9000</tcp_port><remote_servers>
<one>{SHARD}</one>
<two>{SHARD}{SHARD}</two>
</remote_servers></clickhouse>"""
REPLICATED = Cluster("shop", "agents")
SCHEMA = [statement for name in sql.names("schema") for statement in sql.statements(sql.load(name))]


class ClusterStore(ClientStore):
    """The engine in this process as a cluster: plain tables, and statements for this node alone."""

    def __init__(self, directory: Path, name: str) -> None:
        self.cluster = Cluster(name, replicated=False, on_cluster=False)
        servers = directory / "servers.xml"
        servers.write_text(SERVERS)
        options = {"config-file": str(servers)}

        def make() -> Any:
            path, settings = str(directory / "store"), dict(self.cluster.settings)
            return connect(interface="chdb", path=path, chdb_options=options, tz_mode="aware", settings=settings)

        super().__init__(f"the cluster {name}", Clients(make), Clients(make), read_only=False)


class Unchangeable(ClusterStore):
    """The same for a user who may not make tables."""

    def command(self, sql: str, params: Params | None = None) -> None:
        """Refused."""
        raise AssertionError(f"this user may not run {sql}")


@contextmanager
def opened(store: Store) -> Iterator[Store]:
    """The store, closed afterwards, so that another one can be opened in this process."""
    try:
        yield store
    finally:
        store.close()


@pytest.fixture(scope="module")
def spans() -> list[agents.Row]:
    """Those of some agents."""
    with agents.recording() as rows:
        for agent in agents.ALL:
            agent()
        return rows() + agents.foreign(61)


def findings(store: Store, spans: list[agents.Row]) -> tuple[list[Any], list[Any]]:
    """What a pass with the procedures of a pack finds; no rule may fail."""
    receive(store, spans)
    done = detect_once(store, chosen("payments"))
    assert (done.labelled, done.skipped, done.failed) == (5, [], {})
    return store.query(VERDICTS).rows, store.query(FINDINGS).rows


def received_twice(store: Store, *, native: bool) -> list[Any]:
    """How many spans of a request are there that was inserted twice, by one of the two ways, and how many arrived."""
    decoded = decode(agents.foreign_body(62 + native), Encoding.PROTOBUF, TRACES)
    entry = Entry(bytes(31) + bytes([native]), TRACES, decoded.checked.kept, decoded.block, native)
    inserter = Inserter(store)
    inserter.probe()
    for _ in range(2):
        assert inserter.insert([entry]).stored
    spans = "SELECT count(), (SELECT sum(Spans) FROM overclaim_inbox WHERE TraceId = {trace:String}) FROM otel_traces"
    return store.query(f"{spans} WHERE TraceId = {{trace:String}}", {"trace": f"{62 + native:032x}"}).rows


def reports(store: Store) -> Mapping[str, int]:
    """How many rows each report has; none may be refused."""
    now = datetime.now(UTC)
    window = Window(now - timedelta(days=7), now + timedelta(minutes=1))
    return {kind: len(run_report(store, kind, window).rows) + bool(left_out(store, kind, window)) for kind in REPORTS}


@pytest.mark.slow
def test_a_cluster_finds_the_same_as_one_server(tmp_path: Path, spans: list[agents.Row]) -> None:
    """Distributed tables are written and read by the same queries; a repeated insert counts once."""
    with opened(open_store(f"chdb://{tmp_path / 'single'}")) as store:
        migrate(store)
        expected, of_reports = findings(store, spans), reports(store)
    with opened(ClusterStore(tmp_path, "one")) as store:
        assert migrate(store)
        assert migrate(store) == []
        assert findings(store, spans) == expected
        assert reports(store) == of_reports
        assert received_twice(store, native=True) == [(3, 3)]
        assert received_twice(store, native=False) == [(3, 3)]
        keep(store, 30)
        days = [store.query(sql.load(f"retention/{name}")).rows for name in ("current", "logs_current")]
        assert days == [[(1, 30)], [(1, 30)]]
        with pytest.raises(StoreError, match="for a store on one server"):
            enforce(store, 1)
        with pytest.raises(StoreError, match=r"table of a cluster: write \?cluster="):
            refuse_strangers({"otel_traces": "Distributed"}, None)


@pytest.mark.slow
@pytest.mark.parametrize("large", [batched.LARGE, 0])
def test_each_shard_judges_its_own_traces(
    tmp_path: Path, spans: list[agents.Row], monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    """Verdicts and findings are those of the questions over all shards, for lists of traces and for tables of them."""
    asked, on_shards = list[str](), Cluster.on_shards

    def noted(self: Cluster, statement: str) -> str:
        asked.append(statement)
        return on_shards(self, statement)

    monkeypatch.setattr(batched, "LARGE", large)
    monkeypatch.setattr(Cluster, "on_shards", noted)
    with opened(ClusterStore(tmp_path, "one")) as store:
        migrate(store)
        alone = findings(store, spans)
        assert any("INTO overclaim_verdicts" in statement for statement in asked)
        assert any("overclaim_batch" in statement for statement in asked) == (large == 0)
        monkeypatch.setattr(Cluster, "on_shards", lambda _, statement: statement)
        judge_again(store)
        assert (store.query(VERDICTS).rows, store.query(FINDINGS).rows) == alone
        assert DriftJob(store).once().open == 0


@pytest.mark.slow
def test_no_query_joins_distributed_tables_in_a_way_that_is_refused(tmp_path: Path, spans: list[agents.Row]) -> None:
    """The engine refuses some joins only where there are two shards; here each shows the same rows."""
    with opened(ClusterStore(tmp_path, "two")) as store:
        migrate(store)
        _, found = findings(store, spans)
        assert {(row[0], row[2]) for row in found} == {("OC101", "overclaimer"), ("OC102", "pretender")}
        assert reports(store)["claims"]


def test_who_runs_the_statements_by_hand_has_the_same_store(tmp_path: Path) -> None:
    """Afterwards there is nothing to make, so it works for a user who may not make tables."""
    cluster = Cluster("one", replicated=False, on_cluster=False)
    with opened(ClusterStore(tmp_path, "one")) as store:
        for statement in whole(cluster):
            store.command(statement)
    with opened(Unchangeable(tmp_path, "one")) as store:
        assert migrate(store) == []


def test_the_statements_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """For one server as they are in the files, for a cluster as it needs them; with the note that all are applied."""
    assert main(["schema", "--ddl"]) == 0
    alone = capsys.readouterr().out
    assert main(["schema", "--ddl", "--cluster", "shop", "--database", "agents"]) == 0
    many = capsys.readouterr().out
    assert "ON CLUSTER" not in alone
    assert many.count("ReplicatedReplacingMergeTree(") == alone.count("ENGINE = ReplacingMergeTree")
    for text in (alone, many):
        assert all(text.count(f"'{Path(name).name}'") == 1 for name in sql.names("schema"))
        assert "overclaim_spans" in text
    assert main(["schema", "--ddl", "--cluster", "a'b"]) == 2


def made(statement: str, cluster: Cluster = REPLICATED) -> list[str]:
    """What becomes of a statement, each on one line without the comment before it."""
    found = cluster.statements(statement)
    return [" ".join(re.sub(r"^--.*\n", "", text, flags=re.MULTILINE).split()) for text in found]


@pytest.mark.parametrize("statement", SCHEMA, ids=range(len(SCHEMA)))
def test_every_statement_of_the_schema_has_its_place_on_a_cluster(statement: str) -> None:
    """On all servers; tables replicated under a path of their own, and nothing that they do not know."""
    for text in made(statement):
        assert "ON CLUSTER 'shop'" in text or text.startswith("INSERT INTO")
        assert "non_replicated_deduplication_window" not in text
        assert not re.search(r"ENGINE = (Replacing|Aggregating)?MergeTree", text)
        if local := re.match(r"CREATE TABLE IF NOT EXISTS (\w+)_local", text):
            assert f"MergeTree('/clickhouse/tables/{{shard}}/agents/{local[1]}', '{{replica}}'" in text


TABLE = """-- About.
CREATE TABLE IF NOT EXISTS kept
(
    TraceId String COMMENT 'a trace',
    Version UInt64
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY (toStartOfHour(now()), TraceId)
SETTINGS non_replicated_deduplication_window = 1000, index_granularity = 512"""


def test_a_table_becomes_two() -> None:
    """The local one keeps the engine's own arguments; the other spreads by trace."""
    local, whole_table = made(TABLE)
    assert local == (
        "CREATE TABLE IF NOT EXISTS kept_local ON CLUSTER 'shop' ( TraceId String COMMENT 'a trace', Version UInt64 )"
        " ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/agents/kept', '{replica}', Version)"
        " ORDER BY (toStartOfHour(now()), TraceId) SETTINGS index_granularity = 512"
    )
    assert whole_table == (
        "CREATE TABLE IF NOT EXISTS kept ON CLUSTER 'shop' AS kept_local"
        " ENGINE = Distributed('shop', 'agents', 'kept_local', cityHash64(TraceId))"
    )
    plain = made(TABLE, Cluster("shop", replicated=False, on_cluster=False))
    assert "ENGINE = ReplacingMergeTree(Version)" in plain[0]
    assert "non_replicated_deduplication_window = 1000" in plain[0]
    assert "ON CLUSTER" not in "".join(plain)


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ("SETTINGS non_replicated_deduplication_window = 1000", ""),
        ("SETTINGS a = 1, non_replicated_deduplication_window = 1000", "SETTINGS a = 1"),
        ("SETTINGS a = 1, non_replicated_deduplication_window = 1000, b = 2", "SETTINGS a = 1, b = 2"),
    ],
)
def test_a_setting_for_single_servers_goes(settings: str, left: str) -> None:
    """And the word with it where it was the only one."""
    table = f"CREATE TABLE IF NOT EXISTS kept\n(\n    A UInt8\n)\nENGINE = MergeTree\nORDER BY A\n{settings}"
    assert made(table)[0].endswith(f"ORDER BY A {left}".strip())


def test_rows_without_a_trace_stay_together_by_their_key() -> None:
    """All versions of a row are on one shard, or the newest could not be told."""
    (_, procedures), (_, watermark) = (
        [text for statement in SCHEMA for text in made(statement) if f" {name}" in text[:60]]
        for name in ("overclaim_procedures", "overclaim_watermark")
    )
    assert "cityHash64(Procedure, Part))" in procedures
    assert "cityHash64(Job))" in watermark


def test_views_work_beside_their_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shard fills its own; what comes in through a table that keeps nothing is spread anew."""
    view = "CREATE MATERIALIZED VIEW IF NOT EXISTS a_mv TO b AS\nSELECT X\nFROM a\nGROUP BY X"
    beside = (
        "CREATE MATERIALIZED VIEW IF NOT EXISTS a_mv ON CLUSTER 'shop' TO b_local AS SELECT X FROM a_local GROUP BY X"
    )
    assert made(view) == [beside]
    monkeypatch.setattr(cluster_module, "keeping_nothing", lambda: frozenset({"a"}))
    assert made(view) == [beside.replace("_local", "")]
    assert made("CREATE TABLE IF NOT EXISTS a\n(\n    X UInt8\n)\nENGINE = Null") == [
        "CREATE TABLE IF NOT EXISTS a ON CLUSTER 'shop' ( X UInt8 ) ENGINE = Null"
    ]
    assert made("ALTER TABLE a ADD COLUMN Y UInt8") == ["ALTER TABLE a ON CLUSTER 'shop' ADD COLUMN Y UInt8"]


def test_a_view_that_stays_is_beside_the_rows_too() -> None:
    """So that what each shard is asked for itself can read it."""
    assert made("CREATE VIEW IF NOT EXISTS v\nAS\nSELECT X\nFROM a FINAL") == [
        "CREATE VIEW IF NOT EXISTS v_local ON CLUSTER 'shop' AS SELECT X FROM a_local FINAL",
        "CREATE VIEW IF NOT EXISTS v ON CLUSTER 'shop' AS SELECT X FROM a FINAL",
    ]


def test_each_shard_can_be_asked_for_itself() -> None:
    """All tables are those that lie there, those of the insert are not; what is no question is refused."""
    asked = "-- About.\nINSERT INTO overclaim_a (X)\nWITH b AS (SELECT X FROM overclaim_a FINAL)\nSELECT X FROM b"
    assert REPLICATED.on_shards(asked) == (
        "-- About.\nINSERT INTO overclaim_a (X)\nSELECT * FROM cluster('shop', view(\n"
        "WITH b AS (SELECT X FROM agents.overclaim_a_local FINAL)\nSELECT X FROM b\n))"
    )
    with pytest.raises(StoreError, match="cannot be one of each shard"):
        REPLICATED.on_shards("TRUNCATE TABLE overclaim_a")


@pytest.mark.parametrize(
    ("statement", "becomes"),
    [
        (
            "ALTER TABLE t ADD COLUMN IF NOT EXISTS A UInt8",
            [
                "ALTER TABLE t_local ON CLUSTER 'shop' ADD COLUMN IF NOT EXISTS A UInt8",
                "ALTER TABLE t ON CLUSTER 'shop' ADD COLUMN IF NOT EXISTS A UInt8",
            ],
        ),
        ("ALTER TABLE t MODIFY TTL A", ["ALTER TABLE t_local ON CLUSTER 'shop' MODIFY TTL A"]),
        ("ALTER TABLE t MODIFY SETTING non_replicated_deduplication_window = 1000", []),
        ("CREATE OR REPLACE VIEW v\nAS\nSELECT 1", ["CREATE OR REPLACE VIEW v ON CLUSTER 'shop' AS SELECT 1"]),
        ("CREATE DATABASE IF NOT EXISTS d", ["CREATE DATABASE IF NOT EXISTS d ON CLUSTER 'shop'"]),
        ("DROP VIEW IF EXISTS v", ["DROP VIEW IF EXISTS v ON CLUSTER 'shop'"]),
        (
            "ALTER TABLE t ADD INDEX IF NOT EXISTS i A TYPE minmax",
            ["ALTER TABLE t_local ON CLUSTER 'shop' ADD INDEX IF NOT EXISTS i A TYPE minmax"],
        ),
    ],
)
def test_what_is_changed_changes_on_all_servers(statement: str, becomes: list[str]) -> None:
    """Columns in both tables, the rest where the rows are."""
    assert made(statement) == becomes


@pytest.mark.parametrize("statement", ["DROP TABLE t", "CREATE TABLE IF NOT EXISTS t AS other", "OPTIMIZE TABLE t"])
def test_a_statement_without_a_counterpart_is_refused(statement: str) -> None:
    """Rather than run on one server only."""
    with pytest.raises(StoreError, match="cluster"):
        made(statement)


def test_a_table_of_one_server_is_not_taken_for_the_cluster_s() -> None:
    """Or all servers but one would have no spans."""
    with pytest.raises(StoreError, match="otel_traces is a table of one server"):
        refuse_strangers({"otel_traces": "MergeTree"}, REPLICATED)
