"""`overclaim check` on spans and log records says what the collector says that received them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.migrated import made_store

from overclaim.cli import main
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors.runner import detect_once

START = 1_790_000_000 * 10**9
THROWN = {"exception.type": "app.StockError", "exception.message": "out of stock"}
DETAILS = "gen_ai.client.inference.operation.details"
ANSWER = [{"role": "assistant", "parts": [{"type": "text", "content": "I created the order."}]}]
RESPONSE = {"type": "tool_call_response", "id": "c1"}
OF_TOOL, OF_AGENT = 2, 1
# Name of the event, severity, span, attributes, body.
Record = tuple[str, int, int, dict[str, Any], Any]
CASES: dict[str, list[Record]] = {
    "nothing": [],
    "exception": [("gen_ai.execute_tool.exception", 13, OF_TOOL, THROWN, None)] * 3,
    "error": [("", 17, OF_TOOL, {}, {"stringValue": "cannot create the order"})],
    "handled": [("exception", 13, OF_TOOL, THROWN, None)],
    "information": [("", 9, OF_TOOL, THROWN, {"stringValue": "created"})],
    "evaluation": [("gen_ai.evaluation.result", 17, OF_TOOL, THROWN, None)],
    "failure in a response": [
        (
            DETAILS,
            9,
            OF_AGENT,
            {"gen_ai.input.messages": [{"parts": [RESPONSE | {"response": {"error": "no stock"}}]}]},
            None,
        )
    ],
    "success in a response": [
        (DETAILS, 9, OF_AGENT, {"gen_ai.input.messages": [{"parts": [RESPONSE | {"response": {"id": "o1"}}]}]}, None)
    ],
    "failure in a message": [("gen_ai.tool.message", 9, OF_AGENT, {}, {"id": "c1", "content": "Error: no stock"})],
}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes in OTLP/JSON; what is no text as JSON."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
    return [{"key": key, "value": {"stringValue": value}} for key, value in texts.items()]


def requests(number: int, records: list[Record]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The spans of an agent whose one call returns nothing, and log records of them."""
    trace, times = f"{number + 1:032x}", {"startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 100)}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_order", "gen_ai.tool.call.id": "c1"}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": ANSWER}
    spans = [
        {"traceId": trace, "spanId": f"{OF_AGENT:016x}", "name": "invoke_agent clerk", "attributes": pairs(agent)},
        {
            "traceId": trace, "spanId": f"{OF_TOOL:016x}", "parentSpanId": f"{OF_AGENT:016x}",
            "name": "execute_tool create_order", "attributes": pairs(tool),
        },
    ]  # fmt: skip
    made = [
        {
            "traceId": trace, "spanId": f"{span:016x}", "timeUnixNano": str(START + place), "eventName": name,
            "severityNumber": severity, "attributes": pairs(attributes),
            "body": {"stringValue": json.dumps(body)} if body and "stringValue" not in body else body,
        }
        for place, (name, severity, span, attributes, body) in enumerate(records)
    ]  # fmt: skip
    return (
        {"resourceSpans": [{"scopeSpans": [{"spans": [span | times for span in spans]}]}]},
        {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "app"}, "logRecords": made}]}]},
    )


def collected(store: Path, documents: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, str]:
    """The verdict on each trace, of a server that received them."""
    with Server(ServeConfig(store=f"chdb://{made_store(store)}", http_port=0, grpc_port=0, detect=False)) as server:
        for spans, logs in documents:
            for path, body in (("traces", spans), ("logs", logs)):
                httpx.post(f"{server.addresses.http}/v1/{path}", json=body, trust_env=False).raise_for_status()
        asked = httpx.post(f"{server.addresses.http}/api/query", json={"sql": "SELECT 1"}, trust_env=False)
        assert asked.status_code == 200  # whoever asks has what was acknowledged moved into the store first
        detect_once(server.store)
        return dict(server.store.query("SELECT TraceId, Label FROM overclaim_run_verdicts").rows)


def test_both_say_the_same_of_the_same_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Verdict for verdict, over exceptions, errors, messages and results; some accuse, some do not."""
    documents = [requests(number, records) for number, records in enumerate(CASES.values())]
    file = tmp_path / "all.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for pair in documents for one in pair))
    main(["check", "--format", "json", "--normals", "off", "--verdict-only", str(file)])
    checked = {one["run"].partition("/")[0]: one["verdict"] for one in json.loads(capsys.readouterr().out)["runs"]}
    stored = collected(tmp_path / "store", documents)
    assert checked == stored
    by_case = dict(zip(CASES, checked.values(), strict=True))
    assert by_case["exception"] == by_case["failure in a response"] == by_case["failure in a message"] == "contradicted"
    assert by_case["information"] == by_case["evaluation"] == by_case["nothing"] != "contradicted"
