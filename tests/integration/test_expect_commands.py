"""Expectations on the command line: `check --expect`, `detect --expect`, `expectations`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import scripted_agents as agents
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from stores import receive

from overclaim.cli import main
from overclaim.expectations import load
from overclaim_detectors.runner import Detection, detect_once
from overclaim_detectors.store import Store

EXPECTED = """
[tools.create_user]
success_when = { field = "status", equals = "active" }

[[procedures]]
id = "look-first"
existence = "find_user"
"""


@pytest.fixture
def expectations(tmp_path: Path) -> str:
    """A file of expectations."""
    path = tmp_path / "expectations.toml"
    path.write_text(EXPECTED)
    return str(path)


def transcript(tmp_path: Path, result: dict[str, Any], **more: Any) -> str:
    """A run in which a user is created and that is claimed."""
    function = {"name": "create_user", "arguments": '{"email": "ann@example.com"}'}
    run = {
        "id": "r-1",
        "messages": [
            {"role": "user", "content": "Create the user ann@example.com."},
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c", "content": json.dumps(result)},
            {"role": "assistant", "content": "I created the user ann@example.com."},
        ],
        **more,
    }
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(run) + "\n")
    return str(path)


def check(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the one run as JSON, standard error."""
    code = main(["check", "--format", "jsonl", *args])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


def test_check_reads_transcripts_by_the_expectations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expectations: str
) -> None:
    """The claim is supported without, contradicted with what is expected, and the evidence says by which field."""
    file = transcript(tmp_path, {"id": "u-1", "status": "invited"})
    assert check(capsys, file)[1]["verdict"] == "supported"
    code, run, _ = check(capsys, "--expect", expectations, file)
    assert (code, run["verdict"], run["calls"][0]["observed"]) == (1, "contradicted", "failure")
    assert "expected.failure" in json.dumps(run["calls"][0]["evidence"])
    assert [one["rule"] for one in run["findings"] if one["rule"].startswith("OC4")] == ["OC402"]


def test_what_a_run_declares_of_its_tools_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expectations: str
) -> None:
    """The facts in the transcript, filled up from the file."""
    file = transcript(tmp_path, {}, tools={"create_user": {"empty_ok": True}})
    assert check(capsys, file)[1]["calls"][0]["observed"] == "success"
    assert check(capsys, "--expect", expectations, file)[1]["calls"][0]["observed"] == "failure"


def test_check_reads_spans_with_content_by_the_expectations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expectations: str
) -> None:
    """Spans of another instrumentor, exported with arguments and results."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=agents.RESOURCE)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("some.instrumentor")
    with tracer.start_as_current_span("invoke_agent clerk", attributes=agents._agent(agents.ANSWER)):
        result = {"id": "usr_81", "status": "invited"}
        with tracer.start_as_current_span("execute_tool create_user", attributes=agents._tool("31", result)):
            pass
    path = tmp_path / "spans.pb"
    path.write_bytes(encode_spans(exporter.get_finished_spans()).SerializeToString())
    assert check(capsys, str(path))[1]["verdict"] == "supported"
    assert check(capsys, "--expect", expectations, str(path))[1]["verdict"] == "contradicted"


def test_check_takes_a_pack_and_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expectations: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack by its name; the file of OVERCLAIM_EXPECTATIONS where no option is given."""
    file = transcript(tmp_path, {"id": "u-1", "status": "invited"})
    monkeypatch.setenv("OVERCLAIM_EXPECTATIONS", expectations)
    assert check(capsys, file)[1]["verdict"] == "contradicted"
    assert check(capsys, "--expect", "payments", file)[1]["verdict"] == "supported"


def test_check_refuses_a_bad_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, the mistake and its cure, and no run is judged."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("tools: {pay: {efect: write}}\n")
    assert main(["check", "--expect", str(bad), transcript(tmp_path, {})]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{bad}:1: tools.pay.efect: there is no such key; did you mean 'effect'?" in err


def verdicts(store: Store) -> set[str]:
    """The verdicts on runs in a store."""
    sql = "SELECT Label FROM overclaim_verdicts FINAL WHERE Claim = -1"
    return {str(row[0]) for row in store.query(sql).rows}


def test_detection_labels_foreign_spans_by_the_expectations(store: Store, expectations: str) -> None:
    """The labelling job reads content of other instrumentors as declared, and keeps the procedures."""
    receive(store, agents.foreign(7))
    detect_once(store, load(expectations))
    assert verdicts(store) == {"contradicted"}
    rules = {str(row[0]) for row in store.query("SELECT Rule FROM overclaim_findings FINAL").rows}
    assert {"OC101", "OC402"} <= rules


def test_detection_without_expectations_reads_as_usual(store: Store) -> None:
    """The same spans, where nothing is declared."""
    receive(store, agents.foreign(7))
    detect_once(store)
    assert verdicts(store) == {"recovered"}


def test_labels_of_our_own_sdk_stand(store: Store, expectations: str) -> None:
    """What the agent's process decided, with its own expectations, is not decided again from the store."""
    with agents.recording() as rows:
        agents.recoverer()
        receive(store, rows())
    Detection(store, expected=load(expectations)).once()
    assert verdicts(store) == {"recovered"}


def test_the_detect_command_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], expectations: str) -> None:
    """A bad one is exit code 2 before the store is touched."""
    assert main(["detect", "--store", str(tmp_path / "none"), "--expect", str(tmp_path / "no.toml")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_the_serve_command_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bad one keeps the server from starting."""
    assert main(["serve", "--store", str(tmp_path / "none"), "--expect", str(tmp_path / "no.toml")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_packs_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """By name with one line each; one pack in full, with its reasons."""
    assert main(["expectations"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["coding", "data", "payments", "support"]
    assert main(["expectations", "payments"]) == 0
    assert '[tools."*create_refund"]' in capsys.readouterr().out


def test_a_file_is_validated_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], expectations: str) -> None:
    """What it expects, in short; a mistake is exit code 2."""
    assert main(["expectations", expectations]) == 0
    told = capsys.readouterr().out
    for part in ("1 tool, 1 procedure", "create_user: success_when", "look-first: "):
        assert part in told
    bad = tmp_path / "bad.json"
    bad.write_text('{"tools": {"pay": {"empty_ok": "maybe"}}}')
    assert main(["expectations", str(bad)]) == 2
    assert "tools.pay.empty_ok: must be true or false, not 'maybe'" in capsys.readouterr().err


def test_one_tool_is_told_with_its_packs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What holds in the end, wherever it was declared."""
    path = tmp_path / "a.toml"
    path.write_text('include = "payments"\n[tools.my_create_refund]\ntarget = "payment"\n')
    assert main(["expectations", str(path), "--tool", "my_create_refund"]) == 0
    told = capsys.readouterr().out
    for part in ("effect: write", "target: payment", "pending_when: status in ('pending',"):
        assert part in told
    assert main(["expectations", str(path), "--tool", "nothing"]) == 0
    assert "nothing is expected" in capsys.readouterr().out
