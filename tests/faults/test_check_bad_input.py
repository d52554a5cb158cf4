from __future__ import annotations

import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from overclaim.cli import main

CALL = {"id": "a", "function": {"name": "create_user", "arguments": '{"email": "ann@example.com"}'}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
REFUSED = {"role": "tool", "tool_call_id": "a", "content": '{"status": 409, "error": "exists"}'}
CLAIMED = {"role": "assistant", "content": "The user ann@example.com was created."}


def bad_run(id: str = "bad", **result: Any) -> dict[str, Any]:
    """A run that must be accused."""
    return {"id": id, "messages": [{"role": "user", "content": "Create Ann."}, ASKED, REFUSED | result, CLAIMED]}


def check(capsys: pytest.CaptureFixture[str], *paths: Path | str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `overclaim check --verdict-only`."""
    code = main(["check", "--verdict-only", *map(str, paths)])
    out, err = capsys.readouterr()
    return code, out, err


LINE = json.dumps(bad_run()).encode()
NO_RUNS = "0 runs, 0 accused, 0 could not be judged, 1 unreadable (see the messages)\n"


@pytest.mark.parametrize(
    ("name", "data", "parts"),
    [
        ("a.json", b"", ("is empty",)),
        ("a.json", b"  \n \n", ("is empty",)),
        ("a.json", b"hello", ("line 1: not JSON", "give JSON")),
        ("a.json", b'{"messages": [', ("not JSON",)),
        ("a.json", b"[]", ("holds no run",)),
        ("a.json", b'{"id": 1}', ('has no "messages"', "resourceSpans")),
        ("a.json", b'"text"', ("str, not an object",)),
        ("a.json", b"null", ("NoneType, not an object",)),
        ("a.json", b'{"messages": "x"}', ("field messages", "got 'x'")),
        ("a.json", b"[" * 100_000, ("not usable JSON",)),
        ("a.json", b'{"messages": ' + b"9" * 5000 + b"}", ("not usable JSON",)),
        ("a.json", b'{"resourceSpans": []}', ("holds no run",)),
        ("a.json", b'{"resourceMetrics": []}', ("holds no run",)),
        ("a.pb", b"\x0a\xff\x01", ("no OTLP trace request",)),
        ("a.bin", b"\x00\x01\x02", ("no OTLP trace request",)),
        ("a.jsonl.gz", gzip.compress(LINE)[:-9], ("damaged gzip data",)),
        ("a.jsonl.gz", gzip.compress(LINE)[:20] + b"zzzzzz" + gzip.compress(LINE)[26:], ("damaged gzip data",)),
        ("a.yaml", b"a: [", ("not YAML", "line ")),
        ("a.yaml", b"- 1\n- {x: 2}", ("int, not an object",)),
    ],
)
def test_a_useless_file_is_named_with_place_cause_and_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, data: bytes, parts: tuple[str, ...]
) -> None:
    """One line each on stderr, exit code 2, no traceback."""
    path = tmp_path / name
    path.write_bytes(data)
    code, out, err = check(capsys, path)
    assert code == 2
    assert out.startswith("0 runs")
    assert err.startswith(f"overclaim: {path}: ")
    assert "; " in err
    assert "Traceback" not in err
    for part in parts:
        assert part in err


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cure tells what to do; the files beside them are still judged."""
    good = tmp_path / "good.jsonl"
    good.write_bytes(LINE)
    code, out, err = check(capsys, tmp_path / "none.jsonl", tmp_path, good)
    assert code == 1
    assert out.startswith("contradicted\tbad")
    assert "none.jsonl: file: cannot be read (No such file or directory); check the path" in err
    assert f"{tmp_path}: file: is a folder; name the files in it" in err


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("junk", [b"{bad", b'{"id": 3', b"17", b'{"messages": 4}', b"\xff\xfe\xfd{"])
def test_one_bad_line_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: int, junk: bytes
) -> None:
    """First, between or last: the two good runs are judged, the line is named."""
    rows = [json.dumps(bad_run("r1")).encode(), json.dumps(bad_run("r2")).encode()]
    rows.insert(place, junk)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(rows) + b"\n")
    code, out, err = check(capsys, path)
    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("contradicted")] == [
        "contradicted\tr1",
        "contradicted\tr2",
    ]
    assert f"line {place + 1}" in err


def test_some_unreadable_input_without_accusation_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A gate must not pass on what it could not read."""
    fine = {"id": "fine", "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello!"}]}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(fine) + "\n{oops\n")
    code, out, err = check(capsys, path)
    assert code == 2
    assert "line 2: not JSON" in err
    assert "1 unreadable" in out


def test_a_run_without_messages_is_told_and_not_accused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty conversation is readable, but there is nothing to judge."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "void", "messages": []}\n')
    code, out, err = check(capsys, path)
    assert code == 0
    assert out == "incomplete\tvoid\n1 run, 0 accused, 1 could not be judged (no_messages 1)\n"
    assert "note: " in err
    assert "line 1: has no messages" in err


def test_results_without_calls_and_ids_used_twice_are_no_faults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Real logs have both."""
    run = bad_run()
    run["messages"][1:3] = [{"role": "tool", "content": "fine"}, ASKED, REFUSED, ASKED, REFUSED]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(run))
    code, out, err = check(capsys, path)
    assert (code, err) == (1, "")
    assert out.startswith("contradicted\tbad")


def test_invalid_utf8_is_read_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run is judged, the file and line are named."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE.replace(b"exists", b"exist\xe9s"))
    code, out, err = check(capsys, path)
    assert code == 1
    assert out.startswith("contradicted\tbad")
    assert "line 1: invalid UTF-8 at byte" in err


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_half_a_surrogate_pair_is_read_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """In ids, texts and results alike."""
    run = bad_run("id \ud83d", content='{"status": 409, "error": "\\ud83d exists"}')
    run["messages"][3] = CLAIMED | {"content": CLAIMED["content"] + " \udc00"}
    path = tmp_path / name
    path.write_text(json.dumps(run, indent=None if name == "a.jsonl" else 1))
    code, out, err = check(capsys, path)
    assert code == 1
    assert "contradicted\tid \ufffd" in out
    assert "half a surrogate pair" in err


def test_raw_control_characters_in_json_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Terminal output pasted into JSON without escaping is still JSON to us."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE.replace(b"Create Ann.", b"\x1b[31mCreate\x00Ann."))
    code, out, err = check(capsys, path)
    assert (code, err) == (1, "")
    assert out.startswith("contradicted\tbad")


def test_whole_surrogate_pairs_are_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON writes an emoji as two escapes."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(bad_run("ok \U0001f600")))
    code, _, err = check(capsys, path)
    assert (code, err) == (1, "")


def test_unknown_fields_are_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At every level."""
    run = bad_run(future={"x": 1}) | {"x": 1, "trace": "0af7", "labels": None}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(run))
    assert check(capsys, path)[::2] == (1, "")


@pytest.mark.parametrize("content", ["x" * 20_000_000, json.dumps([{"row": n} for n in range(500_000)])])
def test_a_result_of_20_mb_is_read_in_bounded_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    """As text and as JSON; the other run of the file is judged as well."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(bad_run("big", content=content)) + "\n" + json.dumps(bad_run("next")) + "\n")
    started = time.monotonic()
    code, out, _ = check(capsys, path)
    assert time.monotonic() - started < 20
    assert code == 1
    assert "contradicted\tnext" in out


def test_a_bad_span_is_named_and_the_others_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace id of the wrong length."""
    attributes = [{"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}]
    good = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "invoke_agent x", "attributes": attributes}
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [good, good | {"traceId": "a"}]}]}]}
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(document))
    code, out, err = check(capsys, path)
    assert code == 2
    assert out.startswith("incomplete\t")
    assert "span 'invoke_agent x': traceId 'a' is not 32 hex digits" in err


def test_many_complaints_are_counted_and_not_all_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of junk lines does not flood the screen."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE + b"\n" + b"{junk}\n" * 500)
    code, out, err = check(capsys, path)
    assert code == 1
    assert "500 unreadable" in out
    assert len(err.splitlines()) == 51
    assert err.splitlines()[-1] == "overclaim: 450 more such messages"


def test_yaml_that_refers_to_itself_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Anchors may build rings and bombs; neither hangs the command."""
    path = tmp_path / "a.yaml"
    rings = "- id: ring\n  messages:\n    - {role: user, content: hi}\n    - role: tool\n      content: &r [*r]\n"
    path.write_text(rings + "    - {role: assistant, content: Done.}\n")
    code, out, _ = check(capsys, path)
    assert code in (0, 1)
    assert "\tring" in out


def test_yaml_without_its_extra_names_the_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3 and the command that installs it."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = tmp_path / "a.yaml"
    path.write_text("[]")
    code, _, err = check(capsys, path)
    assert code == 3
    assert "needs PyYAML: pip install 'overclaim[yaml]'" in err
