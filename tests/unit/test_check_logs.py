"""What `overclaim check` makes of log records in OTLP/JSON, beside the spans that they are of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overclaim.cli import main
from overclaim.reading.otlp_logs import EACH, Logs
from overclaim.reading.spans import Span

TRACE, AGENT, TOOL, START = "1" * 32, "a" * 16, "b" * 16, 10**18
HOUR = 3_600 * 10**9


def pairs(attributes: dict[str, str]) -> list[dict[str, Any]]:
    """Attributes in OTLP/JSON."""
    return [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]


def spans() -> dict[str, Any]:
    """An agent that says it created an order, and its call, of which the spans do not say what came of it."""
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "I created the order."}]}])
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": said}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_order", "gen_ai.tool.call.id": "c1"}
    times = {"startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 100)}
    made = [
        {"traceId": TRACE, "spanId": AGENT, "name": "invoke_agent clerk", "attributes": pairs(agent), **times},
        {
            "traceId": TRACE,
            "spanId": TOOL,
            "parentSpanId": AGENT,
            "name": "execute_tool create_order",
            "attributes": pairs(tool | {"gen_ai.tool.call.arguments": '{"sku": "A-17"}'}),
            **times,
        },
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": made}]}]}


def record(name: str = "gen_ai.execute_tool.exception", severity: int = 13, **changes: Any) -> dict[str, Any]:
    """A log record of the call, by default of the exception that ended it."""
    thrown = pairs({"exception.type": "app.StockError", "exception.message": "out of stock"})
    known = {"traceId": TRACE, "spanId": TOOL, "timeUnixNano": str(START + 7), "eventName": name}
    return {**known, "severityNumber": severity, "attributes": thrown, **changes}


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    """A request with log records."""
    return {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "app.orders"}, "logRecords": list(records)}]}]}


def check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, *documents: object, format: str = "jsonl"
) -> tuple[int, str, str]:
    """Exit code, output and errors of `overclaim check` on files that hold these."""
    files: list[str] = []
    for number, document in enumerate(documents):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(document))
        files.append(str(file))
    code = main(["check", "--format", format, *files])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_without_the_records_nothing_says_that_the_call_failed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """So that the other tests show what the records add."""
    code, out, _ = check(capsys, tmp_path, spans())
    assert code == 0
    assert '"incomplete"' in out


@pytest.mark.parametrize("order", ["after", "before", "in one list", "in one object"])
def test_an_exception_in_a_record_is_evidence(capsys: pytest.CaptureFixture[str], tmp_path: Path, order: str) -> None:
    """Wherever the record stands; the evidence says that it comes from a log, and nothing is skipped in silence."""
    documents = {
        "after": [spans(), logs(record())],
        "before": [logs(record()), spans()],
        "in one list": [[spans(), logs(record())]],
        "in one object": [{**spans(), **logs(record())}],
    }
    code, out, err = check(capsys, tmp_path, *documents[order])
    assert (code, err) == (1, "")
    assert '"contradicted"' in out
    assert "StockError (log)" in out


def test_the_result_of_a_call_is_read_from_an_event(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As the input of the model repeats it, where the span of the tool has none."""
    part = {"type": "tool_call_response", "id": "c1", "response": {"error": "no stock", "status": 409}}
    told = pairs({"gen_ai.input.messages": json.dumps([{"role": "tool", "parts": [part]}])})
    event = record("gen_ai.client.inference.operation.details", 9, spanId="c" * 16, attributes=told)
    code, out, err = check(capsys, tmp_path, spans(), logs(event))
    assert (code, err) == (1, "")
    assert '"contradicted"' in out


@pytest.mark.parametrize(
    "changes",
    [
        {"traceId": "2" * 32},
        {"spanId": ""},
        {"spanId": "zz"},
        {"eventName": "", "severityNumber": 9},
        {"eventName": "gen_ai.evaluation.result", "severityNumber": 17},
        {"timeUnixNano": str(START + 100 + HOUR + 1)},
        {"timeUnixNano": str(START - HOUR - 1)},
        {"severityNumber": "much", "eventName": 7, "body": [], "attributes": {}},
    ],
)
def test_what_tells_nothing_of_these_spans_changes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Records of others, of no span, of no trouble, of other times, and such as are none; without a complaint."""
    code, out, err = check(
        capsys, tmp_path, spans(), [logs(record(**changes)), logs(record(eventName="", severityNumber=1))]
    )
    assert (code, err) == (0, "")
    assert '"incomplete"' in out


def test_a_file_of_nothing_but_strange_records_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It adds nothing to any run: perhaps the wrong file was named."""
    strange = logs(record(traceId="2" * 32), record(traceId=""))
    code, _, err = check(capsys, tmp_path, spans(), strange)
    assert code == 2
    assert "1.json: file: holds no run of an agent, and no log record of a span that was given" in err
    code, _, err = check(capsys, tmp_path, strange)
    assert code == 2
    assert err.count("\n") == 1


def test_a_span_tells_of_some_kinds_of_trouble_however_often_they_were_logged() -> None:
    """The last record of each kind; the exceptions of tools before other exceptions, and these before errors."""
    noise = [record("", 17, attributes=[], severityText=f"E{number}") for number in range(EACH)]
    again = [record(timeUnixNano=str(START + number)) for number in range(1000)]
    read = Logs()
    assert read.add(logs(*noise, *again, *noise)) == {TRACE}
    found = read.of(TRACE, [Span(TRACE, TOOL, start_ns=START, end_ns=START + 100)])
    assert len(found) == EACH
    assert (found[0].name, found[0].time_ns) == ("gen_ai.execute_tool.exception", START + 999)
    assert {one.logger for one in found} == {"app.orders"}
