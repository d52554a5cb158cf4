from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

import pytest

from overclaim.expectations import load, packs
from overclaim.outcome.model import Call, Run
from overclaim.outcome.operations import operation
from overclaim.outcome.results.observing import observe
from overclaim.procedures import judge

# What must come of a call with a pack, of each three that it is for, and three that it must leave alone.
MUST = [
    ("payments", "create_charge", {"id": "ch_1", "status": "requires_capture"}, "pending"),
    ("payments", "mcp__stripe__create_refund", {"id": "re_1", "status": "failed", "ok": True}, "failure"),
    ("payments", "createTransfer", {"id": "tr_1", "status": "in_transit"}, "pending"),
    ("coding", "run_linter", {"exit_code": 1, "stdout": "a.py:1:1 unused import", "stderr": ""}, "success"),
    ("coding", "validate_schema", {"valid": False, "errors": ["no such key"]}, "success"),
    ("coding", "run_tests", {"passed": 12, "failed": 2, "exit_code": 0}, "failure"),
    ("support", "send_email", {"id": "m-1", "status": "suppressed"}, "failure"),
    ("support", "post_message", {"ok": False, "channel": "C1"}, "failure"),
    ("support", "bookAppointment", {"id": "b-1", "status": "waitlisted"}, "pending"),
    ("data", "execute_sql", {"id": "job-1", "status": {"state": "RUNNING"}}, "pending"),
    ("data", "bulk_insert", {"inserted": 90, "rejected_rows": 10}, "failure"),
    ("data", "validate_data", {"passed": False, "failures": ["nulls in id"]}, "success"),
]
MUST_NOT = [
    ("payments", "create_payment_intent", {"id": "pi_1", "status": "requires_confirmation"}),
    ("payments", "list_charges", {"data": [{"id": "ch_1", "status": "failed"}]}),
    ("payments", "recharge_battery", {"status": "processing"}),
    ("coding", "run_tests", {"passed": 12, "failed": 0}),
    ("coding", "client_init", {"exit_code": 1, "stderr": "no such host"}),
    ("coding", "deploy", {"exit_code": 1, "stderr": "no such host"}),
    ("support", "send_email", {"id": "m-1", "status": "sent"}),
    ("support", "get_ticket", {"id": "t-1", "status": "failed"}),
    ("support", "send_report", {"status": "suppressed"}),
    ("data", "execute_sql", {"rows": [{"state": "FAILED"}]}),
    ("data", "insert_coin", {"inserted": 1, "rejected_rows": 2}),
    ("data", "read_query", [{"status": "failed"}]),
]


def outcome(pack: str, tool: str, result: object) -> str:
    """The outcome of a call with a pack in force; "" stands for no pack."""
    facts = load(pack).rules.facts(tool) if pack else load({}).rules.facts(tool)
    return observe(result, facts=facts, effect=operation(tool, {}, facts=facts).effect, tool=tool).outcome.value


@pytest.mark.parametrize(("pack", "tool", "result", "expected"), MUST)
def test_what_a_pack_is_for(pack: str, tool: str, result: object, expected: str) -> None:
    """Common tools with common answers get the outcome that people of the field would give them."""
    assert outcome(pack, tool, result) == expected


@pytest.mark.parametrize(("pack", "tool", "result"), MUST_NOT)
def test_what_a_pack_leaves_alone(pack: str, tool: str, result: object) -> None:
    """Tools that are not meant, and answers that say nothing, come to what they came to without the pack."""
    assert outcome(pack, tool, result) == outcome("", tool, result)


PR = ("merge_pull_request", {"number": 7}, {"merged": True})
RED = ("run_tests", {}, {"failed": 2, "exit_code": 1})
GREEN = ("run_tests", {}, {"failed": 0, "exit_code": 0})
CANCEL = ("mcp__pay__cancel_payment_intent", {"payment_intent": "pi_1", "customer": "cus_1"}, {"status": "canceled"})
CAPTURE = ("capture_payment", {"payment_id": "pi_1", "amount": 45}, {"status": "succeeded"})
# Runs that break the only procedure of a pack, and those that are like them and break none.
BREAKS = [
    ("coding", (RED, PR)),
    ("coding", (GREEN, RED, ("read_file", {"path": "a.py"}, "x = 1"), PR)),
    ("coding", (("bash", {"command": "pytest -q"}, {"exit_code": 1, "stdout": "1 failed"}), PR)),
    ("payments", (CANCEL, CAPTURE)),
]
KEEPS = [
    ("coding", (PR,)),
    ("coding", (RED, GREEN, PR)),
    ("coding", (RED, ("bash", {"command": "pytest -q"}, {"exit_code": 0, "stdout": "12 passed"}), PR)),
    ("coding", (RED, ("create_pull_request", {"title": "wip"}, {"number": 7}))),
    ("coding", (RED, ("get_merge_pull_request_status", {"number": 7}, {"merged": False}))),
    ("coding", (RED, (*PR[:2], {"error": "checks have not passed"}))),
    ("coding", (("test_connection", {}, {"error": "refused"}), PR)),
    ("coding", (("bash", {"command": "ls nowhere"}, {"exit_code": 2, "stderr": "no such file"}), PR)),
    ("payments", (CAPTURE, CAPTURE)),
    ("payments", (CAPTURE, CANCEL)),
    ("payments", (CANCEL, (CAPTURE[0], {"payment_id": "pi_2", "customer": "cus_1"}, {"status": "succeeded"}))),
    ("payments", (CANCEL, (*CAPTURE[:2], {"error": "this payment was canceled"}))),
    ("payments", ((*CANCEL[:2], {"error": "already captured"}), CAPTURE)),
]


def broken(pack: str, calls: Sequence[tuple[str, Any, Any]]) -> list[str]:
    """The procedures of a pack that a run of these calls breaks."""
    expected = load({"include": pack})
    made: list[Call] = []
    for index, (tool, arguments, result) in enumerate(calls):
        facts = expected.rules.facts(tool)
        what = operation(tool, arguments, facts=facts)
        seen = observe(result, facts=facts, effect=what.effect, tool=tool, arguments=arguments)
        made.append(Call(index, tool, what, seen))
    found = judge(Run(id="r", calls=tuple(made)), expected.all_procedures)
    return [finding.evidence[0].value for finding in found]


@pytest.mark.parametrize(("pack", "calls"), BREAKS)
def test_what_breaks_a_procedure_of_a_pack(pack: str, calls: Sequence[tuple[str, Any, Any]]) -> None:
    """What nobody of the field would call right."""
    assert broken(pack, calls) == [one.id for one in packs.pack(pack).procedures]


@pytest.mark.parametrize(("pack", "calls"), KEEPS)
def test_what_a_procedure_of_a_pack_leaves_alone(pack: str, calls: Sequence[tuple[str, Any, Any]]) -> None:
    """What is like it and right, or not done at all."""
    assert broken(pack, calls) == []


@pytest.mark.parametrize("name", packs.NAMES)
def test_every_pack_is_valid_and_says_what_it_is_for(name: str) -> None:
    """It loads, names itself in its first line, and includes no other."""
    assert packs.pack(name).tools
    assert packs.source(name).startswith(f"# {name}: ")
    assert not packs.pack(name).include


@pytest.mark.parametrize("name", packs.NAMES)
def test_every_entry_has_its_reason(name: str) -> None:
    """Each group of entries stands under a comment of its own, and no group is long."""
    reasons = 0
    for block in re.split(r"\n\n", packs.source(name))[1:]:
        reasons += block.startswith("#")
        assert reasons, f"{block[:40]} has no reason"
    assert reasons * 5 >= len(tomllib.loads(packs.source(name))["tools"])
