"""Findings for tests of what goes out, and how their events are read where they arrive."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from endpoints import Endpoint
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from overclaim_detectors.outgoing.finding import Finding
from overclaim_detectors.store import Store

COLUMNS = (
    "FindingId", "Rule", "Severity", "Title", "TraceId", "RunSpanId", "Claim", "ClaimSpanId", "CallSpanIds",
    "EvidenceRule", "EvidenceValue", "EvidenceSpanId", "ServiceName", "Environment", "Agent", "AgentVersion", "Model",
    "Tool", "At", "Open", "Version",
)  # fmt: skip
NOON = 1_767_614_400_000_000_000  # 2026-01-05 12:00:00 UTC


def put_finding(store: Store, number: int, version: int, **other: Any) -> None:
    """Put a finding in as a pass of this number leaves it: that of OC203, on a call of its trace."""
    values = {
        "FindingId": f"finding{number}", "Rule": "OC203", "Severity": "high", "Title": "Something below a tool failed",
        "TraceId": f"{number:032x}", "RunSpanId": "a" * 16, "Claim": -1, "ClaimSpanId": "", "CallSpanIds": ["b" * 16],
        "EvidenceRule": "http.status", "EvidenceValue": "400", "EvidenceSpanId": "c" * 16, "ServiceName": "shop",
        "Environment": "test", "Agent": "clerk", "AgentVersion": "1", "Model": "m-1", "Tool": "refund", "At": NOON,
        "Open": 1, "Version": version, **other,
    }  # fmt: skip
    store.insert("overclaim_findings", COLUMNS, [[values[name] for name in COLUMNS]])


def made_finding(number: int = 1, **other: Any) -> Finding:
    """The same as it goes out."""
    values: dict[str, Any] = {
        "id": f"finding{number}", "rule": "OC203", "severity": "high", "title": "Something below a tool failed",
        "trace_id": f"{number:032x}", "run_span_id": "a" * 16, "claim": -1, "span_id": "b" * 16,
        "evidence_rule": "http.status", "evidence_value": "400", "service": "shop", "environment": "test",
        "agent": "clerk", "agent_version": "1", "model": "m-1", "tool": "refund", "at": NOON, "open": True,
        "version": 7, "mark": 1, "known": False, **other,
    }  # fmt: skip
    return Finding(**values)


@dataclass(frozen=True)
class Event:
    """A log event that came over OTLP: its name, severity, trace, span, attributes, resource and scope."""

    name: str
    severity: int
    trace: str
    span: str
    attributes: dict[str, Any]
    resource: dict[str, Any]
    scope: str

    @property
    def told(self) -> tuple[str, str]:
        """Which finding, and what is new about it."""
        return self.attributes["overclaim.finding.id"], self.attributes["overclaim.finding.state"]


def events(endpoint: Endpoint) -> list[Event]:
    """The events that an endpoint got, in order."""
    bodies = [got.body for got in list(endpoint.got) if got.path == "/v1/logs"]
    return [event for body in bodies for event in _events(gzip.decompress(body))]


def _events(body: bytes) -> Iterable[Event]:
    for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
        for scope in resource.scope_logs:
            for one in scope.log_records:
                yield Event(
                    one.event_name, one.severity_number, one.trace_id.hex(), one.span_id.hex(),
                    plain(one.attributes), plain(resource.resource.attributes), scope.scope.name,
                )  # fmt: skip


def metrics(endpoint: Endpoint) -> dict[str, list[tuple[dict[str, Any], float]]]:
    """The newest figures that an endpoint got: by name, the attributes and value of each point."""
    found: dict[str, list[tuple[dict[str, Any], float]]] = {}
    for got in list(endpoint.got):
        if got.path == "/v1/metrics":
            body = gzip.decompress(got.body) if got.headers.get("content-encoding") == "gzip" else got.body
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                    points = metric.sum.data_points or metric.gauge.data_points
                    found[metric.name] = [(plain(one.attributes), one.as_double or one.as_int) for one in points]
    return found


def plain(attributes: Sequence[Any]) -> dict[str, Any]:
    """Attributes of OTLP as a dictionary."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
