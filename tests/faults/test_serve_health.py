from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from serving import Served, served

from overclaim._errors import StoreError
from overclaim_collector import pressure
from overclaim_detectors._embedded import EmbeddedStore

PROTOBUF = {"content-type": "application/x-protobuf"}
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SAMPLE = re.compile(r"([a-z_]+)(\{[a-z_]+=\"[^\"]*\"\})? ([0-9.e+-]+|NaN)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a spool that is full after some hundred spans."""
    with served(tmp_path_factory.mktemp("health"), spool_mib=1) as running:
        yield running


def request(count: int, name: str = "s", bad: int = 0) -> bytes:
    """A request with so many good spans of one trace, and bad ones that have no id."""
    now, trace = time.time_ns(), os.urandom(16)
    times = {"start_time_unix_nano": now, "end_time_unix_nano": now}
    good = [Span(trace_id=trace, span_id=os.urandom(8), name=name, **times) for _ in range(count)]
    message = ExportTraceServiceRequest()
    message.resource_spans.add().scope_spans.add(spans=[*good, *(Span(name="bad") for _ in range(bad))])
    return message.SerializeToString()


def post(server: Served, body: bytes) -> httpx.Response:
    """Send it over HTTP."""
    return httpx.post(f"{server.url}/v1/traces", content=body, headers=PROTOBUF, trust_env=False, timeout=20)


def get(server: Served, path: str) -> httpx.Response:
    """Ask for a path."""
    return httpx.get(server.url + path, trust_env=False, timeout=20)


def figures(server: Served) -> dict[str, float]:
    """All samples of /metrics, by name and labels."""
    answer = get(server, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    samples = [SAMPLE.fullmatch(line) for line in lines]
    assert all(samples)
    return {f"{sample[1]}{sample[2] or ''}": float(sample[3]) for sample in samples if sample}


def eventually(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_figures_add_up(server: Served) -> None:
    """Received is stored plus repeated plus refused; inserts, quarantine and the process have figures, too."""
    body = request(30, bad=4)
    before = figures(server)
    assert [post(server, body).status_code for _ in range(2)] == [200, 200]
    assert server.server
    assert server.server.store  # which has all that was acknowledged
    after = figures(server)

    def grown(name: str) -> float:
        return after[name] - before[name]

    items = [grown(f'overclaim_items_{name}_total{{signal="traces"}}') for name in ("stored", "repeated", "refused")]
    assert items == [30, 30, 8]
    assert grown('overclaim_items_received_total{signal="traces"}') == sum(items)
    assert grown('overclaim_quarantined_items_total{kind="invalid"}') == 8
    assert grown("overclaim_insert_seconds_count") >= 1
    assert after['overclaim_insert_seconds_bucket{le="+Inf"}'] == after["overclaim_insert_seconds_count"]
    assert after["process_resident_memory_bytes"] > 50 << 20
    assert after['overclaim_detector_state{state="off"}'] == 1
    assert {'overclaim_items_waiting{signal="logs"}', "overclaim_spool_bytes"} <= set(after)


def test_no_figure_is_named_after_data(server: Served) -> None:
    """Names in spans make no labels: after a thousand kinds of them there are as many samples as before."""
    before = set(figures(server))
    assert post(server, request(5, name='evil"} 1\nfake_total 7')).status_code == 200
    assert post(server, request(0, name="x", bad=3)).status_code == 200
    assert set(figures(server)) == before


def test_a_store_that_takes_nothing_makes_it_unready_only_when_the_spool_is_full(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the spool has room data are taken: ready. Then senders are told to come again, and so is who asks."""

    def broken(*_: Any) -> Any:
        raise StoreError("the disk is gone")

    for name in ("insert", "raw_insert", "query"):
        monkeypatch.setattr(EmbeddedStore, name, broken)
    assert post(server, request(10)).status_code == 200
    assert get(server, "/readyz").json()["status"] == "ready"
    assert figures(server)['overclaim_items_waiting{signal="traces"}'] >= 10
    large = "x" * 1000
    eventually(lambda: post(server, request(300, large)).status_code == 503)
    answer = get(server, "/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "not ready", "error": "the disk is gone"})
    assert get(server, "/healthz").status_code == 200
    monkeypatch.undo()
    eventually(lambda: figures(server)["overclaim_spool_records"] == 0)
    assert get(server, "/readyz").status_code == 200
    assert figures(server)['overclaim_items_waiting{signal="traces"}'] == 0


def test_short_memory_is_a_polite_refusal(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the limit senders get 503 with Retry-After, and UNAVAILABLE with RetryInfo; when it is over they do not."""
    monkeypatch.setattr(pressure, "resident_bytes", lambda: 1 << 40)
    eventually(lambda: post(server, request(1)).status_code == 503)
    answer = post(server, request(1))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    with grpc.insecure_channel(server.grpc) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(EXPORT)(request(1), timeout=10)
        error: Any = caught.value
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "google.rpc.retryinfo-bin" in dict(error.trailing_metadata())
        assert get(server, "/readyz").status_code == 200
        monkeypatch.undo()
        eventually(lambda: post(server, request(1)).status_code == 200)
        assert channel.unary_unary(EXPORT)(request(1), timeout=10) == b""


def test_a_server_that_stops_is_not_ready(server: Served) -> None:
    """Whoever sends requests to several servers must leave this one out from the first moment of its stop."""
    assert server.server
    server.server._stopping.set()  # pyright: ignore[reportPrivateUsage]
    answer = get(server, "/readyz")
    server.server._stopping.clear()  # pyright: ignore[reportPrivateUsage]
    assert (answer.status_code, answer.json()) == (503, {"status": "stopping"})


def test_a_damaged_part_is_told_everywhere(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    """Once in the log, and in /healthz and /metrics as long as it is there."""
    assert server.server
    store, watch = server.server.store, server.server.watch
    store.command("CREATE TABLE hurt (a UInt8) ENGINE = MergeTree ORDER BY a")
    store.insert("hurt", ["a"], [(1,), (2,)])
    store.command("ALTER TABLE hurt DETACH PARTITION ALL")
    watch.look()
    watch.look()
    assert caplog.text.count("the store is damaged") == 1
    assert figures(server)["overclaim_store_parts_put_aside"] == 1
    (told,) = get(server, "/healthz").json()["damaged_parts"]
    assert "of hurt" in told
    store.command("DROP TABLE hurt")
    watch.look()
    assert figures(server)["overclaim_store_parts_put_aside"] == 0
    assert get(server, "/healthz").json()["damaged_parts"] == []
