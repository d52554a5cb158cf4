"""Findings as `gen_ai.evaluation.result` log events over OTLP/HTTP, in the trace of what they judge."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Final

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from overclaim import _attributes as names
from overclaim._version import __version__
from overclaim_detectors.outgoing.endpoint import Endpoint, sink_name
from overclaim_detectors.outgoing.finding import Finding
from overclaim_detectors.outgoing.metrics import Metrics
from overclaim_detectors.outgoing.otlp_session import OtlpSession
from overclaim_detectors.outgoing.sink import Refused, Undelivered
from overclaim_detectors.rule import SEVERITIES

SCOPE: Final = "overclaim.detectors"
# For good, by the OTLP specification all others but 429 and 5xx; but a wrong token or path can be mended meanwhile.
_FINAL: Final = (400, 413, 422)
_TIMEOUT_S: Final = 10.0
_NEVER: Final = 2**63


class Events:
    """The events' receiver. metrics: what counts them, where they are counted.

    Each event has the resource of the service that it is about, so that it is found beside that service's own logs.
    """

    severities: Sequence[str] = SEVERITIES
    most = 500

    def __init__(self, endpoint: Endpoint, metrics: Metrics | None = None) -> None:
        # What the exporter has to say is said by whoever sends, once and not at each try.
        logging.getLogger("opentelemetry.exporter.otlp").setLevel(logging.CRITICAL)
        self.name = sink_name("events", endpoint.url)
        self.label = endpoint.url
        self._metrics = metrics
        self._session = OtlpSession(endpoint.headers)
        self._exporter = OTLPLogExporter(
            f"{endpoint.url}/v1/logs", timeout=_TIMEOUT_S, compression=Compression.Gzip, session=self._session
        )

    def send(self, batch: Sequence[Finding]) -> None:
        """Send a batch; returns when the endpoint has acknowledged it."""
        done = self._exporter.export([_record(one) for one in batch])
        status = self._session.status
        if status in _FINAL:
            raise Refused(self._session.said)
        if done is not LogRecordExportResult.SUCCESS or not 200 <= status < 300:
            moved = ": a redirect, which is not followed" if 300 <= status < 400 else ""
            raise Undelivered((self._session.said or "no answer") + moved)
        if self._metrics:
            self._metrics.count(batch)

    def tick(self) -> None:
        """Look at what the gauges tell."""
        if self._metrics:
            self._metrics.refresh()

    def close(self, seconds: float) -> None:
        """End; the last figures are sent if they can be within so many seconds."""
        self._exporter.shutdown()
        if self._metrics:
            self._metrics.close(seconds)


def _record(one: Finding) -> ReadableLogRecord:
    warns = one.open and (one.severity == "high" or bool(one.verdict))
    record = LogRecord(
        # The time of the pass: the same when it is sent again, and not as old as the run, which some stores refuse.
        timestamp=one.version * 1_000_000 if one.version * 1_000_000 < _NEVER else time.time_ns(),
        observed_timestamp=time.time_ns(),
        context=trace.set_span_in_context(trace.NonRecordingSpan(_context(one))),
        severity_number=SeverityNumber.WARN if warns else SeverityNumber.INFO,
        severity_text="WARN" if warns else "INFO",
        body=f"{one.rule} {one.state}: {one.explanation}",
        event_name=names.GEN_AI_EVALUATION,
        attributes={name: value for name, value in _attributes(one).items() if value not in ("", None)},
    )
    about = {"service.name": one.service or "unknown_service", "deployment.environment.name": one.environment}
    resource = Resource({name: value for name, value in about.items() if value})
    return ReadableLogRecord(record, resource, InstrumentationScope(SCOPE, __version__))


def _attributes(one: Finding) -> dict[str, str | int | float | None]:
    return {
        names.GEN_AI_EVALUATION_NAME: one.name,
        names.GEN_AI_EVALUATION_LABEL: one.label,
        names.GEN_AI_EVALUATION_SCORE: one.confidence,
        names.GEN_AI_EVALUATION_WHY: one.explanation,
        names.GEN_AI_AGENT_NAME: one.agent,
        names.GEN_AI_AGENT_VERSION: one.agent_version,
        names.GEN_AI_REQUEST_MODEL: one.model,
        names.GEN_AI_TOOL_NAME: one.tool,
        names.VERDICT_LABEL: one.verdict,
        names.VERDICT_CONFIDENCE: one.confidence,
        names.VERDICT_RULE: one.rule,
        names.FINDING_ID: one.id,
        names.FINDING_VERSION: one.version if one.version < _NEVER else 0,
        names.FINDING_STATE: one.state,
        names.FINDING_SEVERITY: one.severity,
        names.RUN_SPAN_ID: one.run_span_id,
    }


def _context(one: Finding) -> trace.SpanContext:
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    return trace.SpanContext(_number(one.trace_id, 32), _number(one.span_id, 16), is_remote=True, trace_flags=flags)


def _number(text: str, digits: int) -> int:
    """An id as a number; 0, which is none, for what is no id."""
    try:
        return int(text, 16) if len(text) == digits else 0
    except ValueError:
        return 0
