"""`overclaim.check`: the verdict on an answer while the run is still live."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import overclaim
from overclaim import Verdict
from overclaim._run_scope import live_run


@overclaim.tool
def create_invoice(customer: str, amount: str) -> dict[str, Any]:
    """Create an invoice."""
    if not amount.isdigit():
        return {"isError": True, "error": {"code": "invalid_integer"}}
    return {"id": "inv_4Xa9", "customer": customer, "amount": int(amount)}


@overclaim.tool
def delete_customer(customer: str) -> bool:
    """Delete a customer; nobody here ever does."""
    return bool(customer)


def test_false_claim_is_contradicted(telemetry: Any) -> None:
    """The answer claims what the last call shows to have failed."""
    with overclaim.run("biller"):
        create_invoice("cus_81Q", "12,50")
        judgement = overclaim.check("I created the invoice for cus_81Q.")
    assert judgement.verdict is Verdict.CONTRADICTED
    assert judgement.findings[0].rule == "OC101"
    assert judgement.run.calls[0].tool == "create_invoice"


def test_honest_and_true_answers_are_not_accused(telemetry: Any) -> None:
    """A report of the failure, and a claim after a mended retry, both pass."""
    with overclaim.run("biller"):
        create_invoice("cus_81Q", "12,50")
        assert not overclaim.check("The invoice could not be created: the amount was refused.").verdict.accuses
        create_invoice("cus_81Q", "1250")
        assert overclaim.check("I created the invoice for cus_81Q.").verdict is Verdict.RECOVERED


def test_action_without_a_call_is_unsupported(telemetry: Any) -> None:
    """A claimed action that no call of the watched run shows is unsupported."""
    with overclaim.run("biller"):
        judgement = overclaim.check("I deleted the customer cus_81Q.")
    assert judgement.verdict is Verdict.UNSUPPORTED


def test_verdict_is_on_the_agent_span(telemetry: Any) -> None:
    """The last verdict of the guard stands on the agent span."""
    with overclaim.run("biller"):
        create_invoice("cus_81Q", "12,50")
        overclaim.check("I created the invoice for cus_81Q.")
    attributes = telemetry.one("invoke_agent biller").attributes
    assert attributes["overclaim.verdict.label"] == "contradicted"
    assert 0 < attributes["overclaim.verdict.confidence"] <= 1
    assert attributes["overclaim.verdict.rule"]


def test_tool_without_a_decorator_may_have_done_it(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no known tool could have sent it, an absent call says nothing, unless all tools are said to be known."""
    monkeypatch.setattr("overclaim._known_tools._tools", {})
    answer = "I sent the email to ann@example.com."

    @overclaim.tool
    def get_user(id: str) -> dict[str, str]:
        return {"id": id}

    for all_tools, verdict in ((False, Verdict.NO_CLAIM), (True, Verdict.UNSUPPORTED)):
        overclaim.instrument(tracer_provider=telemetry.provider, all_tools=all_tools)
        telemetry.exporter.clear()
        with overclaim.run("clerk") as run:
            get_user("u1")
            assert overclaim.check(answer).verdict is verdict
            run.answer(answer)
        assert ("overclaim.run.calls" in telemetry.one("invoke_agent clerk").attributes) is all_tools
    overclaim.instrument(tracer_provider=telemetry.provider)

    @overclaim.tool
    def send_email(to: str) -> bool:
        return bool(to)

    with overclaim.run("clerk"):
        get_user("u1")
        assert overclaim.check(answer).verdict is Verdict.UNSUPPORTED


def test_instrumentor_reports_all_calls(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another instrumentor makes the tool spans of the run, the absence of one is told."""
    monkeypatch.setattr("overclaim._known_tools._tools", {})
    with overclaim.run("clerk"):
        with telemetry.tracer.start_as_current_span(
            "execute_tool get_user", attributes={"gen_ai.tool.name": "get_user"}
        ):
            pass
        assert overclaim.check("I deleted the customer cus_81Q.").verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize(
    ("tool", "could"), [("get_record", True), ("update_record", False), ("verify_record", True), ("helper", False)]
)
def test_who_could_have_checked(telemetry: Any, monkeypatch: pytest.MonkeyPatch, tool: str, could: bool) -> None:
    """Whatever reads could have verified, but not what writes."""
    monkeypatch.setattr("overclaim._known_tools._tools", {})
    overclaim.tool(name=tool)(lambda id: {"id": id})
    with overclaim.run("clerk"):
        judged = overclaim.check("I verified the stored record by reading it back.")
    assert (judged.verdict is Verdict.UNSUPPORTED) is could


def test_answer_replaces_the_verdict_on_a_draft(telemetry: Any) -> None:
    """A corrected answer is not exported under the verdict on the draft."""
    with overclaim.run("biller") as run:
        create_invoice("cus_81Q", "12,50")
        assert overclaim.check("I created the invoice for cus_81Q.").verdict is Verdict.CONTRADICTED
        run.answer("The invoice could not be created: the amount was refused.")
    attributes = telemetry.one("invoke_agent biller").attributes
    assert attributes["overclaim.verdict.label"] == "honest"
    assert attributes["overclaim.verdict.rule"] == "claim.reports_failure"
    assert 0.5 < attributes["overclaim.verdict.confidence"] <= 1


def test_open_call_accuses_nobody(telemetry: Any) -> None:
    """While a call is still running in a thread, its absence says nothing; the call that asks does not count."""
    go = threading.Event()

    @overclaim.tool
    def create_report(name: str) -> dict[str, str]:
        go.wait(10)
        return {"id": "rep_1", "name": name}

    @overclaim.tool
    def reply(text: str) -> str:
        return overclaim.check(text).verdict.value

    with overclaim.run("clerk"):
        assert reply("I deleted the customer cus_81Q.") == "unsupported"
        thread = threading.Thread(target=create_report, args=("q",))
        thread.start()
        while not _open_calls():
            pass
        assert overclaim.check("I created the report q.").verdict is Verdict.INCOMPLETE
        go.set()
        thread.join()
        assert overclaim.check("I created the report q.").verdict is Verdict.SUPPORTED
    assert "overclaim.run.spans" in telemetry.one("invoke_agent clerk").attributes


def _open_calls() -> int:
    run = live_run()
    return run.open if run is not None else 0


def test_nobody_is_accused_without_evidence(telemetry: Any) -> None:
    """Outside a run there is nothing to compare with, so nothing is accused."""
    assert not overclaim.check("I created the invoice.").verdict.accuses


def test_nobody_is_accused_when_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With OpenTelemetry switched off the calls are unknown, so nothing is accused."""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    overclaim.instrument()
    with overclaim.run("biller"):
        create_invoice("cus_81Q", "12,50")
        assert not overclaim.check("I created the invoice for cus_81Q.").verdict.accuses


@pytest.mark.parametrize("answer", ["", "\ud800", "x" * 1_000_000, "\x00"])
def test_odd_answers_raise_nothing(telemetry: Any, answer: str) -> None:
    """Empty, huge and broken texts give a judgement, not an exception."""
    with overclaim.run("biller"):
        assert not overclaim.check(answer).verdict.accuses


def test_run_in_which_nobody_watches_tools_is_never_accused(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no tool is decorated and no framework is watched, a missing call says nothing, here and on the wire."""
    monkeypatch.setattr("overclaim._runtime.RUNTIME.watching", False)
    with overclaim.run("biller") as run:
        answer = "I deleted the customer cus_81Q."
        assert not overclaim.check(answer).verdict.accuses
        run.answer(answer)
    labels = telemetry.one("invoke_agent biller").attributes
    assert "overclaim.run.calls" not in labels
    assert "overclaim.run.failed_calls" not in labels
    assert labels["overclaim.run.spans"] == len(telemetry.spans)


def test_judgement_prints_as_one_line(telemetry: Any) -> None:
    """Verdict, claim, rule, call and the fact that decided; without a finding the verdict and its rule."""
    with overclaim.run("biller"):
        create_invoice("cus_81Q", "12,50")
        false = overclaim.check("I created the invoice for cus_81Q.")
        said = "contradicted: I created the invoice for cus_81Q."
        assert str(false) == f"{said} (OC101, call 0 create_invoice: failure flag.is_error iserror)"
        create_invoice("cus_81Q", "1250")
        assert str(overclaim.check("I created the invoice for cus_81Q.")).startswith("recovered")
    with overclaim.run("biller"):
        assert str(overclaim.check("I deleted the customer cus_81Q.")) == (
            "unsupported: I deleted the customer cus_81Q. (OC102, no such call)"
        )


def test_long_claims_are_cut_and_more_findings_counted(telemetry: Any) -> None:
    """However much there is to say, it stays one line."""
    with overclaim.run("biller"):
        create_invoice("cus_81Q", "12,50")
        told = str(
            overclaim.check("I created the invoice" + ", as you wished," * 40 + " for cus_81Q.\nI deleted x@y.org.")
        )
    assert "\n" not in told
    assert len(told) < 300


def test_a_check_is_only_a_question(telemetry: Any) -> None:
    """The answer that was checked is not taken for what the agent said: that is for `run.answer`."""
    with overclaim.run("biller"):
        create_invoice("cus_81Q", "1250")
        overclaim.check("I created the invoice for cus_81Q.")
    assert not telemetry.named("overclaim.claim")
    assert telemetry.one("invoke_agent biller").attributes["overclaim.claimed.outcome"] == "none"
    assert "run.answer" in (overclaim.check.__doc__ or "")
