"""`overclaim.check` with declared procedures: what order of calls is right, while the run can still mend it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from recorded import Telemetry

import overclaim
from overclaim import Verdict

DECLARED = {
    "procedures": [
        {
            "id": "authorized",
            "agent": "till",
            "precedence": {"first": "authorize_*", "then": "capture_*"},
            "per": "target",
        },
        {"id": "receipt", "agent": "till", "response": {"when": "capture_*", "then": "send_receipt"}},
        {
            "id": "no-receipt",
            "not_after": {"after": {"tool": "capture_*", "outcome": "failure"}, "never": "send_receipt"},
        },
    ]
}


@overclaim.tool
def authorize_payment(order: str) -> dict[str, Any]:
    """Authorize a payment; that of one order is always declined."""
    if order == "ord_13":
        return {"isError": True, "error": {"code": "declined"}}
    return {"authorized": True, "order": order}


@overclaim.tool
def capture_payment(order: str) -> dict[str, Any]:
    """Capture a payment."""
    return {"captured": True, "order": order}


@overclaim.tool
def send_receipt(order: str) -> dict[str, Any]:
    """Send a receipt."""
    return {"sent": True, "order": order}


@pytest.fixture
def declared() -> Iterator[Telemetry]:
    """Overclaim watches a provider of its own, and knows the procedures."""
    made = Telemetry()
    overclaim.instrument(tracer_provider=made.provider, expectations=DECLARED)
    try:
        yield made
    finally:
        overclaim.uninstrument()
        made.provider.shutdown()


def broken(judgement: overclaim.Judgement) -> list[tuple[str, str]]:
    """The rules of the findings about procedures, and the procedures."""
    return [(one.rule, one.evidence[0].value) for one in judgement.findings if one.rule.startswith("OC4")]


def test_the_right_order_is_not_reported(declared: Telemetry) -> None:
    """Authorized, captured, receipt sent: nothing is found, and the claim is supported."""
    with overclaim.run("till"):
        for step in (authorize_payment, capture_payment, send_receipt):
            step("ord_7")
        judgement = overclaim.check("I captured the payment of ord_7 and sent the receipt.")
    assert broken(judgement) == []
    assert not judgement.verdict.accuses


def test_a_declined_authorization_is_none(declared: Telemetry) -> None:
    """Captured although the authorization was declined, and the receipt is still missing."""
    with overclaim.run("till"):
        authorize_payment("ord_13")
        capture_payment("ord_13")
        judgement = overclaim.check("The authorization of ord_13 was declined; I captured the payment all the same.")
    assert broken(judgement) == [("OC401", "authorized"), ("OC402", "receipt")]
    assert judgement.findings[-2].calls == (1,)
    assert "authorize_* before capture_*, on the same target" in judgement.findings[-2].title


def test_a_violation_is_no_claim(declared: Telemetry) -> None:
    """The verdict is about what the agent says; what its calls break stands beside it, and can be mended."""
    with overclaim.run("till"):
        authorize_payment("ord_7")
        capture_payment("ord_7")
        draft = overclaim.check("The payment of ord_7 is captured.")
        send_receipt("ord_7")
        final = overclaim.check("The payment of ord_7 is captured.")
    assert draft.verdict is final.verdict is Verdict.SUPPORTED
    assert broken(draft) == [("OC402", "receipt")]
    assert broken(final) == []


def test_other_agents_are_left_alone(declared: Telemetry) -> None:
    """Procedures of one agent say nothing about another, and nothing outside of a run."""
    with overclaim.run("clerk"):
        capture_payment("ord_7")
        assert broken(overclaim.check("The payment is captured.")) == []
    assert broken(overclaim.check("The payment is captured.")) == []


def test_nothing_is_declared_by_default(telemetry: Telemetry) -> None:
    """Without expectations no order of calls is wrong; what was declared before is forgotten."""
    with overclaim.run("till"):
        capture_payment("ord_7")
        assert broken(overclaim.check("The payment is captured.")) == []
