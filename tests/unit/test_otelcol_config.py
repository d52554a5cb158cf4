"""collector/otelcol.yaml as text: the Collector itself is not run here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from overclaim_collector.otlp.signals import SIGNALS

FILE = Path(__file__).resolve().parents[2] / "collector/otelcol.yaml"
QUEUE = {"enabled", "num_consumers", "queue_size", "block_on_overflow", "storage", "batch"}
RETRY = {"enabled", "initial_interval", "max_interval", "max_elapsed_time"}
# The keys of each component that its documentation names.
KEYS = {
    "otlp": {"protocols"},
    "memory_limiter": {"check_interval", "limit_mib", "spike_limit_mib"},
    "clickhouse": {
        "endpoint", "database", "username", "password", "ttl", "create_schema", "json", "traces_table_name",
        "logs_table_name", "compress", "async_insert", "cluster_name", "table_engine", "timeout", "tls",
        "sending_queue", "retry_on_failure",
    },
    "otlphttp": {"endpoint", "headers", "compression", "sending_queue", "retry_on_failure"},
    "health_check": {"endpoint"},
    "file_storage": {"directory", "create_directory", "fsync"},
}  # fmt: skip
KINDS = ("receivers", "processors", "exporters", "extensions")


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    """The file."""
    return yaml.safe_load(FILE.read_text("utf-8"))


def test_each_component_is_known_and_used(config: dict[str, Any]) -> None:
    """Nothing that a pipeline names is missing, and nothing stands there for nothing."""
    pipelines = config["service"]["pipelines"].values()
    for kind in KINDS:
        used = config["service"]["extensions"] if kind == "extensions" else [x for one in pipelines for x in one[kind]]
        assert set(used) == set(config[kind])
        for name, settings in config[kind].items():
            assert set(settings) <= KEYS[name.partition("/")[0]]
            assert set(settings.get("sending_queue", ())) <= QUEUE
            assert set(settings.get("retry_on_failure", ())) <= RETRY


def test_each_signal_has_its_way(config: dict[str, Any]) -> None:
    """Spans and log records go to ClickHouse and to the existing stack, metrics only there; memory is bounded first."""
    pipelines = config["service"]["pipelines"]
    assert {name: one["exporters"] for name, one in pipelines.items()} == {
        "traces": ["clickhouse", "otlphttp/existing"],
        "logs": ["clickhouse", "otlphttp/existing"],
        "metrics": ["otlphttp/existing"],
    }
    assert all(one["processors"][0] == "memory_limiter" for one in pipelines.values())
    assert all(one["receivers"] == ["otlp"] for one in pipelines.values())


def test_clickhouse_gets_few_large_inserts_and_loses_none(config: dict[str, Any]) -> None:
    """At least 5000 rows an insert, as the exporter's documentation asks; what waits is on disk, never dropped."""
    exporter = config["exporters"]["clickhouse"]
    queue = exporter["sending_queue"]
    assert queue["batch"]["min_size"] >= 5000
    assert queue["storage"] in config["extensions"]
    assert queue["block_on_overflow"] is True
    assert exporter["retry_on_failure"]["max_elapsed_time"] == "0s"
    assert exporter["async_insert"] is False


def test_it_writes_the_tables_that_overclaim_reads(config: dict[str, Any]) -> None:
    """By the same names; overclaim makes them."""
    exporter = config["exporters"]["clickhouse"]
    named = {exporter["traces_table_name"], exporter["logs_table_name"]}
    assert named == {signal.table for signal in SIGNALS}
    assert exporter["create_schema"] is False


def test_secrets_come_from_the_environment_and_ports_stay_on_loopback() -> None:
    """Each value that the file does not hold is named at its top, or has a default."""
    text = FILE.read_text("utf-8")
    asked = set(re.findall(r"\$\{env:(\w+)\}", text))
    assert asked == {"CLICKHOUSE_PASSWORD", "OTLP_ENDPOINT", "OTLP_AUTHORIZATION"}
    assert asked <= set(re.findall(r"^#   (\w+) ", text, re.MULTILINE))
    assert set(re.findall(r"LISTEN:-([\d.]+):", text)) == {"127.0.0.1"}
