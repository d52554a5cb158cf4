"""How the server does: what came in and what was lost, the detectors, the store; what could not be judged and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from overclaim._version import __version__
from overclaim_collector.otlp.signals import BY_NAME
from overclaim_collector.pages.page import Asked, Page, Sources
from overclaim_detectors.report import Window, run_report

ITEMS: Final = tuple(f"{signal.item}s".replace(" ", "_") for signal in BY_NAME.values())
_DAYS: Final = 7
ENDPOINTS: Final = (
    ("POST /v1/traces", "spans over OTLP/HTTP (protobuf or JSON); agents: OTEL_EXPORTER_OTLP_ENDPOINT = this address"),
    ("POST /v1/logs", "log records, likewise"),
    (
        "POST /api/query",
        'one read-only statement: {"sql": "SELECT ...", "params": {"name": "value"}} as application/json',
    ),
    (
        "GET /?query=SQL",
        "the same as a ClickHouse server answers it, for clickhouse-connect, Grafana and curl; /ping too",
    ),
    ("POST /api/drifts", "accept, close, rebase or reopen a drift, with the token of this server"),
    ("GET /api/owner", "this process, its store, how its detectors do"),
    ("GET /metrics", "for Prometheus"),
    ("GET /healthz", "whether the process lives, and what was counted since its start"),
    ("GET /readyz", "whether data are taken"),
)


def read(sources: Sources, _: Asked) -> Page:
    """The page."""
    details = sources.details()
    now = sources.clock()
    window = Window(now - timedelta(days=_DAYS), now, rows=100)
    values = {
        "items": {name: details[name] for name in ITEMS if name in details},
        "detector": details["detector"],
        "damaged": details["damaged_parts"],
        "coverage": run_report(sources.store, "coverage", window).dicts(),
        "days": _DAYS,
        "endpoints": ENDPOINTS,
        "version": __version__,
    }
    return Page("status.html", "Status", values)
