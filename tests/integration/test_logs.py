"""Log records from stock exporters over loopback to the verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as ProtoRecord
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, format_span_id, format_trace_id, set_span_in_context
from tests.support.migrated import made_store

from overclaim._hashing import keyed_hash
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors import logs, show
from overclaim_detectors.runner import Detection, Pass

RESOURCE = Resource({"service.name": "shop"})
OF_TOOL = "gen_ai.execute_tool.exception"
STOCK_ERROR = {"exception.type": "StockError", "exception.message": "out of stock"}


@dataclass(frozen=True)
class Settled:
    """Passes over a server's store."""

    server: Server
    passes: Detection

    def once(self) -> Pass:
        """One pass."""
        assert self.server.store
        return self.passes.once()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server on free ports with a store of its own, which judges when it is told to."""
    store = f"chdb://{made_store(tmp_path_factory.mktemp('logs'))}"
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False)) as running:
        yield running


@pytest.fixture(scope="module")
def passes(server: Server) -> Detection:
    """The passes over that store."""
    return Detection(server.store)


@pytest.fixture
def detection(server: Server, passes: Detection) -> Settled:
    """The same, each over all that was acknowledged before it."""
    return Settled(server, passes)


@pytest.fixture
def tracing(server: Server) -> Iterator[TracerProvider]:
    """Spans by the stock exporter."""
    provider = TracerProvider(resource=RESOURCE)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{server.addresses.http}/v1/traces")))
    yield provider
    provider.shutdown()


@pytest.fixture
def logging_(server: Server) -> Iterator[LoggerProvider]:
    """Log records by the stock exporter."""
    provider = logger_provider(HttpExporter(f"{server.addresses.http}/v1/logs"))
    yield provider
    provider.shutdown()


def logger_provider(exporter: LogRecordExporter) -> LoggerProvider:
    """What sends log records with an exporter."""
    provider = LoggerProvider(resource=RESOURCE)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    return provider


@dataclass
class Agent:
    """The spans of an agent as another instrumentor makes them, content off but for its answer, and its records."""

    tracing: TracerProvider
    logging: LoggerProvider
    root: Span = field(init=False)
    tools: list[Span] = field(default_factory=list[Span])

    def __post_init__(self) -> None:
        said = [{"role": "assistant", "parts": [{"type": "text", "content": "I created the order."}]}]
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": json.dumps(said)}
        self.root = self._tracer.start_span("invoke_agent clerk", attributes=attributes)

    @property
    def _tracer(self) -> Tracer:
        return self.tracing.get_tracer("some.instrumentor")

    @property
    def trace(self) -> str:
        """Its trace."""
        return format_trace_id(self.root.get_span_context().trace_id)

    def tool(self, status: StatusCode = StatusCode.UNSET, **attributes: str) -> Span:
        """A call that ends green."""
        known = {"gen_ai.tool.name": "create_order"}
        known |= {"gen_ai.tool.call.arguments": '{"sku": "A-17"}', "gen_ai.tool.call.id": f"c{len(self.tools)}"}
        self.tools.append(self.span("execute_tool create_order", status, **known | attributes))
        return self.tools[-1]

    def span(self, name: str, status: StatusCode = StatusCode.UNSET, **attributes: str) -> Span:
        """A span that ends green."""
        known = {"gen_ai.operation.name": name.partition(" ")[0]}
        span = self._tracer.start_span(name, set_span_in_context(self.root), attributes=known | attributes)
        span.set_status(status)
        span.end()
        return span

    def ends(self) -> None:
        """Send its spans."""
        self.root.end()
        self.tracing.force_flush()

    def logs(
        self, span: Span, name: str | None, attributes: Mapping[str, Any], severity: int = 13, body: Any = None
    ) -> None:
        """Send a record of a span."""
        self.logging.get_logger("shop.stock").emit(
            LogRecord(
                timestamp=time.time_ns(),
                context=set_span_in_context(span),
                severity_number=SeverityNumber(severity),
                body=body,
                attributes=dict(attributes),
                event_name=name,
            )
        )
        self.logging.force_flush()


@pytest.fixture
def clerk(tracing: TracerProvider, logging_: LoggerProvider) -> Agent:
    """An agent that says that it created an order."""
    return Agent(tracing, logging_)


def verdict(server: Server, agent: Agent) -> str:
    """On its run."""
    sql = "SELECT Label FROM overclaim_verdicts FINAL WHERE Claim = -1 AND TraceId = {trace:String}"
    ((label,),) = server.store.query(sql, {"trace": agent.trace}).rows
    return str(label)


def evidence(server: Server, agent: Agent) -> list[tuple[str, str, str]]:
    """Rule, value and grade of all that is known about its calls."""
    sql = (
        "SELECT arrayJoin(arrayZip(EvidenceRule, EvidenceValue, EvidenceGrade)) AS Fact FROM overclaim_calls FINAL"
        " WHERE TraceId = {trace:String} ORDER BY Position, Fact"
    )
    return [fact for (fact,) in server.store.query(sql, {"trace": agent.trace}).rows]


def arrivals(server: Server, agent: Agent) -> list[int]:
    """Spans in each row of the inbox."""
    sql = "SELECT Spans FROM overclaim_inbox WHERE TraceId = {trace:String} ORDER BY Arrived"
    return [spans for (spans,) in server.store.query(sql, {"trace": agent.trace}).rows]


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_stock_exporters_deliver_each_record_once(server: Server, transport: str) -> None:
    """With the ids and times that they had, in batches of the stock processor."""
    exporters = {
        "http": lambda: HttpExporter(f"{server.addresses.http}/v1/logs"),
        "grpc": lambda: GrpcExporter(f"http://{server.addresses.grpc}", insecure=True),
    }
    provider, scope = logger_provider(exporters[transport]()), f"app.{transport}"
    start = time.time_ns()
    for number in range(1500):
        provider.get_logger(scope).emit(LogRecord(timestamp=start + number, body={"number": number}))
    provider.shutdown()
    sql = (
        "SELECT count(), uniqExact(Body), min(toUnixTimestamp64Nano(Timestamp)), max(toUnixTimestamp64Nano(Timestamp)),"
        " any(ServiceName), any(BodyType) FROM otel_logs WHERE ScopeName = {scope:String}"
    )
    assert server.store.query(sql, {"scope": scope}).rows == [(1500, 1500, start, start + 1499, "shop", "Map")]


def test_spans_and_records_that_come_together_go_each_to_their_table(server: Server) -> None:
    """Requests of both signals at the same time may share a batch, but no insert."""
    scope = f"together.{time.time_ns()}"
    records, spans = ExportLogsServiceRequest(), ExportTraceServiceRequest()
    logged = records.resource_logs.add().scope_logs.add()
    traced = spans.resource_spans.add().scope_spans.add()
    logged.scope.name = traced.scope.name = scope

    def send(number: int) -> int:
        own_records, own_spans = ExportLogsServiceRequest(), ExportTraceServiceRequest()
        own_records.CopyFrom(records)
        own_spans.CopyFrom(spans)
        own_records.resource_logs[0].scope_logs[0].log_records.add(time_unix_nano=number)
        ids = {"trace_id": number.to_bytes(16, "big"), "span_id": number.to_bytes(8, "big")}
        own_spans.resource_spans[0].scope_spans[0].spans.add(start_time_unix_nano=1, end_time_unix_nano=2, **ids)
        path, message = (("logs", own_records), ("traces", own_spans))[number % 2]
        headers = {"Content-Type": "application/x-protobuf"}
        url = f"{server.addresses.http}/v1/{path}"
        return httpx.post(url, content=message.SerializeToString(), headers=headers, timeout=30).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(send, range(1, 41))) == {200}
    for table in ("otel_logs", "otel_traces"):
        count = "SELECT count() FROM {table:Identifier} WHERE ScopeName = {scope:String}"
        assert server.store.query(count, {"table": table, "scope": scope}).rows == [(20,)]


def test_an_exception_event_contradicts_a_claim(server: Server, detection: Settled, clerk: Agent) -> None:
    """The span of the tool is green and holds no result: the event of the conventions alone tells."""
    clerk.logs(clerk.tool(), OF_TOOL, STOCK_ERROR)
    clerk.ends()
    detection.once()
    assert verdict(server, clerk) == "contradicted"
    assert ("exception.raised", "StockError (log)", "structured") in evidence(server, clerk)
    (shown,) = show.find(server.store, clerk.trace)
    assert any("exception.raised StockError (log)" in line for line in show.lines(shown))
    (row,) = server.store.query(
        "SELECT Rule, CallSpanIds FROM overclaim_findings FINAL WHERE Open AND TraceId = {trace:String}"
        " AND Rule = 'OC101'",
        {"trace": clerk.trace},
    ).rows
    assert row == ("OC101", [format_span_id(clerk.tools[0].get_span_context().span_id)])


def test_without_the_record_nobody_is_accused(server: Server, detection: Settled, clerk: Agent) -> None:
    """The same run is not contradicted by anything."""
    clerk.tool()
    clerk.ends()
    detection.once()
    assert verdict(server, clerk) == "incomplete"
    assert evidence(server, clerk) == []


def test_both_signals_are_one_evidence(server: Server, detection: Settled, clerk: Agent) -> None:
    """As an instrumentor sends them with logs/dup."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_order"}
    tracer = clerk.tracing.get_tracer("some.instrumentor")
    span = tracer.start_span("execute_tool create_order", set_span_in_context(clerk.root), attributes=attributes)
    clerk.logs(span, OF_TOOL, {"exception.type": "ValueError", "exception.message": "no"})
    span.record_exception(ValueError("no"))
    span.set_status(StatusCode.ERROR)
    span.end()
    clerk.ends()
    detection.once()
    raised = [fact for fact in evidence(server, clerk) if fact[0].startswith("exception.")]
    assert [fact[:2] for fact in raised if fact[1]] == [("exception.raised", "ValueError")]
    assert verdict(server, clerk) == "contradicted"


def test_a_late_record_changes_the_verdict(server: Server, detection: Settled, clerk: Agent) -> None:
    """The next pass sees it, and however often it is delivered again makes no difference."""
    tool = clerk.tool()
    clerk.ends()
    detection.once()
    found = [verdict(server, clerk)]
    for _ in range(2):
        clerk.logs(tool, OF_TOOL, STOCK_ERROR)
        assert detection.once().labelled == 1
        found.append(verdict(server, clerk))
        assert len(evidence(server, clerk)) == len(set(evidence(server, clerk)))
    assert found == ["incomplete", "contradicted", "contradicted"]
    assert arrivals(server, clerk) == [2, 0, 0]


def test_a_late_record_takes_an_accusation_back(server: Server, detection: Settled, clerk: Agent) -> None:
    """The result of the second try comes as an event, after the run was accused for the first."""
    clerk.tool(**{"gen_ai.tool.call.result": '{"error": "no stock", "status": 409}'})
    clerk.logs(clerk.tool(), OF_TOOL, STOCK_ERROR)
    clerk.ends()
    detection.once()
    before = verdict(server, clerk)
    clerk.tool()
    clerk.tracing.force_flush()
    clerk.logs(clerk.root, "gen_ai.tool.message", {}, body={"id": "c2", "content": {"order": "o-1"}})
    detection.once()
    assert (before, verdict(server, clerk)) == ("contradicted", "recovered")


def test_records_before_their_spans_are_not_forgotten(server: Server, detection: Settled, clerk: Agent) -> None:
    """Signals travel by different queues: a pass that sees records alone judges nothing, the next one everything."""
    tool = clerk.tool()
    clerk.logs(tool, OF_TOOL, STOCK_ERROR)
    assert detection.once().labelled == 0
    clerk.ends()
    detection.once()
    assert verdict(server, clerk) == "contradicted"


def test_errors_and_handled_exceptions_accuse_nobody(server: Server, detection: Settled, clerk: Agent) -> None:
    """They stand beside the call as suspicions."""
    tool = clerk.tool(**{"gen_ai.tool.call.result": '{"order": "o-1"}'})
    clerk.logs(tool, None, STOCK_ERROR, severity=17, body="cache failed")
    clerk.logs(tool, None, {}, severity=17, body="cache failed again")
    clerk.ends()
    detection.once()
    assert verdict(server, clerk) == "supported"
    assert evidence(server, clerk) == [
        ("exception.handled", "StockError (log)", "suspect"),
        ("log.error", "shop.stock ERROR", "suspect"),
    ]


HTTP = {"http.request.method": "POST", "url.full": "https://shop/orders"}
DB = {"db.system.name": "postgresql", "db.operation.name": "INSERT"}
OF_HTTP, OF_DB = "http.client.request.exception", "db.client.operation.exception"


@pytest.mark.parametrize(
    ("status", "attributes", "event", "severity"),
    [
        (StatusCode.UNSET, HTTP | {"http.response.status_code": 200}, OF_HTTP, 13),
        (StatusCode.UNSET, HTTP | {"http.response.status_code": 200}, OF_HTTP, 17),
        (StatusCode.OK, DB, OF_DB, 13),
        (StatusCode.OK, DB, OF_DB, 17),
        (StatusCode.UNSET, DB, OF_DB, 13),
        (StatusCode.UNSET, DB, "exception", 17),
    ],
)
def test_an_attempt_that_was_made_again_accuses_nobody(
    server: Server,
    detection: Settled,
    clerk: Agent,
    status: StatusCode,
    attributes: dict[str, str | int],
    event: str,
    severity: int,
) -> None:
    """The client logs the exception of its first attempt, and its span says that all went well, or nothing."""
    tool = clerk.tool(status=StatusCode.OK)
    clerk.logs(tool, "exception", STOCK_ERROR, severity=17)
    tracer = clerk.tracing.get_tracer("some.client")
    span = tracer.start_span("call", set_span_in_context(tool), kind=SpanKind.CLIENT, attributes=attributes)
    clerk.logs(span, event, STOCK_ERROR, severity=severity)
    span.set_status(status)
    span.end()
    clerk.ends()
    detection.once()
    assert verdict(server, clerk) not in ("contradicted", "unsupported", "pending")
    shown = evidence(server, clerk)
    assert ("exception.handled", "StockError (log)", "suspect") in shown
    assert [fact for fact in shown if fact[0] not in ("exception.handled", "http.status_2xx")] == []
    count = "SELECT count() FROM overclaim_findings FINAL WHERE Open AND TraceId = {trace:String}"
    assert server.store.query(count, {"trace": clerk.trace}).rows == [(0,)]


def test_what_a_model_said_may_be_in_an_event_alone(server: Server, detection: Settled, clerk: Agent) -> None:
    """As with EVENT_ONLY: the span of the agent has no answer, and the tool failed."""
    said = {"role": "assistant", "parts": [{"type": "text", "content": "The order was not created."}]}
    clerk.root.set_attribute("gen_ai.output.messages", "")
    clerk.logs(clerk.tool(), OF_TOOL, STOCK_ERROR)
    clerk.ends()
    detection.once()
    before = verdict(server, clerk)
    clerk.logs(clerk.root, "gen_ai.client.inference.operation.details", {"gen_ai.output.messages": [said]})
    detection.once()
    assert (before, verdict(server, clerk)) == ("incomplete", "honest")


def test_a_run_whose_content_is_in_events_alone(server: Server, detection: Settled, clerk: Agent) -> None:
    """As with EVENT_ONLY: the call's arguments, its result and the answer are parts of what the model got and gave."""
    details = "gen_ai.client.inference.operation.details"
    clerk.root.set_attribute("gen_ai.output.messages", "")
    first, second = clerk.span("chat small"), clerk.span("chat small")
    call = {"type": "tool_call", "id": "c7", "name": "create_order", "arguments": {"sku": "A-17"}}
    clerk.logs(first, details, {"gen_ai.output.messages": [{"role": "assistant", "parts": [call]}]})
    clerk.span("execute_tool create_order", **{"gen_ai.tool.name": "create_order", "gen_ai.tool.call.id": "c7"})
    result = {"type": "tool_call_response", "id": "c7", "response": {"error": "no stock", "status": 409}}
    given = [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [result]}]
    said = {"role": "assistant", "parts": [{"type": "text", "content": "I created the order for A-17."}]}
    clerk.logs(second, details, {"gen_ai.input.messages": given, "gen_ai.output.messages": [said]})
    clerk.ends()
    detection.once()
    assert verdict(server, clerk) == "contradicted"
    assert ("http.status_4xx", "409") in [fact[:2] for fact in evidence(server, clerk)]
    targets = "SELECT Targets FROM overclaim_calls FINAL WHERE TraceId = {trace:String}"
    assert server.store.query(targets, {"trace": clerk.trace}).rows == [([keyed_hash("a-17", "shop")],)]


def test_evaluations_are_kept_for_queries(server: Server, detection: Settled, clerk: Agent) -> None:
    """With their types, and they have nothing judged again: our own verdicts may come back this way."""
    clerk.tool()
    clerk.ends()
    detection.once()
    score = {"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.25}
    clerk.logs(clerk.root, "gen_ai.evaluation.result", {**score, "gen_ai.evaluation.score.label": "fail"}, severity=17)
    assert detection.once().idle
    sql = (
        "SELECT toFloat64(LogAttributes['gen_ai.evaluation.score.value']) AS Score,"
        " LogAttributes['gen_ai.evaluation.score.label'] AS Label,"
        " LogAttributeTypes['gen_ai.evaluation.score.value'] AS Type FROM otel_logs"
        " WHERE EventName = 'gen_ai.evaluation.result' AND TraceId = {trace:String}"
    )
    assert server.store.query(sql, {"trace": clerk.trace}).rows == [(0.25, "fail", "Double")]


def test_records_that_tell_nothing_have_nothing_judged(server: Server, detection: Settled, clerk: Agent) -> None:
    """Most records are INFO lines; and those of no span are none of a run."""
    tool = clerk.tool()
    clerk.ends()
    detection.once()
    clerk.logs(tool, None, {}, severity=9, body="created")
    clerk.logging.get_logger("shop").emit(LogRecord(severity_number=SeverityNumber.FATAL, body="out of memory"))
    clerk.logging.force_flush()
    assert detection.once().idle
    assert arrivals(server, clerk) == [2]


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_the_good_ones_of_a_mixed_request_are_stored(server: Server, encoding: str) -> None:
    """And the answer counts the others, with the reason."""
    scope, now = f"mixed.{encoding}", time.time_ns()
    request = ExportLogsServiceRequest()
    scoped = request.resource_logs.add().scope_logs.add()
    scoped.scope.name = scope
    for at in (now, 1 << 63, now + 1, (1 << 64) - 1, now + 2):
        scoped.log_records.append(ProtoRecord(time_unix_nano=at))
    records = [{"timeUnixNano": str(record.time_unix_nano)} for record in scoped.log_records]
    as_json = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": scope}, "logRecords": records}]}]}
    body = request.SerializeToString() if encoding == "protobuf" else json.dumps(as_json).encode()
    kind = "application/x-protobuf" if encoding == "protobuf" else "application/json"
    answer = httpx.post(f"{server.addresses.http}/v1/logs", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 200
    if encoding == "protobuf":
        said = ExportLogsServiceResponse.FromString(answer.content).partial_success
        assert (said.rejected_log_records, said.error_message) == (2, "2 refused: time after the year 2262")
    else:
        assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "2"
    stored = server.store.query("SELECT count() FROM otel_logs WHERE ScopeName = {scope:String}", {"scope": scope}).rows
    assert stored == [(3,)]


FLOOD = """
INSERT INTO otel_logs (Timestamp, TraceId, SpanId, SeverityNumber, SeverityText, ScopeName, Body)
SELECT now64(9), {trace:String}, {span:String}, 17, 'ERROR', 'shop.m' || toString(number % 40), toString(number)
FROM numbers({rows:UInt32})
"""


def test_a_flood_of_errors_costs_no_more_than_a_few(
    server: Server, detection: Settled, clerk: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that logs a hundred thousand errors: a few rows are read, and the run is judged as without them."""
    tool = clerk.tool(**{"gen_ai.tool.call.result": '{"order": "o-1"}'})
    clerk.ends()
    span = format_span_id(tool.get_span_context().span_id)
    server.store.command(FLOOD, {"trace": clerk.trace, "span": span, "rows": 100_000})
    read = list[logs.Logged]()
    reading = logs.read
    monkeypatch.setattr(logs, "read", lambda *given: read.append(reading(*given)) or read[-1])
    detection.once()
    assert len(read[0].records[clerk.trace]) == logs.EACH
    assert verdict(server, clerk) == "supported"


def test_a_run_with_more_records_than_are_read_says_so(
    server: Server, detection: Settled, clerk: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is incomplete, and accused of nothing, until there are few enough."""
    tool = clerk.tool(**{"gen_ai.tool.call.result": '{"error": "no stock"}'})
    clerk.ends()
    span = format_span_id(tool.get_span_context().span_id)
    server.store.command(FLOOD, {"trace": clerk.trace, "span": span, "rows": 20})
    monkeypatch.setattr(logs, "MOST", 10)
    detection.once()
    gaps = "SELECT Gaps FROM overclaim_runs FINAL WHERE TraceId = {trace:String}"
    assert server.store.query(gaps, {"trace": clerk.trace}).rows == [(["logs_not_read"],)]
    assert verdict(server, clerk) == "incomplete"
