"""What log records say about spans, as runs are read from them."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from overclaim.outcome.judge import judge
from overclaim.outcome.model import Call, Grade, Outcome, Run, Verdict
from overclaim.reading.log_records import LogRecord, with_logs
from overclaim.reading.spans import Event, Span
from overclaim.reading.traces import runs

AGENT, MODEL, TOOL, HTTP = (letter * 16 for letter in "abcd")
OF_TOOL = "gen_ai.execute_tool.exception"
WARN, ERROR = 13, 17
FAILED = {"exception.type": "app.StockError", "exception.message": "out of stock"}


def span(id: str, name: str, parent: str, lasts: int, **fields: Any) -> Span:
    """A span of the only trace."""
    return Span("1" * 32, id, parent, name, service="shop", start_ns=10**18, end_ns=10**18 + lasts, **fields)


def agent(answer: str | None = "I created the order.", **attributes: str) -> Span:
    """The agent, with its answer where it is recorded."""
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    known = {"gen_ai.operation.name": "invoke_agent"} | attributes
    known |= {"gen_ai.output.messages": json.dumps(said)} if answer is not None else {}
    return span(AGENT, "invoke_agent helper", "", 100, attributes=known)


def tool(result: str | None = None, **fields: Any) -> Span:
    """A call of a tool that ends green, with its result where it is recorded."""
    known = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_order", "gen_ai.tool.call.id": "c1"}
    known |= {"gen_ai.tool.call.arguments": '{"sku": "A-17"}'}
    known |= {} if result is None else {"gen_ai.tool.call.result": result}
    return span(TOOL, "execute_tool create_order", AGENT, 50, attributes=known | fields.pop("attributes", {}), **fields)


def chat() -> Span:
    """The last call of the model."""
    return span(MODEL, "chat small", AGENT, 90, attributes={"gen_ai.operation.name": "chat"})


def request(status: int | None = None) -> Span:
    """A request of the tool, which ended green."""
    known: dict[str, object] = {"http.request.method": "POST", "url.full": "https://shop/orders"}
    known |= {} if status is None else {"http.response.status_code": status}
    return span(HTTP, "POST", TOOL, 40, kind="Client", attributes=known)


def thrown(name: str = OF_TOOL, severity: int = WARN, id: str = TOOL, **changes: Any) -> LogRecord:
    """A record of an exception."""
    return LogRecord(id, name, 7, severity, **{"attributes": FAILED, **changes})


def one(spans: list[Span], *records: LogRecord) -> Run:
    """The only run."""
    (run,) = runs(with_logs(spans, records))
    return run


def call(spans: list[Span], *records: LogRecord) -> Call:
    """Its only call."""
    (found,) = one(spans, *records).calls
    return found


def facts(found: Call) -> set[tuple[str, str, Grade]]:
    """Rule, value and grade of all that is known about a call."""
    return {(fact.rule, fact.value, fact.grade) for fact in found.observed.evidence}


@pytest.mark.parametrize("result", [None, "", "[REDACTED]", '{"error": "no stock"}'])
@pytest.mark.parametrize("severity", [WARN, ERROR])
def test_the_exception_event_of_a_tool_is_a_failure(result: str | None, severity: int) -> None:
    """Of a span that says nothing else, and the evidence says where it comes from. The conventions give it WARN."""
    run = one([agent(), tool(result)], thrown(severity=severity))
    assert run.calls[0].observed.outcome is Outcome.FAILURE
    assert ("exception.raised", "StockError (log)", Grade.STRUCTURED) in facts(run.calls[0])
    assert judge(run).verdict is Verdict.CONTRADICTED


def test_what_both_signals_say_counts_once() -> None:
    """As with OTEL_SEMCONV_EXCEPTION_SIGNAL_OPT_IN=logs/dup: the same evidence as of the event alone."""
    event = Event("exception", 5, dict(FAILED))
    spans = [agent(), tool(status="Error", events=[event])]
    assert call(spans, thrown(), thrown("exception", ERROR)) == call(spans)


def test_a_record_names_the_error_of_a_red_span() -> None:
    """As the event did, where only the status says that it failed."""
    found = call([agent(), tool(status="Error")], thrown("exception", ERROR))
    assert ("exception.raised", "StockError (log)", Grade.STRUCTURED) in facts(found)
    assert ("exception.raised", "StockError (log)", Grade.STRUCTURED) not in facts(
        call([agent(), tool(status="Error")])
    )


def test_an_error_type_of_the_span_goes_before_its_records() -> None:
    """It is the span's own word."""
    failed = tool(status="Error", attributes={"error.type": "Sold"})
    assert ("exception.raised", "Sold", Grade.STRUCTURED) in facts(call([agent(), failed], thrown()))


HANDLED = ("exception.handled", "StockError (log)", Grade.SUSPECT)


@pytest.mark.parametrize("severity", [0, WARN, ERROR, 21])
@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, Outcome.UNKNOWN),
        ({"status": "Ok"}, Outcome.UNKNOWN),
        ({"result": '{"order": "o-1"}'}, Outcome.SUCCESS),
    ],
)
def test_a_generic_exception_is_a_suspicion(severity: int, fields: dict[str, str], outcome: Outcome) -> None:
    """However severe: content is off by default, so a tool that caught it and one that did not look the same."""
    run = one([agent(), tool(**fields)], thrown("exception", severity))
    assert run.calls[0].observed.outcome is outcome
    assert HANDLED in facts(run.calls[0])
    assert not judge(run).verdict.accuses


@pytest.mark.parametrize("severity", [WARN, ERROR])
@pytest.mark.parametrize(
    "fields",
    [
        {"status": "Ok"},
        {"status": "STATUS_CODE_OK"},
        {"result": '{"order": "o-1"}'},
        {"result": "null"},
        {"attributes": {"process.exit.code": 0}},
        {"attributes": {"gen_ai.task.status": "success"}},
    ],
)
def test_no_record_overrules_a_tool_span_that_says_it_went_well(severity: int, fields: dict[str, Any]) -> None:
    """Not even the event of tools: the first attempt raised, the wrapper tried again."""
    run = one([agent(), tool(**fields)], thrown(severity=severity))
    assert run.calls[0].observed.outcome is not Outcome.FAILURE
    assert HANDLED in facts(run.calls[0])
    assert not judge(run).verdict.accuses


@pytest.mark.parametrize("severity", [0, 5, 9])
def test_the_exception_event_of_a_tool_below_warn_is_a_suspicion(severity: int) -> None:
    """Whoever logs at DEBUG or without a severity does not say that the call ended by it."""
    assert call([agent(), tool()], thrown(severity=severity)).observed.outcome is Outcome.UNKNOWN


CHILDREN: dict[str, tuple[str, dict[str, object]]] = {
    "http.client.request.exception": ("Client", {"http.request.method": "POST", "url.full": "https://shop/orders"}),
    "db.client.operation.exception": ("Client", {"db.system.name": "postgresql", "db.operation.name": "INSERT"}),
    "rpc.client.call.exception": ("Client", {"rpc.system.name": "grpc", "rpc.method": "shop.Orders/Create"}),
    "messaging.send.exception": ("Producer", {"messaging.system": "kafka", "messaging.destination.name": "orders"}),
}


def child(event: str, status: str = "Unset", **more: object) -> Span:
    """What a tool called, as the event of its exceptions is about it."""
    kind, known = CHILDREN[event]
    attributes = known | {key.replace("__", "."): value for key, value in more.items()}
    return span(HTTP, "call", TOOL, 40, kind=kind, status=status, attributes=attributes)


@pytest.mark.parametrize("event", CHILDREN)
def test_what_ended_by_the_event_of_its_kind_failed(event: str) -> None:
    """At ERROR, on a span that says nothing else."""
    run = one([agent(), tool(), child(event)], thrown(event, ERROR, HTTP))
    assert run.calls[0].observed.outcome is Outcome.FAILURE
    assert judge(run).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize("event", CHILDREN)
@pytest.mark.parametrize("severity", [0, 5, WARN])
def test_below_error_the_event_of_a_kind_is_a_suspicion(event: str, severity: int) -> None:
    """An attempt that is made again within the same span is logged at WARN, and accuses nobody."""
    run = one([agent(), tool(), child(event)], thrown(event, severity, HTTP))
    assert run.calls[0].observed.outcome is not Outcome.FAILURE
    assert HANDLED in facts(run.calls[0])
    assert not judge(run).verdict.accuses


@pytest.mark.parametrize(
    ("event", "status", "more"),
    [
        *((event, "Ok", {}) for event in CHILDREN),
        ("http.client.request.exception", "Unset", {"http__response__status_code": 200}),
        ("http.client.request.exception", "Unset", {"http__status_code": "204"}),
        ("rpc.client.call.exception", "Unset", {"rpc__response__status_code": "OK"}),
        ("rpc.client.call.exception", "Unset", {"rpc__grpc__status_code": 0}),
        ("db.client.operation.exception", "Unset", {"db__response__status_code": "00000"}),
    ],
)
def test_no_record_overrules_a_span_that_says_it_went_well(event: str, status: str, more: dict[str, object]) -> None:
    """An explicit Ok or the status of the response is the last word, whatever was logged on the way."""
    run = one([agent(), tool(), child(event, status, **more)], thrown(event, ERROR, HTTP))
    assert run.calls[0].observed.outcome is not Outcome.FAILURE
    assert HANDLED in facts(run.calls[0])
    assert not judge(run).verdict.accuses


def test_a_server_s_span_does_not_fail_by_the_event_of_clients() -> None:
    """Its handler made a request, which failed, and handled that: both have attributes of HTTP."""
    served = child("http.client.request.exception")
    served = replace(served, kind="Server")
    found = call([agent(), tool(), served], thrown("http.client.request.exception", ERROR, HTTP))
    assert found.observed.outcome is not Outcome.FAILURE


def test_an_exception_that_is_only_logged_is_a_suspicion() -> None:
    """As `logger.exception` in a handler writes it, however severe it says it is."""
    found = call([agent(), tool('{"order": "o-1"}')], thrown("", ERROR))
    assert (found.observed.outcome, found.observed.grade) == (Outcome.SUCCESS, Grade.INFERRED)
    assert facts(found) == {("exception.handled", "StockError (log)", Grade.SUSPECT)}


def test_errors_that_are_logged_are_suspicions() -> None:
    """With logger and level and no word of the text; of a logger that is no module not even its name."""
    records = [
        LogRecord(TOOL, "", 1, ERROR, "ERROR", "shop.stock", "sold out for ann@example.com"),
        LogRecord(TOOL, "", 2, 21, "", "for ann@example.com"),
    ]
    found = call([agent(), tool('{"order": "o-1"}')], *records)
    assert found.observed.outcome is Outcome.SUCCESS
    logged = {("log.error", "shop.stock ERROR", Grade.SUSPECT), ("log.error", "FATAL", Grade.SUSPECT)}
    assert facts(found) == logged


def test_a_few_suspicions_of_a_kind_are_enough() -> None:
    """However many a tool and what it called logged."""
    records = [LogRecord(id, "", n, ERROR, "ERROR", f"shop.m{n}") for n in range(50) for id in (TOOL, HTTP)]
    assert len(call([agent(), tool("ok"), request(200)], *records).observed.evidence) == 4 + 1  # and the request


def test_the_exception_by_which_a_tool_failed_is_no_suspicion_beside_it() -> None:
    """Whoever logs what then leaves the tool says the same twice; another exception is another matter."""
    failed = tool(status="Error", events=[Event("exception", 5, dict(FAILED))])
    other = thrown("", ERROR, attributes={"exception.type": "CacheError"})
    found = call([agent(), failed], thrown("", ERROR), other)
    assert [value for rule, value, _ in facts(found) if rule == "exception.handled"] == ["CacheError (log)"]
    nameless = call([agent(), tool()], thrown(attributes={"exception.message": "out of stock"}))
    assert nameless.observed.outcome is Outcome.FAILURE
    assert all(grade is not Grade.SUSPECT for _, _, grade in facts(nameless))


def test_what_a_model_inside_a_tool_logs_is_not_the_tool_s() -> None:
    """A model call that a tool makes is no part of the tool's own work."""
    inner = span(MODEL, "chat small", TOOL, 40, attributes={"gen_ai.operation.name": "chat"})
    assert facts(call([agent(), tool("ok"), inner], LogRecord(MODEL, "", 1, ERROR, "ERROR", "client"))) == set()


def test_a_request_that_failed_by_its_own_event_failed() -> None:
    """No status, and the event of HTTP clients on the span of the request."""
    found = call([agent(), tool("sent"), request()], thrown("http.client.exception", ERROR, HTTP))
    assert found.observed.outcome is Outcome.FAILURE
    assert ("http.no_response", "app.StockError (log)", Grade.STRUCTURED) in facts(found)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("http.client.exception", TOOL),  # the request's, not the tool's
        ("gen_ai.client.operation.exception", TOOL),  # a model's inside it
        ("db.client.operation.exception", HTTP),
        ("exception", HTTP),
    ],
)
def test_the_exception_of_something_else_is_a_suspicion(name: str, id: str) -> None:
    """An event on a span that stands for another operation says that somebody handled it."""
    child = request(201)
    child.attributes["exception.type"] = "as somebody notes on spans"
    found = call([agent(), tool('{"order": "o-1"}'), child], thrown(name, ERROR, id))
    assert found.observed.outcome is Outcome.SUCCESS
    assert ("exception.handled", "StockError (log)", Grade.SUSPECT) in facts(found)


def test_the_client_of_a_tool_server_fails_by_the_event_of_clients() -> None:
    """The span of an MCP client is a client's; below ERROR the client may have tried again."""
    client, event = (
        tool(kind="Client", attributes={"mcp.method.name": "tools/call"}),
        "gen_ai.client.operation.exception",
    )
    assert call([agent(), client], thrown(event, ERROR)).observed.outcome is Outcome.FAILURE
    assert call([agent(), client], thrown(event, WARN)).observed.outcome is Outcome.UNKNOWN


def test_records_of_other_spans_and_lower_severity_say_nothing() -> None:
    """INFO lines, and what belongs to no span that is there."""
    spans = [agent(), tool("ok")]
    records = [LogRecord(TOOL, "", 1, 9, "INFO", "shop", "created"), thrown(id="f" * 16)]
    assert call(spans, *records) == call(spans)


def test_order_and_repetition_change_nothing() -> None:
    """The same run from every order of the same records, each there once or twice."""
    records = [
        thrown("", ERROR),
        thrown("exception", WARN, attributes={"exception.type": "Later"}),
        thrown("http.client.exception", ERROR, HTTP),
        LogRecord(TOOL, "", 3, ERROR, "ERROR", "shop"),
        LogRecord(MODEL, "gen_ai.choice", 4, body='{"message": {"content": "I created the order."}}'),
    ]
    spans = [agent(None), tool(), request(), chat()]
    expected = one(spans, *records)
    assert expected.claims
    for order in itertools.permutations(records):
        assert one(spans, *order) == expected
    assert one(spans, *records, *reversed(records)) == expected


SAID = {"message": {"role": "assistant", "content": "I created the order."}, "finish_reason": "stop", "index": 0}
PARTS = {"content": {"role": "model", "parts": [{"text": "I created the order."}]}, "finish_reason": "STOP"}
MESSAGES = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "I created the order."}]}])


@pytest.mark.parametrize(
    "record",
    [
        LogRecord(
            AGENT, "gen_ai.client.inference.operation.details", 1, attributes={"gen_ai.output.messages": MESSAGES}
        ),
        LogRecord(
            MODEL, "gen_ai.client.inference.operation.details", 1, attributes={"gen_ai.output.messages": MESSAGES}
        ),
        LogRecord(MODEL, "gen_ai.choice", 1, body=json.dumps(SAID)),
        LogRecord(MODEL, "gen_ai.choice", 1, body=SAID),
        LogRecord(MODEL, "gen_ai.choice", 1, body=json.dumps(PARTS)),
        LogRecord(MODEL, "gen_ai.assistant.message", 1, body='{"content": "I created the order."}'),
    ],
)
def test_the_answer_may_be_in_an_event_alone(record: LogRecord) -> None:
    """In each form that instrumentors write."""
    run = one([agent(None), tool('{"error": "no stock"}'), chat()], record)
    assert judge(run).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    "body", [{"finish_reason": "stop", "index": 0, "message": {"role": "assistant"}}, {"index": 0}, "stop", None, "{"]
)
def test_an_event_without_content_says_nothing(body: object) -> None:
    """Content is off by default: why the model stopped is no answer."""
    run = one([agent(None), tool("ok"), chat()], LogRecord(MODEL, "gen_ai.choice", 1, body=body))
    assert run.gaps == ("no_final_message",)


def test_what_was_said_before_others_spoke_is_no_answer() -> None:
    """Events of older conventions repeat the conversation so far: a message after which a tool spoke is history."""
    history = [
        LogRecord(MODEL, "gen_ai.user.message", 1, body='{"content": "Create it."}'),
        LogRecord(MODEL, "gen_ai.assistant.message", 2, body='{"content": "I created the order."}'),
        LogRecord(MODEL, "gen_ai.tool.message", 3, body='{"id": "c0", "content": "ok"}'),
    ]
    assert one([agent(None), tool("ok"), chat()], *history).gaps == ("no_final_message",)


def test_the_span_s_own_answer_goes_first() -> None:
    """An event never overrules what the span has."""
    record = LogRecord(AGENT, "gen_ai.choice", 1, body='{"message": {"content": "I could not create the order."}}')
    assert judge(one([agent(), tool('{"error": "no stock"}')], record)).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize("id", [MODEL, TOOL])
def test_the_result_of_a_tool_may_be_in_an_event_alone(id: str) -> None:
    """As it was handed to the model, by the id of the call; or on the span of the tool itself."""
    body = {"id": "c1" if id == MODEL else "", "content": '{"error": "no stock", "status": 409}'}
    run = one([agent(), tool(), chat()], LogRecord(id, "gen_ai.tool.message", 1, body=json.dumps(body)))
    assert run.calls[0].observed.outcome is Outcome.FAILURE
    assert judge(run).verdict is Verdict.CONTRADICTED


def test_the_result_of_another_call_is_not_taken() -> None:
    """Nor one that only repeats what was said first, nor instead of the span's own."""
    other = LogRecord(MODEL, "gen_ai.tool.message", 1, body='{"id": "c2", "content": {"error": "no stock"}}')
    assert call([agent(), tool(), chat()], other).observed.outcome is Outcome.UNKNOWN
    first = LogRecord(MODEL, "gen_ai.tool.message", 1, body='{"id": "c1", "content": {"order": "o-1"}}')
    second = LogRecord(MODEL, "gen_ai.tool.message", 2, body='{"id": "c1", "content": {"error": "no stock"}}')
    assert call([agent(), tool(), chat()], second, first).observed.outcome is Outcome.SUCCESS
    assert call([agent(), tool('{"order": "o-1"}'), chat()], second).observed.outcome is Outcome.SUCCESS


DETAILS = "gen_ai.client.inference.operation.details"
ASKED = [
    LogRecord(MODEL, "gen_ai.choice", 1, body=json.dumps({"message": {"tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "create_order", "arguments": '{"sku": "B-9"}'}}]}})),
    LogRecord(MODEL, DETAILS, 1, attributes={"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [
        {"type": "tool_call", "id": "c1", "name": "create_order", "arguments": {"sku": "B-9"}}]}])}),
]  # fmt: skip


@pytest.mark.parametrize("record", ASKED)
def test_the_arguments_of_a_call_may_be_in_an_event_alone(record: LogRecord) -> None:
    """As the model asked for it; those of the span itself go first."""
    bare = tool("ok")
    del bare.attributes["gen_ai.tool.call.arguments"]
    assert call([agent(), bare, chat()], record).operation.targets == ("b-9",)
    assert call([agent(), tool("ok"), chat()], record).operation.targets == ("a-17",)


def test_the_result_may_be_a_part_of_the_model_s_input() -> None:
    """As with EVENT_ONLY, where nothing else has it."""
    part = {"type": "tool_call_response", "id": "c1", "response": {"error": "no stock", "status": 409}}
    run = one([agent(), tool(), chat()], LogRecord(MODEL, "gen_ai.tool.message", 1, body=json.dumps(part)))
    assert judge(run).verdict is Verdict.CONTRADICTED
