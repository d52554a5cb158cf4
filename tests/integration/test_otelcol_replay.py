"""The official Collector in our place: what its ClickHouse exporter does over HTTP, and `detect` beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import clickhouse_connect
import httpx
import pytest
import scripted_agents as agents
from clickhouse_server import clickhouse_server
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otelcol_exporter import Release, by_name, spans
from stores import FINDINGS, VERDICTS

from overclaim.cli import main
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors.opening import open_store

OURS = Release("our own", ())  # create_schema: false, into the tables that overclaim made
Judged = tuple[list[Any], list[Any]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real engine behind HTTP; its host:port."""
    with clickhouse_server(tmp_path_factory.mktemp("clickhouse")) as address:
        yield address


@pytest.fixture(scope="module")
def requests() -> list[bytes]:
    """What some agents send: the first request before the detectors ever came, the second one later."""
    with agents.recorded() as exporter:
        for agent in agents.ALL:
            agent()
        first = agents.as_body(exporter)
        exporter.clear()
        agents.overclaimer()
        later = agents.as_body(exporter)
    return [first, _backwards(later)]


def _backwards(body: bytes) -> bytes:
    """The request with a span below each that ends before it starts, as after a clock was set."""
    request = ExportTraceServiceRequest.FromString(body)
    _, _, parent = list(spans(request))[-1]
    odd = request.resource_spans[-1].scope_spans[-1].spans.add()
    odd.CopyFrom(parent)
    odd.attributes.clear()
    odd.name, odd.span_id, odd.parent_span_id = "checkpoint", bytes(range(8)), parent.span_id
    odd.start_time_unix_nano, odd.end_time_unix_nano = parent.start_time_unix_nano, parent.start_time_unix_nano - 5
    return request.SerializeToString()


@pytest.fixture(scope="module")
def ours(server: str, requests: list[bytes]) -> Judged:
    """What is found where the same spans came through our own receiver."""
    url = f"clickhouse://{server}/ours"
    with Server(ServeConfig(store=url, http_port=0, grpc_port=0, detect=False)) as collector:
        for body in requests:
            answer = httpx.post(
                f"{collector.addresses.http}/v1/traces",
                content=body,
                headers={"Content-Type": "application/x-protobuf"},
                timeout=30,
            )
            assert answer.status_code == 200, answer.text
    assert main(["detect", "--once", "--store", url]) == 0
    return judged(url)


def judged(url: str) -> Judged:
    """The verdicts and findings of a store."""
    store = open_store(url, read_only=True)
    try:
        return store.query(VERDICTS).rows, store.query(FINDINGS).rows
    finally:
        store.close()


# The others are tried without HTTP between, in test_stock_variants.py.
@pytest.mark.slow
@pytest.mark.parametrize("release", [OURS, *by_name(("newest", "json with keys"))], ids=lambda release: release.name)
def test_detect_beside_the_collector_finds_the_same(
    server: str, requests: list[bytes], ours: Judged, release: Release
) -> None:
    """In the tables of each release, from its inserts before and after `detect` first came, one of them sent twice."""
    database = f"stock_{release.name.replace(' ', '_')}"
    host, _, port = server.rpartition(":")
    with clickhouse_connect.get_client(host=host, port=int(port)) as client:
        client.command(f"CREATE DATABASE {database}")
    url = f"clickhouse://{server}/{database}"
    if release is OURS:
        assert main(["detect", "--store", url]) == 0
    with clickhouse_connect.get_client(host=host, port=int(port), database=database) as client:
        release.make_tables(client.command)

        def insert(table: str, columns: Any, rows: Any) -> None:
            client.insert(table, rows, column_names=columns)

        release.push(requests[0], insert)
        assert main(["detect", "--once", "--store", url]) == 0
        release.push(requests[1], insert)
        release.push(requests[0], insert)  # its retry, after an answer that got lost
        assert main(["detect", "--once", "--fail", "--store", url]) == 1
    assert len(ours[1]) == 3
    assert judged(url) == ours
