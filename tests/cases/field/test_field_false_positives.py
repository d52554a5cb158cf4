"""Good results that other tools flag."""

from __future__ import annotations

from typing import Any

import pytest

import overclaim


def outcome_of(telemetry: Any, result: object, **declared: Any) -> str:
    """What a tool that returns this came to."""
    telemetry.exporter.clear()
    overclaim.tool(name="call_it", **declared)(lambda: result)()
    return telemetry.one("execute_tool call_it").attributes["overclaim.observed.outcome"]


def test_p82_zero_failed_is_no_failure(telemetry: Any) -> None:
    """NousResearch/hermes-agent#59049: fields are read by value, not by name."""
    assert outcome_of(telemetry, {"succeeded": 3, "failed": 0, "error": None}) == "success"


def test_p83_source_code_full_of_errors_is_data(telemetry: Any) -> None:
    """marcusquinn/aidevops#27588: a file was read, whatever stands in it."""
    text = (
        "def get(id):\n    if id is None:\n        raise HTTPException(500, 'Internal error')\n    return Error(id)\n"
    )
    overclaim.tool(name="read_file")(lambda path: text)("app.py")
    assert telemetry.one("execute_tool read_file").attributes["overclaim.observed.outcome"] == "success"


@pytest.mark.parametrize(
    "result", [{"error": None, "data": [1]}, {"error": "", "id": 1}, {"errors": [], "id": 1}], ids=repr
)
def test_p85_an_empty_error_field_is_no_error(telemetry: Any, result: object) -> None:
    """juspay/neurolink#962: the key alone says nothing."""
    assert outcome_of(telemetry, result) == "success"


def test_p86_an_expected_status_is_no_failure(telemetry: Any) -> None:
    """traceroot-ai/traceroot#1981: a 404 that the tool's author declared as an answer; elsewhere it is a failure."""
    answer = {"status": 404, "error": "not found"}
    assert outcome_of(telemetry, answer, expected_status=404, read_only=True) != "failure"
    assert outcome_of(telemetry, answer) == "failure"


def test_p79_arguments_and_results_by_the_conventions_alone(telemetry: Any) -> None:
    """langfuse/langfuse#14633: a span with GenAI attributes only, of another SDK, is understood."""
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find",
        "gen_ai.tool.call.arguments": '{"id": "A-17"}', "gen_ai.tool.call.result": '{"ok": false, "error": "gone"}',
    }  # fmt: skip
    telemetry.tracer.start_span("execute_tool find", attributes=attributes).end()
    labels = telemetry.one("execute_tool find").attributes
    assert labels["overclaim.observed.outcome"] == "failure"
    assert labels["overclaim.call.targets"]


def test_p80_a_tool_span_without_an_operation_name(telemetry: Any) -> None:
    """comet-ml/opik#7489: the tool's name alone tells."""
    attributes = {"gen_ai.tool.name": "find", "gen_ai.tool.call.result": '{"ok": false, "error": "gone"}'}
    telemetry.tracer.start_span("find", attributes=attributes).end()
    assert telemetry.one("find").attributes["overclaim.observed.outcome"] == "failure"
