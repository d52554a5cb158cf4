"""Good requests to begin from: the conformance fixtures, and what the stock exporters send."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any, cast

from google.protobuf.json_format import MessageToDict
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, Status, StatusCode
from tests.conformance.cases import CASES, JSON, PROTOBUF

from overclaim_collector.otlp.signals import LOGS, TRACES, Signal

_VALUES: dict[str, Any] = {
    "text": "caf\u00e9 \U0001f642",
    "flag": True,
    "number": -(2**63),
    "share": 1 / 3,
    "texts": ["a", ""],
    "numbers": [1, 2**53 + 1],
    "gen_ai.tool.name": "search",
    "http.response.status_code": 400,
}
_IDS = ("traceId", "spanId", "parentSpanId")


@dataclass(frozen=True)
class Seed:
    """A request: which signal's, its media type, and its plain body."""

    signal: Signal
    media_type: str
    body: bytes


def seeds() -> list[Seed]:
    """All of them; each signal in both encodings."""
    fixtures = [Seed(TRACES, case.media_type, case.body) for case in CASES if not case.packed]
    exported = [*_both(TRACES, _traces()), *_both(LOGS, _logs())]
    return [*fixtures, *exported * 8]


def _both(signal: Signal, message: Any) -> list[Seed]:
    text = json.dumps(_with_hex_ids(MessageToDict(message, use_integers_for_enums=True)))
    return [Seed(signal, PROTOBUF, message.SerializeToString()), Seed(signal, JSON, text.encode())]


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    pairs = cast(dict[str, Any], value).items()
    return {key: base64.b64decode(item).hex() if key in _IDS else _with_hex_ids(item) for key, item in pairs}


def _traces() -> Any:
    exporter, provider = InMemorySpanExporter(), TracerProvider(resource=Resource({"service.name": "fuzz"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("fuzz", "1", attributes={"scope": 1})
    with tracer.start_as_current_span("outer", attributes=_VALUES) as outer:
        links = [Link(outer.get_span_context(), {"why": "so"})]
        with tracer.start_as_current_span("inner", links=links) as inner:
            inner.add_event("event", _VALUES)
            inner.set_status(Status(StatusCode.ERROR, "no"))
    provider.shutdown()
    return encode_spans(exporter.get_finished_spans())


def _logs() -> Any:
    exporter, provider = InMemoryLogRecordExporter(), LoggerProvider(resource=Resource({"service.name": "fuzz"}))
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("fuzz", "1")
    named = {"event_name": "gen_ai.evaluation.result", "severity_number": SeverityNumber.ERROR}
    logger.emit(LogRecord(timestamp=5, body="text", attributes=_VALUES, **named))
    logger.emit(LogRecord(body={"map": [1, {"deep": None}]}, severity_text="info"))
    provider.shutdown()
    return encode_logs(exporter.get_finished_logs())
