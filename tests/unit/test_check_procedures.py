"""`overclaim check --expect FILE` with procedures: what is broken is shown, and the exit code says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overclaim.cli import main

DECLARED = {
    "procedures": [
        {"id": "looked-first", "agent": "desk", "precedence": {"first": "find_order", "then": "refund_order"}},
        {"id": "no-delete", "absence": {"action": "delete"}},
    ]
}


def run(name: str, *tools: str, answer: str = "I refunded order A-17.", agent: str = "desk") -> dict[str, Any]:
    """A run in which these tools are called one after the other, each with success."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Refund order A-17."}]
    for number, tool in enumerate(tools):
        function = {"name": tool, "arguments": '{"order_id": "A-17"}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": '{"status": "succeeded"}'})
    return {"id": name, "agent": agent, "messages": [*messages, {"role": "assistant", "content": answer}]}


def check(capsys: pytest.CaptureFixture[str], path: Path, *runs: object, form: str = "text") -> tuple[int, str]:
    """Exit code and standard output of `overclaim check` with what is declared."""
    declared, told = path / "expectations.json", path / "runs.jsonl"
    declared.write_text(json.dumps(DECLARED), encoding="utf-8")
    told.write_text("".join(json.dumps(one) + "\n" for one in runs), encoding="utf-8")
    code = main(["check", "--expect", str(declared), "--format", form, str(told)])
    return code, capsys.readouterr().out


def test_what_is_broken_is_shown_and_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The claim is true and the order is wrong: the procedure, the call and the rule are there for people."""
    code, out = check(capsys, tmp_path, run("r1", "refund_order"))
    assert code == 1
    assert out.startswith("SUPPORTED  r1")
    for part in ("about     call 0 refund_order on a-17", "procedure.precedence looked-first", "rule      OC401 "):
        assert part in out
    assert "find_order before refund_order" in out
    assert out.rstrip().endswith("1 run, 0 accused, 0 could not be judged, 1 breaks a procedure")


def test_what_is_kept_is_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In order, and another agent: nothing to report."""
    code, out = check(
        capsys, tmp_path, run("r1", "find_order", "refund_order"), run("r2", "refund_order", agent="clerk")
    )
    assert code == 0
    assert "OC4" not in out
    assert "procedure" not in out


def test_an_accused_run_shows_what_it_broke_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The accusation comes first, and the procedure after it."""
    answer = "I sent the invoice to ann@example.com."
    code, out = check(capsys, tmp_path, run("r1", "find_order", "delete_order", answer=answer))
    assert code == 1
    assert "OC102" in out
    assert out.index("OC102") < out.index("OC403")


def test_every_broken_run_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However many runs without an accusation came before it."""
    fine = [run(f"r{number}", "find_order", "refund_order") for number in range(30)]
    code, out = check(capsys, tmp_path, *fine, run("broken", "refund_order"))
    assert code == 1
    assert "SUPPORTED  broken" in out


def test_programs_get_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON a violation is a finding without a claim, and the summary counts the runs."""
    code, out = check(capsys, tmp_path, run("r1", "refund_order", "delete_order"), form="json")
    document = json.loads(out)
    assert code == 1
    (row,) = document["runs"]
    assert [(one["rule"], one["claim"], one["calls"]) for one in row["findings"]] == [
        ("OC401", None, [0]),
        ("OC403", None, [1]),
    ]
    assert document["summary"]["violating"] == 1
    assert document["summary"]["accused"] == 0
