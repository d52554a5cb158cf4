from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from overclaim.cli import main

REFUSED = '{"status": 400, "error": "invalid_integer: amount"}'


def run(id: str, *results: str, answer: str = "The refund for payment pay_1 was created.") -> dict[str, Any]:
    """A run of refund calls with these results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Refund payment pay_1."}]
    for number, result in enumerate(results):
        function = {"name": "create_refund", "arguments": '{"payment": "pay_1"}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    return {"id": id, "messages": [*messages, {"role": "assistant", "content": answer}]}


GOOD = run("good", '{"refund": "re_1", "status": "succeeded"}')
BAD = run("bad", REFUSED)
MENDED = run("mended", REFUSED, '{"refund": "re_1", "status": "succeeded"}')


def lines(path: Path, *runs: object) -> str:
    """Write JSON lines and give the file's name."""
    path.write_text("".join(json.dumps(one) + "\n" for one in runs), encoding="utf-8")
    return str(path)


def check(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `overclaim check`."""
    code = main(["check", *args])
    out, err = capsys.readouterr()
    return code, out, err


def test_an_accusation_shows_words_call_evidence_rule_and_confidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text for people, and a summary; exit code 1."""
    code, out, err = check(capsys, lines(tmp_path / "runs.jsonl", GOOD, BAD, MENDED))
    assert code == 1
    assert err == ""
    for part in ("CONTRADICTED  bad", "runs.jsonl, line 2", '"The refund for payment pay_1 was created."'):
        assert part in out
    for part in ("call 0 create_refund on pay_1: failure", "evidence  ", "400", "rule      OC101", "(confidence 0."):
        assert part in out
    assert out.rstrip().endswith("3 runs, 1 accused (1 contradicted), 0 could not be judged")


def test_no_accusation_is_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is accused, and the summary says so."""
    code, out, _ = check(capsys, lines(tmp_path / "runs.jsonl", GOOD, MENDED))
    assert code == 0
    assert out.endswith("2 runs, 0 accused, 0 could not be judged\n")


def test_a_clean_run_says_what_was_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each claim with its verdict, and the calls by what was observed."""
    _, out, _ = check(capsys, lines(tmp_path / "runs.jsonl", MENDED))
    assert "RECOVERED  mended" in out
    assert 'says      "' in out
    assert '"  recovered' in out
    assert "1 failure, mended later; 1 success" in out
    assert "not seen" not in out


def test_a_clean_run_says_what_could_not_be_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer in a language that is not read, on a channel of which nothing is known, is not called clean."""
    said = "Loin käyttäjän Annille ja lähetin hänelle sähköpostin, kaikki on nyt kunnossa."
    run = {"id": "fi", "messages": [{"role": "user", "content": "luo"}, {"role": "assistant", "content": said}]}
    code, out, _ = check(capsys, lines(tmp_path / "runs.jsonl", run))
    assert code == 0
    assert "calls     none" in out
    assert "not seen  what the answer claims: it is in a language that is not read" in out
    assert "not seen  whether a call would have shown here" in out


def test_of_many_clean_runs_the_first_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest is counted, and the output says so."""
    many = [GOOD | {"id": f"run-{number}"} for number in range(30)]
    _, out, _ = check(capsys, lines(tmp_path / "runs.jsonl", *many))
    assert "run-19" in out
    assert "run-20" not in out
    assert "only counted" in out


def test_json_lines_hold_exactly_the_promised_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """run, verdict, claim, calls, findings; calls numbered by their results."""
    code, out, _ = check(capsys, lines(tmp_path / "r.jsonl", MENDED, BAD), "--format", "jsonl")
    mended, bad = map(json.loads, out.splitlines())
    assert code == 1
    assert set(mended) == {"run", "verdict", "claim", "calls", "findings"}
    assert (mended["run"], mended["verdict"], mended["claim"]) == ("mended", "recovered", {"outcome": "success"})
    assert [set(call) for call in mended["calls"]] == [{"index", "id", "tool", "observed", "evidence", "recovered"}] * 2
    assert [(c["index"], c["id"], c["observed"], c["recovered"]) for c in mended["calls"]] == [
        (0, "c0", "failure", True),
        (1, "c1", "success", False),
    ]
    assert bad["verdict"] == "contradicted"
    assert bad["findings"][0]["rule"] == "OC101"
    assert {"severity", "title", "confidence", "calls", "claim", "evidence"} <= set(bad["findings"][0])


def test_calls_without_a_result_are_no_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows follow the tool messages; the JSON document tells of the open calls."""
    open_run = run("open", '{"refund": "re_1", "status": "succeeded"}')
    call = {"id": "z", "function": {"name": "notify", "arguments": "{}"}}
    open_run["messages"].insert(3, {"role": "assistant", "content": None, "tool_calls": [call]})
    path = lines(tmp_path / "r.jsonl", open_run)
    _, out, _ = check(capsys, path, "--format", "jsonl")
    assert [call["tool"] for call in json.loads(out)["calls"]] == ["create_refund"]
    _, out, _ = check(capsys, path, "--format", "json")
    (row,) = json.loads(out)["runs"]
    assert [call["tool"] for call in row["open_calls"]] == ["notify"]
    assert row["gaps"] == ["result_missing"]


def test_an_unreadable_language_is_no_claim_in_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows know success, failure, partial and none only."""
    told = run("thai", "ok", answer="ดำเนินการคืนเงินเรียบร้อยแล้ว ขอบคุณที่รอ")
    _, out, _ = check(capsys, lines(tmp_path / "r.jsonl", told), "--format", "jsonl")
    assert json.loads(out)["claim"]["outcome"] in {"success", "failure", "partial", "none"}


def test_one_json_document_holds_runs_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also without any run it is whole JSON."""
    _, out, _ = check(capsys, lines(tmp_path / "r.jsonl", GOOD, BAD), "--format", "json")
    document = json.loads(out)
    assert [row["run"] for row in document["runs"]] == ["good", "bad"]
    assert document["summary"] == {
        "runs": 2,
        "accused": 1,
        "verdicts": {"contradicted": 1, "supported": 1},
        "gaps": {},
        "unreadable": 0,
        "violating": 0,
        "unsure": 0,
    }
    code, out, _ = check(capsys, str(tmp_path / "missing"), "--format", "json")
    assert code == 2
    assert json.loads(out)["runs"] == []


@pytest.mark.parametrize(
    ("format", "first"),
    [("text", "supported\tgood"), ("jsonl", '{"run": "good", "verdict": "supported"}')],
)
def test_verdicts_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str, first: str) -> None:
    """One short line a run."""
    _, out, _ = check(capsys, lines(tmp_path / "r.jsonl", GOOD), "--format", format, "--verdict-only")
    assert out.splitlines()[0] == first


FORMS = {
    "one.json": json.dumps(BAD).encode(),
    "pretty.json": json.dumps(BAD, indent=2).encode(),
    "list.json": json.dumps([BAD], indent=1).encode(),
    "bare.json": json.dumps(BAD["messages"]).encode(),
    "lines.jsonl": json.dumps(BAD).encode() + b"\n",
    "blank.jsonl": b"\n\n" + json.dumps(BAD).encode() + b"\n\n",
    "mark.json": b"\xef\xbb\xbf" + json.dumps(BAD).encode(),
    "wide.json": json.dumps(BAD).encode("utf-16"),
    "crlf.jsonl": json.dumps(BAD).encode() + b"\r\n",
    "packed.jsonl.gz": gzip.compress(json.dumps(BAD).encode()),
    "unnamed": gzip.compress(json.dumps([BAD]).encode()),
    "runs.yaml": b"- " + json.dumps(BAD).encode(),
    "runs.yml.gz": gzip.compress(b"- " + json.dumps(BAD).encode()),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_file_is_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The same run in each of them is accused once."""
    (tmp_path / name).write_bytes(FORMS[name])
    code, out, err = check(capsys, str(tmp_path / name), "--verdict-only")
    assert code == 1, err
    assert out.startswith("contradicted\t")
    assert "1 run, 1 accused" in out


def test_standard_input_is_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash stands for it."""
    data = io.BufferedReader(io.BytesIO(json.dumps(BAD).encode()))  # pyright: ignore
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    code, out, _ = check(capsys, "-")
    assert code == 1
    assert "(standard input, line 1)" in out


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    """A trace request in OTLP/JSON."""
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "lib"}, "spans": list(spans)}]}]}


def otlp_span(id: int, name: str, parent: int = 0, **attributes: str) -> dict[str, Any]:
    """A span in OTLP/JSON."""
    pairs = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
    ids = {"traceId": "ab" * 16, "spanId": f"{id:016x}"} | ({"parentSpanId": f"{parent:016x}"} if parent else {})
    return ids | {"name": name, "startTimeUnixNano": str(id), "endTimeUnixNano": str(id + 9), "attributes": pairs}


ANSWER = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "The refund was created."}]}])
AGENT = otlp_span(1, "invoke_agent a", gen_ai__operation__name="invoke_agent", gen_ai__output__messages=ANSWER)
TOOL = otlp_span(
    2, "execute_tool create_refund", 1,
    gen_ai__operation__name="execute_tool", gen_ai__tool__name="create_refund", gen_ai__tool__call__result=REFUSED,
)  # fmt: skip


def protobuf(document: dict[str, Any]) -> bytes:
    """The same request in protobuf."""
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    message = json_format.ParseDict(document, ExportTraceServiceRequest())
    for read, raw in zip(message.resource_spans[0].scope_spans[0].spans, (AGENT, TOOL), strict=True):
        read.trace_id, read.span_id = bytes.fromhex(raw["traceId"]), bytes.fromhex(raw["spanId"])
        read.parent_span_id = bytes.fromhex(raw.get("parentSpanId", ""))
    return message.SerializeToString()


def test_traces_are_read_from_json_and_protobuf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Found out without any extension, also packed, also one request a line."""
    document = otlp(AGENT, TOOL)
    forms = {
        "spans": json.dumps(document).encode(),
        "pretty": json.dumps(document, indent=1).encode(),
        "split": json.dumps(otlp(TOOL)).encode() + b"\n" + json.dumps(otlp(AGENT)).encode(),
        "proto": protobuf(document),
        "proto.gz": gzip.compress(protobuf(document)),
    }
    for name, data in forms.items():
        (tmp_path / name).write_bytes(data)
        code, out, err = check(capsys, str(tmp_path / name))
        assert code == 1, (name, err)
        assert f"CONTRADICTED  {'ab' * 16}/{1:016x}" in out
        assert f"span {2:016x}" in out


def test_one_trace_may_be_spread_over_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Client and server export apart; the call is in one file, the agent in the other."""
    first, second = lines(tmp_path / "a.json", otlp(TOOL)), lines(tmp_path / "b.json", otlp(AGENT))
    code, out, _ = check(capsys, first, second)
    assert code == 1
    assert "1 run, 1 accused" in out


def test_control_characters_of_a_run_never_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape sequences, line breaks and direction marks in ids and words are written out."""
    bad = run("a\x1b[2Jb\nc\u202e", REFUSED, answer="The refund pay_1 was created\x1b]0;x\x07 successfully.")
    _, out, _ = check(capsys, lines(tmp_path / "r.jsonl", bad))
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\u202e" not in out
    assert "a\\x1b[2Jb c\\u202e" in out


def test_what_could_not_be_judged_is_counted_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that was cut off is never accused, and never silently passed over."""
    cut = BAD | {"messages": BAD["messages"][:-1]}
    code, out, _ = check(capsys, lines(tmp_path / "r.jsonl", cut))
    assert code == 0
    assert "not seen  the agent's last word is missing" in out
    assert out.endswith("1 run, 0 accused, 1 could not be judged (no_final_message 1)\n")


def test_runs_of_traces_come_by_their_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trace ids are random, so they give no order that a reader could follow."""
    early, late = ({"traceId": id * 32, "startTimeUnixNano": start} for id, start in (("f", "5"), ("e", "9")))
    path = lines(tmp_path / "a.json", otlp(AGENT | late), otlp(AGENT | early))
    _, out, _ = check(capsys, path, "--verdict-only")
    assert [line.split("\t")[1][0] for line in out.splitlines()[:2]] == ["f", "e"]


def test_of_many_failed_calls_only_the_first_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An accusation stays readable; the rows hold all calls."""
    path = lines(tmp_path / "r.jsonl", run("many", *[REFUSED] * 40))
    _, out, _ = check(capsys, path)
    assert len(out.splitlines()) < 25
    _, out, _ = check(capsys, path, "--format", "jsonl")
    assert len(json.loads(out)["calls"]) == 40


def test_a_minimum_confidence_decides_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is less sure is shown and counted, and lets the gate open."""
    file = lines(tmp_path / "r.jsonl", BAD)
    code, out, _ = check(capsys, file, "--min-confidence", "1")
    assert code == 0
    assert "CONTRADICTED  bad" in out
    assert "1 of the accusations below confidence 1" in out
    assert check(capsys, file, "--min-confidence", "0.5")[0] == 1


def test_a_minimum_confidence_is_a_probability(capsys: pytest.CaptureFixture[str]) -> None:
    """Anything else is refused, and the message shows it."""
    for given in ("7", "-1", "nan", "high"):
        with pytest.raises(SystemExit):
            check(capsys, "x.jsonl", "--min-confidence", given)
        assert f"invalid probability value: '{given}'" in capsys.readouterr().err


def test_expectations_are_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A second --expect does not silently take the place of the first."""
    with pytest.raises(SystemExit, match="2"):
        main(["check", "--expect", "a.yaml", "--expect", "payments", "runs.jsonl"])
    assert "--expect was given twice (a.yaml and payments)" in capsys.readouterr().err
