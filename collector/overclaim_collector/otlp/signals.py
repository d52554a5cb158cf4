"""The signals that are kept, each with all that differs between them: paths, messages, table, checks, rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_service

from overclaim_collector.otlp import logs, spans
from overclaim_collector.otlp.items import Checked, Row
from overclaim_collector.otlp.native import Native


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal. Messages are Any: they are made at run time and have no common type.

    item: what one of its items is called, for people. rejected: the field of partial_success that counts them.
    check: takes out of a request, in place, the items that cannot be kept, and mends what can be mended.
    rows: the rows of a checked request, for stores whose own reader cannot take the bytes.
    native: the way of requests that it can take; None where there is none.
    """

    name: str
    item: str
    path: str
    service: str
    request: Any
    response: Any
    rejected: str
    table: str
    columns: tuple[str, ...]
    check: Callable[[Any], Checked]
    rows: Callable[[Any], list[Row]]
    native: Native | None = None


TRACES: Final = Signal(
    name="traces",
    item="span",
    path="/v1/traces",
    service="opentelemetry.proto.collector.trace.v1.TraceService",
    request=trace_service.ExportTraceServiceRequest,
    response=trace_service.ExportTraceServiceResponse,
    rejected="rejected_spans",
    table=spans.TABLE,
    columns=spans.COLUMNS,
    check=spans.check,
    rows=spans.rows,
    native=Native(trace_service.ExportTraceServiceRequest, "otlp_traces", "overclaim_otlp_traces"),
)
LOGS: Final = Signal(
    name="logs",
    item="log record",
    path="/v1/logs",
    service="opentelemetry.proto.collector.logs.v1.LogsService",
    request=ExportLogsServiceRequest,
    response=ExportLogsServiceResponse,
    rejected="rejected_log_records",
    table=logs.TABLE,
    columns=logs.COLUMNS,
    check=logs.check,
    rows=logs.rows,
)
SIGNALS: Final = (TRACES, LOGS)
BY_NAME: Final = {signal.name: signal for signal in SIGNALS}
