"""What the SDK sends is enough: judged from the wire, a run gets the verdict that the guard gave it in process."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

import overclaim
from overclaim._run_scope import live_run
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Judgement, Outcome, Verdict
from overclaim.reading.otlp_files import decode_protobuf
from overclaim.reading.traces import runs


@overclaim.tool
def create_user(email: str, plan: str = "free") -> dict[str, Any]:
    """Create a user."""
    if plan != "free":
        return {"isError": True, "error": {"code": "no_such_plan"}}
    return {"id": "usr_81Q", "email": email}


@overclaim.tool
def refund_payment(payment: str) -> dict[str, Any]:
    """Refund a payment."""
    return {"id": payment, "status": "pending"}


@overclaim.tool(read_only=True)
def get_refund(payment: str, done: bool) -> dict[str, Any]:
    """Look at a refund."""
    return {"id": payment, "status": "succeeded" if done else "pending"}


def contradicted() -> str:
    """The call failed and success is claimed."""
    create_user("ann@example.com", plan="gold")
    return "I created the user ann@example.com."


@overclaim.tool
def delete_invoice(invoice: str) -> bool:
    """Delete an invoice; nobody here ever does."""
    return bool(invoice)


def honest() -> str:
    """The call failed and the agent says so."""
    create_user("ann@example.com", plan="gold")
    return "I could not create the user ann@example.com."


def recovered() -> str:
    """The call failed, a retry went well."""
    create_user("ann@example.com", plan="gold")
    create_user("ann@example.com")
    return "I created the user ann@example.com."


def supported() -> str:
    """All went well."""
    create_user("ann@example.com")
    return "I created the user ann@example.com."


def unsupported() -> str:
    """Only something was looked at, and a change is claimed."""
    get_refund("pay_7Kd2", done=True)
    return "I deleted the invoice INV-2291."


def pending() -> str:
    """Done is claimed of what was only accepted."""
    refund_payment("pay_7Kd2")
    return "I refunded the payment pay_7Kd2."


def silent() -> str:
    """Nothing is claimed."""
    create_user("ann@example.com")
    return "Hello."


EXPECTED = {
    contradicted: Verdict.CONTRADICTED,
    honest: Verdict.HONEST,
    recovered: Verdict.RECOVERED,
    supported: Verdict.SUPPORTED,
    unsupported: Verdict.UNSUPPORTED,
    pending: Verdict.PENDING,
    silent: Verdict.NO_CLAIM,
}


def from_wire(telemetry: Any, seed: int) -> Judgement:
    """The verdict on the only run, from its spans as OTLP bytes, shuffled and some of them twice."""
    spans = [*telemetry.spans, *telemetry.spans[:2]]
    random.Random(seed).shuffle(spans)
    decoded = decode_protobuf(encode_spans(spans).SerializeToString())
    (run,) = runs(decoded.spans)
    return judge(run)


def test_call_open_at_the_end_is_not_unseen(telemetry: Any) -> None:
    """A call that outlives its run is bound to the claim when its span arrives, and the run is incomplete."""
    go = threading.Event()

    @overclaim.tool
    def create_report(name: str) -> dict[str, str]:
        go.wait(10)
        return {"id": "rep_1", "name": name}

    with overclaim.run("agent", id="run-1") as run:
        thread = threading.Thread(target=create_report, args=("q",))
        thread.start()
        while not (state := live_run()) or not state.open:
            pass
        run.answer("I created the report q.")
    go.set()
    thread.join()
    judged = from_wire(telemetry, seed=3)
    assert "overclaim.run.spans" not in telemetry.one("invoke_agent agent").attributes
    assert judged.verdict is Verdict.INCOMPLETE
    assert [one.verdict for one in judged.claims] == [Verdict.SUPPORTED]


@pytest.mark.parametrize("agent", EXPECTED, ids=[agent.__name__ for agent in EXPECTED])
def test_wire_and_guard_agree(telemetry: Any, agent: Any) -> None:
    """Guard and wire give the expected verdict, the same outcomes of calls, and complete runs."""
    with overclaim.run("agent", id="run-1") as run:
        answer = agent()
        guarded = overclaim.check(answer)
        run.answer(answer)
    judged = from_wire(telemetry, seed=7)
    assert guarded.verdict is EXPECTED[agent]
    assert judged.verdict is EXPECTED[agent]
    assert judged.run.complete
    assert judged.run.id == "run-1"
    assert outcomes(judged) == outcomes(guarded)


def outcomes(judgement: Judgement) -> list[tuple[str, Outcome]]:
    """Tool and outcome of each call."""
    return [(call.tool, call.observed.outcome) for call in judgement.run.calls]


def test_lost_span_is_noticed(telemetry: Any) -> None:
    """Without one of its spans a run is incomplete, and nobody is accused."""
    with overclaim.run("agent") as run:
        run.answer(contradicted())
    kept = [span for span in telemetry.spans if not span.name.startswith("execute_tool")]
    (found,) = runs(decode_protobuf(encode_spans(kept).SerializeToString()).spans)
    assert not found.complete
    assert judge(found).verdict is Verdict.INCOMPLETE


def test_foreign_span_around_our_wrapper_is_one_call(telemetry: Any) -> None:
    """A framework's span and our wrapper give one call on the wire, too, with the outcome that the wrapper saw."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user"}
    with overclaim.run("agent") as run:
        with telemetry.tracer.start_as_current_span("execute_tool create_user", attributes=attributes):
            create_user("ann@example.com", plan="gold")
        run.answer("I created the user ann@example.com.")
    judged = from_wire(telemetry, seed=1)
    assert outcomes(judged) == [("create_user", Outcome.FAILURE)]
    assert judged.verdict is Verdict.CONTRADICTED
