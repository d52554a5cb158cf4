from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overclaim._errors import InputError
from overclaim.cli import main
from overclaim.normals_file import load, save
from overclaim.outcome.judge import judge
from overclaim.outcome.model import (
    BoundClaim,
    Call,
    Claim,
    Effect,
    Evidence,
    Grade,
    Observation,
    Operation,
    Outcome,
    Run,
    ToolFacts,
    Verdict,
)
from overclaim.outcome.normals import ENOUGH, SURE, Counts, Normals, apply, learn, votes
from overclaim.outcome.results.observing import observe

S, F, P, E = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY
VOID = Evidence("empty_result", "empty.void", S, Grade.INFERRED)
ACTIONS = {"book_room": "book", "send_sms": "send", "bash": "delete", "find_user": "search", "read_file": "read"}


def call(tool: str, *facts: Evidence, outcome: Outcome = S, index: int = 0, grade: Grade = Grade.INFERRED) -> Call:
    """A call of a tool, with the action that its name says."""
    effect = Effect.READ if ACTIONS[tool] in ("search", "read") else Effect.WRITE
    operation = Operation(ACTIONS[tool], effect=effect, key=f"{tool}:{index}")
    return Call(index, tool, operation, Observation(outcome, grade, facts), span_id=f"{index:016x}")


def run(*calls: Call, claims: tuple[BoundClaim, ...] = ()) -> Run:
    """A run of these calls."""
    return Run("r", calls, claims, claimed=S)


def missed(kind: str = "exception", rule: str = "exception.raised", value: str = "UserNotFoundError") -> Call:
    """A search that failed because there is nothing to find."""
    return call("find_user", Evidence(kind, rule, F, Grade.STRUCTURED, value), outcome=F, grade=Grade.STRUCTURED)


def times(count: int, one: Run) -> list[Run]:
    """So many runs like this one."""
    return [replace(one, id=f"{one.id} {number} of {count}") for number in range(count)]


DATA, NOTHING = run(call("book_room")), run(call("book_room", VOID))


def test_nothing_from_a_tool_that_returns_data_is_unusual() -> None:
    """The call is then empty, says in how many runs it was not, and what was known of it stays."""
    (seen,) = apply(NOTHING, learn([*times(8, DATA), NOTHING])).calls
    assert seen.observed.outcome is E
    assert [(one.rule, one.value) for one in seen.observed.evidence] == [
        ("empty.unusual", "data in 8 of 8 other runs"), ("empty.void", ""),
    ]  # fmt: skip


def test_nothing_from_a_tool_that_returns_nothing_is_usual() -> None:
    """Void tools stay what they are, and so does a tool of which too little is known."""
    assert apply(NOTHING, learn(times(9, NOTHING))) is not None
    for others in (times(9, NOTHING), times(ENOUGH - 1, DATA), [*times(5, DATA), *times(5, NOTHING)], []):
        assert apply(NOTHING, learn([*others, NOTHING])) == NOTHING


def test_a_run_has_no_vote_about_itself() -> None:
    """Many calls in one run are one voice, and it does not count for its own verdict."""
    many = run(*(call("book_room", VOID, index=index) for index in range(40)))
    seen = apply(many, learn([*times(8, DATA), many]))
    assert {one.observed.outcome for one in seen.calls} == {E}
    assert votes(many) == {"book_room": Counts(changed=1, void=1)}


def test_too_few_other_runs_say_nothing() -> None:
    """Not even with what the tool returned in the same run: that is no other run."""
    mixed = run(call("book_room"), call("book_room", VOID, index=1))
    assert apply(mixed, learn(times(ENOUGH - 1, DATA))) == mixed
    seen = apply(mixed, learn(times(ENOUGH, DATA)))
    assert [one.observed.outcome for one in seen.calls] == [S, E]


@pytest.mark.parametrize(("void", "told"), [(0, True), (1, False)])
def test_it_takes_nine_of_ten_to_be_sure(void: int, told: bool) -> None:
    """Of eight other runs all must have returned data."""
    seen = apply(NOTHING, learn([*times(8 - void, DATA), *times(void, NOTHING)]))
    assert (seen != NOTHING) is told


def test_an_empty_list_is_data() -> None:
    """Who takes the last label away gets the labels that are left: none."""
    container = replace(VOID, rule="empty.container")
    empty = run(call("book_room", container))
    assert apply(empty, learn(times(50, DATA))) == empty
    assert votes(empty) == {"book_room": Counts(changed=1)}


def test_a_run_that_is_met_again_has_one_vote() -> None:
    """Whatever is new in it, and in any order; and none about itself, however it looked before."""
    other = run(call("book_room"), call("send_sms", VOID))
    runs = [DATA, NOTHING, other, run(missed())] * 3
    shuffled = random.Random(2).sample(runs, len(runs))
    found = list(learn(runs).items())
    assert found == list(learn(shuffled).items())
    assert found == [
        ("", "book_room", Counts(1, 1)), ("", "find_user", Counts(looked=1, missed=1)), ("", "send_sms", Counts(1, 1)),
    ]  # fmt: skip
    normals = learn([*runs, *times(4, DATA)])
    assert normals.others(NOTHING)["book_room"] == Counts(4)
    assert normals.others(replace(NOTHING, trace_id="t"))["book_room"] == Counts(5, 1)


@pytest.mark.parametrize(("share", "power"), [(0.02, 0.95), (0.05, 0.9), (0.1, 0.75)])
def test_a_minority_of_faults_is_seen(share: float, power: float) -> None:
    """Where up to a tenth of the answers of a tool are faulty, most faults are still told apart."""
    dice = random.Random(int(share * 100))
    told = []
    for size in (12, 30, 100):
        for _ in range(60):
            runs = [replace(NOTHING if dice.random() < share else DATA, id=str(n)) for n in range(size)]
            told.append(apply(NOTHING, learn(runs)) != NOTHING)
    assert sum(told) >= power * len(told)


def test_a_tool_that_does_either_is_left_alone() -> None:
    """Where from three in ten to all answers of a tool are void, none of them is called unusual, but for bad luck."""
    dice = random.Random(5)
    told = []
    for share in (0.3, 0.4, 0.5, 0.7, 0.9, 1.0):
        for _ in range(100):
            runs = [replace(NOTHING if dice.random() < share else DATA, id=str(n)) for n in range(40)]
            told.append(apply(NOTHING, learn(runs)) != NOTHING)
    assert sum(told) <= 0.05 * len(told)


def test_tools_that_can_do_anything_have_no_normal() -> None:
    """What a shell deletes says nothing, and whether it prints depends on the command."""
    silent = run(call("bash", VOID))
    assert apply(silent, learn(times(50, run(call("bash"))))) == silent


@pytest.mark.parametrize("value", [204, 200])
def test_a_status_that_says_done_is_believed(value: int) -> None:
    """An answer without a body is no fault where HTTP says that it worked."""
    fact = Evidence("http_status", "http.status_2xx", S, Grade.STRUCTURED, str(value))
    told = run(call("book_room", fact, VOID, grade=Grade.STRUCTURED))
    assert apply(told, learn(times(50, DATA))) == told


@pytest.mark.parametrize("empty_ok", [True, False])
def test_what_is_declared_goes_first(empty_ok: bool) -> None:
    """empty_ok: true is never unusual; empty_ok: false is empty with or without normals."""
    seen = observe("", facts=ToolFacts(read_only=False, empty_ok=empty_ok))
    declared = run(Call(0, "book_room", Operation("book", effect=Effect.WRITE, key="k"), seen))
    assert seen.outcome is (S if empty_ok else E)
    assert apply(declared, learn(times(50, DATA))) == declared


def test_services_are_told_apart() -> None:
    """Tools of one name may be others elsewhere."""
    other = Run("r", DATA.calls, service="billing")
    assert apply(NOTHING, learn(times(50, other))) == NOTHING


@pytest.mark.parametrize(
    "look",
    [missed(), missed("exception", "exception.text", "NoSuchUser"), missed("http_status", "http.status_4xx", "404")],
)
def test_a_search_that_often_finds_nothing_did_not_fail(look: Call) -> None:
    """Its "not found" is an answer then, and no longer a failure that nobody noticed."""
    usual = learn([*times(4, run(look)), *times(20, run(call("find_user")))])
    assert judge(run(look)).findings
    seen = apply(run(look), usual)
    assert [one.observed.outcome for one in seen.calls] == [E]
    assert seen.calls[0].observed.evidence[0].rule == "empty.usual_miss"
    assert judge(seen).findings == ()


def test_a_rare_or_another_failure_stays_one() -> None:
    """A miss that is new to the tool, a failure for another reason, and a look for one thing are failures."""
    found = times(200, run(call("find_user")))
    timeout = missed(value="TimeoutError")
    assert apply(run(missed()), learn([*found, *times(2, run(missed()))])) == run(missed())
    assert apply(run(timeout), learn(times(50, run(missed())))) == run(timeout)


@given(st.integers(0, 200), st.integers(0, 200))
def test_more_void_answers_never_make_data_more_probable(void: int, data: int) -> None:
    """The probability falls with each void answer and rises with each other, and stays within 0 and 1."""
    here = Counts(changed=void + data, void=void).returns_data
    assert 0 <= here <= 1
    assert Counts(changed=void + data + 1, void=void + 1).returns_data <= here + 1e-9


@given(st.lists(st.sampled_from([DATA, NOTHING, run(missed()), run(call("find_user")), run(call("bash", VOID))])))
def test_seeing_anew_twice_changes_nothing_more(runs: list[Run]) -> None:
    """Calls are only ever made empty, and a second look at them changes nothing."""
    normals = learn(runs)
    for one in runs:
        seen = apply(one, normals)
        assert apply(seen, normals) == seen
        assert {call.observed.outcome for call in seen.calls} <= {E, *(call.observed.outcome for call in one.calls)}


def test_the_order_of_runs_does_not_matter() -> None:
    """What is learned is a sum."""
    runs = [DATA, NOTHING, run(missed()), run(call("send_sms", VOID)), run(call("find_user"))] * 3
    shuffled = random.Random(1).sample(runs, len(runs))
    assert list(learn(runs).items()) == list(learn(shuffled).items())


def test_success_over_nothing_is_unsupported() -> None:
    """It is accused of having nothing to show, unless a later call did it, and never as a silent failure."""
    claim = BoundClaim(Claim(S, action="book"), (0,))
    seen = apply(run(call("book_room", VOID), claims=(claim,)), learn(times(9, DATA)))
    judged = judge(seen)
    assert (judged.verdict, judged.rule) == (Verdict.UNSUPPORTED, "operation.unusually_empty")
    assert [(one.rule, one.evidence[0].rule) for one in judged.findings] == [("OC102", "empty.unusual")]
    assert judge(apply(NOTHING, learn(times(9, DATA)))).findings == ()


def test_normals_are_written_and_read(tmp_path: Path) -> None:
    """A file holds what was learned; the rows of the report are read as well."""
    normals = learn([DATA, DATA, NOTHING, run(missed())])
    save(str(tmp_path / "n.json"), normals)
    assert list(load(str(tmp_path / "n.json")).items()) == list(normals.items())
    rows = [{"Service": "shop", "Tool": "pay", "Changed": 9, "Void": 1, "ReturnsData": 0.9, "Learned": "2026"}]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    assert load(str(tmp_path / "r.json")).of("shop", "pay") == Counts(9, 1)


@pytest.mark.parametrize("text", ["", "3", "[1]", '{"normals": [{"changed": 1}]}', '[{"tool": "x", "void": -1}]'])
def test_a_bad_file_is_named_with_a_cure(tmp_path: Path, text: str) -> None:
    """Nobody has to guess what is wrong with it."""
    path = tmp_path / "n.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"n\.json.*--save-normals"):
        load(str(path))


def transcript(number: int, result: str) -> dict[str, Any]:
    """A run that books a room and says so."""
    asked = {"name": "book_room", "arguments": json.dumps({"room": f"R-{number}"})}
    return {
        "id": f"run-{number}",
        "messages": [
            {"role": "user", "content": f"Book room R-{number}."},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": asked}]},
            {"role": "tool", "tool_call_id": "c", "content": result},
            {"role": "assistant", "content": f"I have booked room R-{number}."},
        ],
    }


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Nine runs whose tool returns data, and one where it returns nothing."""
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text("".join(json.dumps(transcript(n, f'{{"booking": "B-{n}"}}')) + "\n" for n in range(9)))
    bad.write_text(json.dumps(transcript(9, "")) + "\n")
    return str(good), str(bad)


def test_check_learns_from_the_files_it_is_given(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Alone the run is fine; beside others of its kind it is accused, with the figures."""
    assert main(["check", files[1]]) == 0
    assert main(["check", *files, "--normals", "off"]) == 0
    assert main(["check", *files]) == 1
    assert "data in 9 of 9 other runs" in capsys.readouterr().out


def test_check_reads_normals_from_a_file(files: tuple[str, str], tmp_path: Path) -> None:
    """What was learned on one day judges the runs of another."""
    saved = str(tmp_path / "normals.json")
    assert main(["check", files[0], "--save-normals", saved]) == 0
    assert main(["check", files[1], "--normals", saved]) == 1
    assert main(["check", files[1], "--normals", saved, "--save-normals", saved]) == 2
    assert main(["check", files[1], "--normals", str(tmp_path / "none.json")]) == 2


@pytest.mark.parametrize("ids", [True, False])
def test_a_file_given_twice_changes_no_verdict(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], ids: bool
) -> None:
    """Neither by its name nor as a copy under another one; runs without ids are told apart by what is in them."""
    few, copy = tmp_path / "few.jsonl", tmp_path / "copy.jsonl"
    rows = [transcript(n, f'{{"booking": "B-{n}"}}') for n in range(5)] + [transcript(9, "")]
    few.write_text("".join(json.dumps({k: v for k, v in row.items() if ids or k != "id"}) + "\n" for row in rows))
    copy.write_text(few.read_text())
    assert main(["check", str(few)]) == 0
    assert main(["check", str(few), str(few), str(copy)]) == 0
    assert main(["check", *files, files[1], *files, "--save-normals", str(tmp_path / "n.json")]) == 1
    assert "data in 9 of 9 other runs" in capsys.readouterr().out
    assert load(str(tmp_path / "n.json")).of("", "book_room") == Counts(10, 1)


def test_the_labels_that_are_left_may_be_none(tmp_path: Path) -> None:
    """A tool that answers with a list accuses nobody of the empty one, however many runs there are."""
    path = tmp_path / "lists.jsonl"
    rows = [transcript(n, json.dumps([f"B-{n}"])) for n in range(30)] + [transcript(99, "[]")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["check", str(path)]) == 0


def test_nothing_is_known_of_an_unknown_tool() -> None:
    """Its counts are zero, and zero says nothing."""
    assert Normals().of("", "x") == Counts()
    assert Counts().returns_data < SURE
    assert not Counts().misses
