"""Procedures on small runs written as data: what holds, what is broken, and what says nothing either way."""

from __future__ import annotations

import re
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overclaim._errors import InputError
from overclaim.outcome.judge import judge as judge_claims
from overclaim.outcome.lexicon import verbs
from overclaim.outcome.model import (
    Call,
    Effect,
    Evidence,
    Finding,
    Grade,
    Observation,
    Operation,
    Outcome,
    Run,
    Verdict,
)
from overclaim.outcome.tool_names import snake
from overclaim.procedures import Activity, Procedure, judge, load, with_violations
from overclaim.procedures.model import Order
from overclaim.procedures.patterns import fit, pattern


def run(*steps: str, **known: Any) -> Run:
    """A run of steps such as "charge", "charge! a-1" (failed), "charge? b-2 c-3" (unknown), with their targets."""
    return Run("r", tuple(_call(index, *step.split()) for index, step in enumerate(steps)), **known)


def _call(index: int, name: str, *targets: str) -> Call:
    marks = {"!": Outcome.FAILURE, "?": Outcome.UNKNOWN, "~": Outcome.PENDING, "0": Outcome.EMPTY}
    outcome = marks.get(name[-1], Outcome.SUCCESS)
    tool = name.rstrip("!?~0")
    action = verbs()[word].name if (word := tool.partition("_")[0]) in verbs() else ""
    operation = Operation(action, targets=targets, effect=Effect.WRITE, key=" ".join((tool, *targets)))
    return Call(index, tool, operation, Observation(outcome, Grade.STRUCTURED), span_id=f"{index:016x}")


def broken(declared: dict[str, Any], made: Run) -> list[tuple[str, tuple[int, ...]]]:
    """The rules and calls of what is found."""
    return [(finding.rule, finding.calls) for finding in judge(made, load([{"id": "p", **declared}]))]


PRECEDENCE = {"precedence": {"first": "authorize", "then": "capture"}}
RESPONSE = {"response": {"when": "edit_*", "then": "run_tests"}}
SUCCESSION = {"succession": {"first": "lock", "then": "unlock"}}
NOT_AFTER = {"not_after": {"after": "close", "never": "write"}}
AFTER_FAILURE = {"not_after": {"after": {"tool": "charge", "outcome": "failure"}, "never": "receipt"}}
TOGETHER = {"not_together": ["approve", "reject"]}
ABSENCE = {"absence": "drop_*"}
EXISTENCE = {"existence": "log"}
EXACTLY = {"exactly": {"times": 1, "of": "charge"}}
AT_LEAST = {"at_least": {"times": 2, "of": "check"}}
AT_MOST = {"at_most": {"times": 1, "of": "charge"}}
FIRST = {"first": "login"}
LAST = {"last": "logout"}

HOLDS: list[tuple[dict[str, Any], Run]] = [
    (PRECEDENCE, run("authorize", "look", "capture", "capture")),
    (PRECEDENCE, run("authorize?", "capture")),
    (PRECEDENCE, run("authorize", "authorize!", "capture")),
    ({**PRECEDENCE, "within": 2}, run("authorize", "look", "capture")),
    ({**PRECEDENCE, "per": "target"}, run("authorize a-1", "capture b-2 a-1")),
    ({**PRECEDENCE, "per": "target"}, run("authorize", "capture a-1")),
    (RESPONSE, run("edit_file", "edit_file", "run_tests")),
    ({**RESPONSE, "unless": "revert"}, run("edit_file", "revert")),
    ({**RESPONSE, "within": 1}, run("edit_file", "run_tests", "look")),
    ({**RESPONSE, "per": "target"}, run("edit_file a", "run_tests")),
    (SUCCESSION, run("lock", "unlock")),
    (NOT_AFTER, run("write", "close")),
    (NOT_AFTER, run("close", "write!")),
    ({**NOT_AFTER, "unless": "open"}, run("close", "open", "write")),
    ({**NOT_AFTER, "within": 1}, run("close", "look", "write")),
    ({**NOT_AFTER, "per": "target"}, run("close a", "write b")),
    ({**NOT_AFTER, "per": "target"}, run("close", "write b")),
    (AFTER_FAILURE, run("charge!", "charge", "receipt")),
    (AFTER_FAILURE, run("charge?", "receipt")),
    (TOGETHER, run("approve", "approve")),
    ({**TOGETHER, "per": "target"}, run("approve a", "reject b")),
    (ABSENCE, run("drop_table!", "create_table")),
    (EXISTENCE, run("look", "log")),
    (EXACTLY, run("charge!", "charge")),
    (AT_LEAST, run("check", "check", "check")),
    (AT_MOST, run("charge!", "charge!", "charge")),
    ({**AT_MOST, "per": "target"}, run("charge a", "charge b", "charge", "charge")),
    (FIRST, run("look!", "login")),
    (LAST, run("login", "logout", "look!")),
]
VIOLATED: list[tuple[dict[str, Any], Run, str, tuple[int, ...]]] = [
    (PRECEDENCE, run("capture", "authorize", "capture"), "OC401", (0,)),
    (PRECEDENCE, run("authorize!", "capture"), "OC401", (1,)),
    ({"precedence": {"first": {"tool": "authorize", "outcome": "success"}, "then": "capture"}},
     run("authorize?", "capture"), "OC401", (1,)),
    ({**PRECEDENCE, "within": 1}, run("authorize", "look", "capture"), "OC401", (2,)),
    ({**PRECEDENCE, "per": "target"}, run("authorize a-1", "capture b-2"), "OC401", (1,)),
    (RESPONSE, run("run_tests", "edit_file", "edit_doc"), "OC402", (1, 2)),
    (RESPONSE, run("edit_file", "run_tests!"), "OC402", (0,)),
    ({**RESPONSE, "within": 1}, run("edit_file", "look", "run_tests"), "OC402", (0,)),
    ({**RESPONSE, "unless": "revert"}, run("revert", "edit_file"), "OC402", (1,)),
    ({**RESPONSE, "per": "target"}, run("edit_file a", "run_tests b"), "OC402", (0,)),
    (SUCCESSION, run("lock", "look"), "OC402", (0,)),
    (SUCCESSION, run("unlock"), "OC401", (0,)),
    (NOT_AFTER, run("close", "look", "close", "write", "write"), "OC401", (3, 4, 2)),
    ({**NOT_AFTER, "unless": "open"}, run("open", "close", "write"), "OC401", (2, 1)),
    ({**NOT_AFTER, "per": "target"}, run("close a", "write b", "write c a"), "OC401", (2, 0)),
    (AFTER_FAILURE, run("charge", "charge!", "receipt"), "OC401", (2, 1)),
    (TOGETHER, run("reject", "look", "approve"), "OC403", (2, 0)),
    (ABSENCE, run("drop_table", "drop_index?"), "OC403", (0, 1)),
    ({"absence": {"action": "drop", "outcome": "any"}}, run("drop_table!"), "OC403", (0,)),
    (EXISTENCE, run("log!"), "OC402", ()),
    (EXACTLY, run("charge", "charge"), "OC404", (0, 1)),
    (EXACTLY, run("look"), "OC404", ()),
    (AT_LEAST, run("check", "look"), "OC404", (0,)),
    (AT_MOST, run("charge", "charge~"), "OC404", (0, 1)),
    ({**AT_MOST, "per": "target"}, run("charge a", "charge b", "charge a"), "OC404", (0, 2)),
    (FIRST, run("look", "login"), "OC401", (0,)),
    (LAST, run("logout", "look"), "OC401", (1,)),
]  # fmt: skip
VACUOUS = [PRECEDENCE, RESPONSE, SUCCESSION, NOT_AFTER, AFTER_FAILURE, TOGETHER, ABSENCE, AT_MOST, FIRST, LAST]
MISSING = [PRECEDENCE, RESPONSE, SUCCESSION, EXISTENCE, EXACTLY, AT_LEAST, FIRST, LAST]


@pytest.mark.parametrize(("declared", "made"), HOLDS)
def test_what_is_kept_is_not_reported(declared: dict[str, Any], made: Run) -> None:
    """The calls keep the procedure."""
    assert broken(declared, made) == []


@pytest.mark.parametrize(("declared", "made", "rule", "calls"), VIOLATED)
def test_what_is_broken_is_reported(declared: dict[str, Any], made: Run, rule: str, calls: tuple[int, ...]) -> None:
    """One finding, with the calls that break the procedure and what the first of them goes against."""
    assert broken(declared, made) == [(rule, calls)]


@pytest.mark.parametrize("declared", VACUOUS)
def test_a_run_without_calls_breaks_no_order(declared: dict[str, Any]) -> None:
    """Where nothing was done, nothing was done in the wrong order or too often."""
    assert broken(declared, run()) == []


@pytest.mark.parametrize("declared", MISSING)
@pytest.mark.parametrize("unseen", [{"complete": False}, {"captured": False}])
def test_a_call_that_was_not_seen_may_have_been_made(declared: dict[str, Any], unseen: dict[str, bool]) -> None:
    """Where calls may be missing, nothing is reported that rests on the absence of one."""
    for made in (run(**unseen), run("capture", "edit_file", "lock", "check", "unlock", **unseen)):
        assert broken(declared, made) == []


@pytest.mark.parametrize("unseen", [{"complete": False}, {"captured": False}])
def test_what_is_there_counts_where_calls_are_missing(unseen: dict[str, bool]) -> None:
    """A forbidden call, and one too many, are reported all the same; a ban that might have been lifted is not."""
    assert broken(ABSENCE, run("drop_table", **unseen)) == [("OC403", (0,))]
    assert broken(EXACTLY, run("charge", "charge", **unseen)) == [("OC404", (0, 1))]
    assert broken(NOT_AFTER, run("close", "write", **unseen)) == [("OC401", (1, 0))]
    assert broken({**NOT_AFTER, "unless": "open"}, run("close", "write", **unseen)) == []
    assert broken({**NOT_AFTER, "within": 3}, run("close", "write", **unseen)) == []


@pytest.mark.parametrize(
    ("outcome", "grade", "effect", "counts"),
    [
        (Outcome.FAILURE, Grade.SUSPECT, Effect.WRITE, True),
        (Outcome.FAILURE, Grade.INFERRED, Effect.READ, False),
        (Outcome.EMPTY, Grade.STRUCTURED, Effect.WRITE, False),
        (Outcome.EMPTY, Grade.STRUCTURED, Effect.READ, True),
        (Outcome.PENDING, Grade.STRUCTURED, Effect.WRITE, True),
    ],
)
def test_what_is_not_known_to_have_failed_counts(outcome: Outcome, grade: Grade, effect: Effect, counts: bool) -> None:
    """A suspicion is no failure; a write of nothing is one, a look that found nothing is not."""
    made = Run("r", (Call(0, "step", Operation(effect=effect), Observation(outcome, grade)),))
    assert (broken({"existence": "step"}, made) == []) is counts


def test_only_the_agents_that_are_meant_are_judged() -> None:
    """The agent's name is a pattern; a run of which no agent is known fits only `*`."""
    declared = {**ABSENCE, "agent": "Pay*"}
    assert broken(declared, run("drop_all", agent="payer")) == [("OC403", (0,))]
    assert broken(declared, run("drop_all", agent="clerk")) == []
    assert broken(declared, run("drop_all")) == []


def test_a_finding_says_what_was_declared_and_where() -> None:
    """The rule, the severity, a title for people, and the procedure's id as the value of its evidence."""
    declared = load([{"id": "auth-first", "severity": "low", "per": "target", **PRECEDENCE}])
    title = "Calls came in an order that a procedure forbids: authorize before capture, on the same target"
    fact = Evidence("procedure", "procedure.precedence", Outcome.FAILURE, Grade.STRUCTURED, "auth-first", "", "0" * 16)
    assert judge(run("capture a"), declared) == (Finding("OC401", "low", title, (0,), evidence=(fact,)),)


def test_a_long_finding_is_cut() -> None:
    """However many calls break a procedure, a finding shows the first of them."""
    ((_, calls),) = broken(ABSENCE, run(*["drop_table"] * 100))
    assert calls == tuple(range(16))


def test_a_judgement_takes_the_findings_in() -> None:
    """The verdict is about claims and stays; what has no finding stays the same object."""
    judgement = judge_claims(run("drop_table"))
    found = with_violations(judgement, load([{"id": "p", **ABSENCE}]))
    assert found.verdict is judgement.verdict is Verdict.NO_CLAIM
    assert [finding.rule for finding in found.findings] == ["OC403"]
    assert "never drop_*" in str(found)
    assert with_violations(judgement, load([{"id": "p", **EXISTENCE, "agent": "none"}])) is judgement


def test_procedures_are_made_in_python_too() -> None:
    """Models and mappings say the same."""
    order = Order(first=Activity(tool=("authorize",)), then=Activity(tool=("capture",)))
    assert (Procedure(id="p", precedence=order),) == load([{"id": "p", **PRECEDENCE}])


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (PRECEDENCE, "authorize before capture"),
        ({**RESPONSE, "within": 3, "unless": "revert"}, "run_tests after edit_*, within 3 calls, unless revert"),
        (SUCCESSION, "lock before unlock, and that after it"),
        (AFTER_FAILURE, "never receipt after failed charge"),
        (TOGETHER, "not both approve and reject"),
        ({"absence": {"action": "drop", "tool": "*user*"}}, "never delete by *user*"),
        ({"existence": {"effect": "write"}}, "always write call"),
        (EXACTLY, "charge exactly 1 time"),
        (AT_LEAST, "check at least 2 times"),
        (AT_MOST, "charge at most 1 time"),
        (FIRST, "first of all login"),
        ({"last": {"tool": ["bye", "logout"], "outcome": "any"}}, "last of all tried bye or logout"),
        ({**LAST, "description": "Log out in the end."}, "Log out in the end"),
    ],
)
def test_a_procedure_is_told_in_words(declared: dict[str, Any], sentence: str) -> None:
    """The description, or else what the template says."""
    (procedure,) = load([{"id": "p", **declared}])
    assert procedure.sentence == sentence


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"id": "p"}, r"procedures\[0\]: has no template: give exactly one of precedence, "),
        ({"id": "p", **FIRST, **LAST}, r"procedures\[0\]: has first and last: give exactly one of"),
        ({"id": "p", "first": None}, r"procedures\[0\]: has no template"),
        ({"id": "p", "precedence": {"first": "a"}}, r"procedures\[0\]\.precedence\.then: is missing: add it"),
        ({"id": "p", "absence": {"tool": "x", "actoin": "y"}}, r"\.absence\.actoin: there is no such key"),
        ({"id": "p", "absence": {"action": "refnd"}}, r"\.absence\.action: 'refnd' is no action: use create, "),
        ({"id": "p", "absence": {"tool": "x", "outcome": "ok"}}, r"\.outcome: 'ok' is no outcome: use done, any, "),
        ({"id": "p", "absence": {"tool": "x", "outcome": []}}, r"no outcome would ever count"),
        ({"id": "p", "absence": {"outcome": "any"}}, r"\.absence: names no call"),
        ({"id": "p", "precedence": {"first": "a", "then": None}}, r"\.then: names no call"),
        ({"id": "p", "absence": {"tool": "[z-a]"}}, r"\.absence\.tool: no names fit '\[z-a\]'"),
        ({"id": "p", **ABSENCE, "agent": "[z-a]"}, r"\.agent: no names fit"),
        ({"id": "p q", **ABSENCE}, r"\.id: .* not 'p q'"),
        ({"id": "p", **ABSENCE, "severity": "loud"}, r"\.severity: .*'high', 'medium' or 'low', not 'loud'"),
        ({"id": "p", **ABSENCE, "within": 2}, r"within means nothing with absence: .* use precedence, response, "),
        ({"id": "p", **NOT_AFTER, "within": 0}, r"\.within: .*, not 0"),
        ({"id": "p", **PRECEDENCE, "unless": "x"}, r"unless means nothing with precedence: .* response or not_after"),
        ({"id": "p", **EXACTLY, "per": "target"}, r"per: target means nothing with exactly: .* or at_most"),
        ({"id": "p", "exactly": {"times": -1, "of": "x"}}, r"\.exactly\.times: .*, not -1"),
        ({"id": "p", "not_together": ["a"]}, r"\.not_together: .* at least 2 items"),
        ("p", r"procedures\[0\]: .*, not 'p'"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_its_cure(declared: object, message: str) -> None:
    """Where it is, what is there, and what to write instead."""
    with pytest.raises(InputError, match=message):
        load([declared])


def test_an_id_is_used_once() -> None:
    """Two procedures with one id are refused; what is no list of them as well."""
    with pytest.raises(InputError, match="procedures: two procedures have the id 'p'"):
        load([{"id": "p", **ABSENCE}, {"id": "p", **FIRST}])
    with pytest.raises(InputError, match=r"procedures: must be a list, not {'id'"):
        load({"id": "p"})


@given(st.text("abB_*?[]!-^\\.&|~ÄÖ\n", min_size=1, max_size=8), st.text("abAB-][!^\\.&|~äÖ\n", max_size=6))
def test_a_pattern_is_the_same_to_every_engine(name: str, tool: str) -> None:
    """The expression for the store's engine fits exactly the names that Python says fit."""
    try:
        expression = pattern((name,))
    except ValueError:
        return
    fitting = any(re.fullmatch(expression, one) for one in (tool, snake(tool)))
    assert fitting is fit((name,), tool)


def test_no_name_takes_long_to_compare() -> None:
    """A tool's name comes from elsewhere: one that nearly fits many wildcards is still compared at once."""
    started = process_time()
    assert not fit(("*a" * 60 + "*b",), "a" * 150)
    assert process_time() - started < 1
