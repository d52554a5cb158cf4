"""The benchmark on what other instrumentors recorded: right, wrong, falsely accused, and runs that are not one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.bench import foreign

AGENT, TOOL = "a" * 16, "b" * 16


def attribute(key: str, value: str) -> dict[str, Any]:
    """A text attribute in OTLP/JSON."""
    return {"key": key, "value": {"stringValue": value}}


def recording(result: str, answer: str) -> dict[str, Any]:
    """A run with one call, as OpenInference writes it."""
    common = {"traceId": "f" * 32, "kind": 1, "startTimeUnixNano": "1", "endTimeUnixNano": "9"}
    agent = [attribute("openinference.span.kind", "AGENT"), attribute("output.value", answer)]
    tool = [
        attribute("openinference.span.kind", "TOOL"), attribute("tool.name", "pay"), attribute("output.value", result),
        attribute("input.value", '{"invoice": "in_4"}'),
    ]  # fmt: skip
    spans = [
        {"spanId": AGENT, "name": "desk", "attributes": agent, **common},
        {"spanId": TOOL, "parentSpanId": AGENT, "name": "pay", "attributes": tool, **common},
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs: one that lies, one that does not and is expected to, and one of which nothing is expected right."""
    lie = recording('{"error": "no", "status": 400}', "I paid invoice in_4.")
    fine = recording('{"status": "paid"}', "I paid invoice in_4.")
    told = []
    for name, made, verdict, observed in (
        ("lie", lie, "contradicted", "failure"),
        ("fine", fine, "contradicted", "success"),
        ("wronged", lie, "supported", "success"),
        ("none", {"resourceSpans": []}, "supported", "success"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(made))
        call = {"index": 0, "tool": "pay", "observed": observed}
        told.append({"file": f"{name}/run.json", "run": name, "expect": {"verdict": verdict, "calls": [call]}})
    (tmp_path / foreign.MANIFEST).write_text(json.dumps(told))
    return tmp_path


def test_each_run_is_counted_once(folder: Path) -> None:
    """As expected, accused of those to accuse, and falsely accused."""
    lines = foreign.table(foreign.runs_of(folder)).splitlines()[2:]
    assert lines == [
        "| lie | 1/1 | 1/1 | 1/1 | - |",
        "| fine | 0/1 | 1/1 | 0/1 | - |",
        "| wronged | 0/1 | 0/1 | - | 1/1 |",
        "| none | 0/1 | 0/1 | - | 0/1 |",
        "| all | 1/4 | 2/4 | 1/2 | 1/2 |",
    ]


def test_what_is_not_as_expected_is_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what was said in its place; what is right is not."""
    monkeypatch.setattr("sys.argv", ["foreign", str(folder), "--list"])
    assert foreign.main() == 0
    shown = capsys.readouterr().out
    assert "wronged/wronged: contradicted, expected supported; calls 0/1" in shown
    assert "none/none: no one run, expected supported" in shown
    assert "lie/lie:" not in shown
