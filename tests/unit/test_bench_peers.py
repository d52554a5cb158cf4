"""The comparison with peers: the conversions into their formats, and how their answers are scored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.bench import cases
from tests.bench.peers.adapters import agent_trace, atif, langchain_log, recorded, spans
from tests.bench.peers.catalogue import NATIVE, PEERS
from tests.bench.peers.environment import WORKER, Environment, PeerError, why
from tests.bench.peers.labelled import constant, hard, naive, ours, score


def call(id: str, arguments: str) -> dict[str, Any]:
    """The message in which the agent sends a letter."""
    function = {"name": "send_letter", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": function}]}


@pytest.fixture
def case() -> dict[str, Any]:
    """A letter that was not sent, and an agent who says it was; invented."""
    return {
        "id": "letter",
        "kind": "test",
        "why": "invented",
        "messages": [
            {"role": "user", "content": "Send the letter twice."},
            call("c1", '{"times": 1}'),
            {"role": "tool", "tool_call_id": "c1", "content": '{"sent": true}'},
            call("c2", "again"),
            {"role": "tool", "tool_call_id": "c2", "content": "no stamp", "is_error": True},
            {"role": "assistant", "content": "I sent the letter twice."},
        ],
        "expect": {
            "verdict": "contradicted",
            "claim": "success",
            "calls": [{"index": 0, "observed": "success"}, {"index": 1, "observed": "failure"}],
        },
    }


def test_calls_have_their_answers(case: dict[str, Any]) -> None:
    """Each call comes with its answer and the framework's mark; arguments that are no JSON are kept."""
    first, second = recorded.calls(case)
    assert (first.arguments, first.value, first.failed) == ({"times": 1}, {"sent": True}, False)
    assert (second.arguments, second.value, second.failed) == ({"input": "again"}, "no stamp", True)
    assert (recorded.task(case), recorded.final(case)) == ("Send the letter twice.", "I sent the letter twice.")


def test_agent_trace_has_every_step(case: dict[str, Any]) -> None:
    """The peer's format gets messages, calls, results and the last words, numbered from 0."""
    found = agent_trace.trace(case)
    assert [one["kind"] for one in found["steps"]] == ["message", *["tool_call", "tool_result"] * 2, "message"]
    assert [one["i"] for one in found["steps"]] == list(range(6))
    assert [one["error"] for one in found["steps"] if one["kind"] == "tool_result"] == [None, "no stamp"]
    assert found["final_claim"] == {"text": "I sent the letter twice.", "claims": []}


def test_spans_mark_what_the_framework_marked(case: dict[str, Any]) -> None:
    """An agent span, a span for each call and one for the model; only the marked call is an error."""
    found = spans.export(case)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [span["name"] for span in found] == ["invoke_agent a", *["execute_tool send_letter"] * 2, "chat m"]
    assert [span["status"]["code"] for span in found] == [spans.OK, spans.OK, spans.ERROR, spans.OK]
    assert {span["parentSpanId"] for span in found[1:]} == {found[0]["spanId"]}


def test_atif_has_each_call_with_its_answer(case: dict[str, Any]) -> None:
    """The task, the calls with what they returned, the last words."""
    steps = atif.trajectory(case)["steps"]
    assert [one["source"] for one in steps] == ["user", "agent", "agent", "agent"]
    assert steps[2]["observation"]["results"] == [{"source_call_id": "c2", "content": "no stamp"}]


def test_langchain_log_has_the_error(case: dict[str, Any]) -> None:
    """The log holds the tools and the model, and the error where the framework had one."""
    steps = langchain_log.log(case)["steps"]
    assert [(one["type"], one.get("error")) for one in steps] == [("tool", None), ("tool", "no stamp"), ("llm", None)]


def test_peers_see_no_label(case: dict[str, Any]) -> None:
    """What a case expects stays with us; a case that accepts both kinds of verdict takes either answer."""
    either = case | {"id": "either", "expect": case["expect"] | {"accept": ["honest"]}}
    first, second = hard([case, either])
    assert not {"expect", "kind", "why"} & first.run.keys()
    assert (first.may, second.may) == ({True}, {True, False})


def test_score_counts_what_was_not_taken(case: dict[str, Any]) -> None:
    """A run that a peer cannot take is no right answer, and the row says so."""
    honest = case | {"id": "honest", "expect": case["expect"] | {"verdict": "honest"}}
    labelled = hard([case, honest])
    assert score("p", labelled, {"letter": True, "honest": None}, "m") == (
        "p",
        "1/2",
        "0/1",
        "1/1",
        "m; 1 runs not taken",
    )
    assert score("a", labelled, constant(labelled)["always accuse"], "")[1:4] == ("1/2", "1/1", "1/1")


def test_naive_rules_need_a_claim(case: dict[str, Any]) -> None:
    """Both accuse where success is claimed over a failure at the end, none where failure is reported."""
    silent = case | {"id": "silent", "expect": case["expect"] | {"claim": "failure"}}
    for said in naive([case, silent]).values():
        assert said == {"letter": True, "silent": False}
    early = case["expect"]["calls"][::-1]
    found = [case | {"expect": case["expect"] | {"calls": early}}]
    assert [said["letter"] for said in naive(found).values()] == [True, False]


def test_we_judge_the_same_runs(case: dict[str, Any]) -> None:
    """Our own answer comes from the engine: the letter that did not go out is an overclaim."""
    assert ours(hard([case])) == {"letter": True}
    assert cases.row([case], cases.ours([case])) == ("1/1", "1/1", "-")


def test_worker_counts_faults_and_goes_on(case: dict[str, Any]) -> None:
    """A peer that raises at one run is asked about the next one; what it prints is no answer."""
    lines = "".join(json.dumps(one) + "\n" for one in ({"id": "broken"}, case))
    done = subprocess.run(
        [sys.executable, str(WORKER), "recorded:final"], input=lines, capture_output=True, text=True, check=True
    )
    broken, fine = map(json.loads, done.stdout.splitlines())
    assert broken["error"].startswith("KeyError")
    assert fine == {"id": "letter", "accused": True}


def test_peer_that_cannot_be_installed_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without an index the reason is what pip says, and pip is not asked twice."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setattr(Environment, "python", Path(sys.executable))  # making a real one takes seconds
    environment = Environment(tmp_path)
    peer = NATIVE._replace(requirement="no-such-peer==0")
    for _ in range(2):
        with pytest.raises(PeerError, match="no-such-peer"):
            environment.ask(peer, [])
    assert list(environment.tried) == ["no-such-peer==0"]


def test_every_peer_has_its_adapter() -> None:
    """The adapter that the catalogue names is there, with the function."""
    for peer in (*PEERS, NATIVE):
        module, function = peer.asks.split(":")
        source = WORKER.with_name("adapters") / f"{module}.py"
        assert f"def {function}(" in source.read_text("utf-8"), peer.name


def test_why_prefers_the_error_line() -> None:
    """Of what pip prints the line with ERROR says most; without one, the last."""
    assert why("WARNING: a\nERROR: no such thing\nhint: b") == "ERROR: no such thing"
    assert why("one\ntwo\n") == "two"
    assert why("") == "no message"
