from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
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


@pytest.mark.parametrize(
    "content",
    [lambda: "x" * 20_000_000, lambda: json.dumps([{"row": n} for n in range(500_000)])],
    ids=["text", "json"],
)
def test_a_result_of_20_mb_is_read_in_bounded_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: Callable[[], str]
) -> None:
    """As text and as JSON; the other run of the file is judged as well."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(bad_run("big", content=content())) + "\n" + json.dumps(bad_run("next")) + "\n")
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


def line(id: str) -> bytes:
    """One accused run as a line."""
    return json.dumps(bad_run(id)).encode() + b"\n"


def accused(out: str) -> list[str]:
    """The ids of the runs that were accused."""
    return [row.split("\t")[1] for row in out.splitlines() if row.startswith("contradicted\t")]


Z = json.dumps({"messages": [{"role": "user", "content": "z" * 100_000}]}).encode() + b"\n"
A, B, C = line("A"), line("B"), line("C")
Y = [b"- " + one for one in (A, B, C)]


@pytest.mark.parametrize(
    ("name", "data", "found", "told"),
    [
        ("a.jsonl", b"{bad\n" + A, ["A"], ("line 1: not JSON",)),
        ("a.jsonl", b'{"id": 1, "messages": [\n' * 60 + A + B, ["A", "B"], ("line 1: not JSON", "line 41: not JSON")),
        ("a.jsonl", A + b"{bad\n" * 60 + B, ["A", "B"], ("line 2: not JSON", "line 41: not JSON")),
        ("a.jsonl", A.strip() + B.strip() + b" " + C, ["A", "B", "C"], ()),
        ("a.jsonl", A.strip() + b"{bad\n" + B, ["A", "B"], ("line 1: not JSON",)),
        ("a.jsonl", (A + B + C).replace(b"\n", b"\r"), ["A", "B", "C"], ()),
        ("a.jsonl", (A + b"{bad\n" + B).replace(b"\n", b"\r"), ["A", "B"], ("line 2: not JSON",)),
        ("a.jsonl", (b"{bad\n" + A + B).replace(b"\n", b"\r\n"), ["A", "B"], ("line 1: not JSON",)),
        ("a.json", json.dumps(bad_run("A"), indent=1).encode() + b"\n{bad\n" + B, ["A", "B"], ("not JSON",)),
        ("a.yaml", Y[0] + b"---\n- {id: [}\n---\n" + Y[1], ["A", "B"], ("line 3: not YAML",)),
        ("a.yaml", b"- {? [a] : b}\n---\n" + Y[0] + b"...\n%YAML 1.2\n---\n" + Y[1], ["A", "B"], ("line 1: not YAML",)),
        ("a.yaml", Y[0] + b"--- # x\n- 0x" + b"f" * 9000 + b"\n---\n" + Y[1], ["A", "B"], ("4300 digits",)),
        ("a.jsonl.gz", gzip.compress(A) + b"garbage", ["A"], ("bytes that are no gzip follow",)),
        ("a.jsonl.gz", gzip.compress(A.strip()) + b"garbage", ["A"], ("bytes that are no gzip follow",)),
        ("a.jsonl.gz", gzip.compress(A + B)[:-8], ["A", "B"], ("damaged gzip data (cut off)",)),
        ("a.jsonl.gz", gzip.compress(A) + b"\0" * 99 + gzip.compress(B) + b"\0" * 99, ["A", "B"], ()),
    ],
)
def test_one_bad_part_hides_no_good_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, data: bytes, found: list[str], told: tuple[str, ...]
) -> None:
    """What can be read is judged, and what cannot is named."""
    path = tmp_path / name
    path.write_bytes(data)
    code, out, err = check(capsys, path)
    assert code == 1
    assert accused(out) == found
    assert bool(err) == bool(told)
    for part in told:
        assert part in err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize(("name", "data"), [("a.jsonl", A + B), ("a.yaml", Y[0] + Y[1])])
def test_wide_encodings_are_read_with_and_without_a_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str, name: str, data: bytes
) -> None:
    """Some shells write them without being asked."""
    path = tmp_path / name
    path.write_bytes(data.decode().encode(encoding))
    code, out, err = check(capsys, path)
    assert (code, accused(out), err) == (1, ["A", "B"], "")


def test_a_file_compressed_twice_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not that it is no JSON."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.compress(A)))
    code, _, err = check(capsys, path)
    assert code == 2
    assert "is compressed twice; decompress it once" in err


def bomb(levels: int) -> bytes:
    """A YAML list whose last item stands for 9 to the power of `levels` words, in a run that is else good."""
    parts = [b'&l0 ["l","l","l","l","l","l","l","l","l"]']
    parts += [f"&l{n} [{','.join([f'*l{n - 1}'] * 9)}]".encode() for n in range(1, levels)]
    return b"- {id: x, messages: [], y: [" + b", ".join(parts) + b"]}\n"


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.yaml", lambda: bomb(20), "more than 1000000 values, with what its anchors repeat"),
        ("a.yaml", lambda: b"- &r [" + b"*r," * 5000 + b"]\n", ""),
        ("a.yaml", lambda: b"[" + b"[]," * 1_500_000 + b"]", "a YAML document larger than 4 MiB"),
        ("a.jsonl.gz", lambda: gzip.compress(b"\n" * 100_000_000, 1), "begins with 200001 blank lines"),
        ("a.jsonl.gz", lambda: gzip.compress(A + b"\n" * 100_000_000, 1), "more than 200000 lines hold no run"),
        ("a.jsonl.gz", lambda: gzip.compress(A + b"1\n" * 50_000_000, 1), ""),
        ("a.jsonl", lambda: b"{" + b" " * (256 << 20) + b"}\n" + A, "line 1: larger than 256 MiB"),
        ("a.jsonl", lambda: b"{}" * 5_000_000, ""),
        (
            "a.json",
            lambda: b'{"id": 1, "messages": [], "x": [' + b"[]," * 10_000_000 + b"1]}",
            "more than 10000000 JSON values",
        ),
        ("a.pb", lambda: b"\x0a\x00" * 20_000_000, "more than 3000000 protobuf messages"),
        ("a.pb", lambda: b"\x0a\x00" * 3_000_001 + b"\x0a\x09", "more than 3000000 protobuf messages"),
    ],
)
def test_a_small_file_that_unfolds_is_given_up_in_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, data: Callable[[], bytes], told: str
) -> None:
    """It is named, and the file after it is judged; the dearest was measured at 3 s."""
    path, after = tmp_path / name, tmp_path / "after.jsonl"
    path.write_bytes(data())
    after.write_bytes(B)
    started = time.monotonic()
    code, out, err = check(capsys, path, after)
    assert time.monotonic() - started < 20
    assert code == 1
    assert accused(out)[-1] == "B"
    assert told in err


def test_what_gzip_may_unpack_is_bounded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs up to the bound are judged."""
    monkeypatch.setattr("overclaim.reading.input_streams.MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr("overclaim.reading.input_files.MAX_UNPACKED", 1 << 20)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(A + Z * 20 + B))
    code, out, err = check(capsys, path)
    assert (code, accused(out)) == (1, ["A"])
    assert "unpacks to more than 1 MiB" in err


def test_a_pipe_that_nobody_writes_into_is_explained(tmp_path: Path) -> None:
    """Whoever looks at the terminal learns what the command waits for."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", "from overclaim.cli import main; import sys; sys.exit(main())", "check", str(pipe)]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE) as process:
        assert b"waits for another program to write into it" in os.read(ours, 4096)
        pipe.write_bytes(A)
        assert process.wait(30) == 1
    os.close(ours)
    os.close(theirs)
