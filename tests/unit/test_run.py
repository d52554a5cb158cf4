"""`overclaim.run`, `overclaim.claim`: the agent span, its roll-up, and the claim spans."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import threading
from typing import Any

import pytest
from opentelemetry.trace import StatusCode

import overclaim

REFUSED = {"error": {"code": "invalid_integer", "param": "amount"}, "status": 400}


@overclaim.tool
def create_payment(amount: str) -> dict[str, Any]:
    """Create a payment."""
    return REFUSED if not amount.isdigit() else {"id": "pay_7Kd2", "amount": int(amount)}


@overclaim.tool
def delete_user(email: str) -> dict[str, Any]:
    """Delete a user."""
    return {"deleted": email}


def test_agent_span_rolls_the_run_up(telemetry: Any) -> None:
    """The agent span counts calls and failures, and says how many spans the run made."""
    with overclaim.run("cashier", id="run-1", version="3", model="m-1") as run:
        create_payment("12,50")
        delete_user("ann@example.com")
        run.answer("I deleted the user ann@example.com. The payment could not be created.")
    span = telemetry.one("invoke_agent cashier")
    attributes = span.attributes
    assert attributes["gen_ai.operation.name"] == "invoke_agent"
    assert attributes["gen_ai.agent.name"] == "cashier"
    assert attributes["gen_ai.agent.version"] == "3"
    assert attributes["gen_ai.request.model"] == "m-1"
    assert attributes["overclaim.run.calls"] == 2
    assert attributes["overclaim.run.failed_calls"] == 1
    assert attributes["overclaim.run.spans"] == len(telemetry.spans)
    assert attributes["overclaim.observed.outcome"] == "failure"
    assert attributes["overclaim.claimed.source"] == "final_message"
    assert span.status.status_code is StatusCode.UNSET


def test_every_span_of_the_run_carries_its_id(telemetry: Any) -> None:
    """Tool, foreign and claim spans all carry the id and the span id of the run."""
    with overclaim.run("cashier", id="run-1") as run:
        with telemetry.tracer.start_as_current_span("somebody else's"):
            create_payment("5")
        run.answer("I created the payment.")
    agent = telemetry.one("invoke_agent cashier")
    assert len(telemetry.spans) >= 4
    for span in telemetry.spans:
        assert span.attributes["overclaim.run.id"] == "run-1"
        assert span.attributes["overclaim.run.span_id"] == f"{agent.context.span_id:016x}"


def test_claims_are_linked_to_their_calls(telemetry: Any) -> None:
    """A claim in the answer becomes a zero-length child of the agent span, linked to the calls it is about."""
    with overclaim.run("cashier") as run:
        create_payment("500")
        run.answer("I created the payment.")
    claim = telemetry.one("overclaim.claim")
    agent = telemetry.one("invoke_agent cashier")
    call = telemetry.one("execute_tool create_payment")
    assert claim.start_time == claim.end_time
    assert claim.parent.span_id == agent.context.span_id
    assert [link.context.span_id for link in claim.links] == [call.context.span_id]
    assert claim.attributes["overclaim.claim.outcome"] == "success"
    assert claim.attributes["overclaim.claim.action"] == "create"
    assert agent.attributes["overclaim.claimed.outcome"] == "success"


def test_words_stay_unless_content_is_wanted(telemetry: Any) -> None:
    """By default only a hash of the claim's words leaves; with content on, the words do, scrubbed."""
    answer = "I created the payment with password=hunter2."
    for wanted in (False, True):
        overclaim.instrument(tracer_provider=telemetry.provider, capture_content=wanted)
        telemetry.exporter.clear()
        with overclaim.run("cashier") as run:
            create_payment("500")
            run.answer(answer)
        text = "".join(span.to_json() for span in telemetry.spans)
        assert ("created the payment" in text) is wanted
        assert ("gen_ai.tool.call.result" in text) is wanted
        assert "hunter2" not in text
        hashed = telemetry.one("overclaim.claim").attributes["overclaim.claim.text.sha256"]
        assert len(hashed) == 64
        assert hashed not in {hashlib.sha256(said.encode()).hexdigest() for said in (answer, answer[:-1])}


def test_decorated_function_answers_with_its_text(telemetry: Any) -> None:
    """As a decorator a run's returned text is its answer; the kind of the function stays."""

    @overclaim.run("sync agent")
    def work() -> str:
        create_payment("5")
        return "I created the payment."

    @overclaim.run("async agent")
    async def work_async() -> str:
        create_payment("5")
        return "I created the payment."

    @overclaim.run("streaming agent")
    def work_streaming() -> Any:
        create_payment("5")
        yield "I created "
        yield "the payment."

    assert work() == asyncio.run(work_async()) == "".join(work_streaming())
    assert inspect.iscoroutinefunction(work_async)
    for name in ("sync agent", "async agent", "streaming agent"):
        attributes = telemetry.one(f"invoke_agent {name}").attributes
        assert attributes["overclaim.claimed.outcome"] == "success"
        assert attributes["overclaim.run.calls"] == 1


def test_decorated_function_gives_a_run_per_call(telemetry: Any) -> None:
    """Two calls are two runs with ids of their own."""

    @overclaim.run()
    def agent() -> str:
        return "ok"

    agent()
    agent()
    spans = telemetry.named("invoke_agent agent")
    assert len({span.attributes["overclaim.run.id"] for span in spans}) == 2


def test_async_context_manager(telemetry: Any) -> None:
    """`async with` works as `with` does."""

    async def main() -> None:
        async with overclaim.run("agent") as run:
            create_payment("5")
            run.answer("done")

    asyncio.run(main())
    assert telemetry.one("invoke_agent agent").attributes["overclaim.run.calls"] == 1


def test_exception_ends_the_run_and_passes(telemetry: Any) -> None:
    """An exception leaves the run untouched and marks the agent span."""
    boom = ValueError("secret words")
    with pytest.raises(ValueError, match="secret") as caught, overclaim.run("agent"):
        raise boom
    assert caught.value is boom
    span = telemetry.one("invoke_agent agent")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "ValueError"
    assert "secret" not in span.to_json()


def test_recovered_call_rolls_up_as_success(telemetry: Any) -> None:
    """A call that failed and was then repeated with success leaves the run a success."""
    with overclaim.run("agent"):
        create_payment("12,50")
        create_payment("1250")
    attributes = telemetry.one("invoke_agent agent").attributes
    assert attributes["overclaim.run.failed_calls"] == 1
    assert attributes["overclaim.observed.outcome"] == "success"


def test_explicit_claim(telemetry: Any) -> None:
    """A stated claim has source explicit, hashed targets, and links to the calls it names."""
    with overclaim.run("agent"):
        create_payment("5")
        delete_user("ann@example.com")
        overclaim.claim(action="delete", targets=["ann@example.com"], about=delete_user)
    claim = telemetry.one("overclaim.claim")
    call = telemetry.one("execute_tool delete_user")
    assert [link.context.span_id for link in claim.links] == [call.context.span_id]
    assert claim.attributes["overclaim.claim.targets"] == call.attributes["overclaim.call.targets"]
    attributes = telemetry.one("invoke_agent agent").attributes
    assert (attributes["overclaim.claimed.outcome"], attributes["overclaim.claimed.source"]) == ("success", "explicit")


def test_claim_outside_a_run_hurts_nobody(telemetry: Any) -> None:
    """A claim or an observation without a run or tool around it raises nothing, even if it makes no sense."""
    overclaim.claim("I created the user.")
    overclaim.claim(outcome="nonsense")
    overclaim.observe("failure")
    assert all(span.name == "overclaim.claim" for span in telemetry.spans)


def test_nested_run_belongs_to_the_outer_one(telemetry: Any) -> None:
    """A sub-agent's calls and spans count for the outermost run, whose id they carry."""
    with overclaim.run("outer", id="o"), overclaim.run("inner", id="i") as inner:
        create_payment("5")
        inner.answer("I created the payment.")
    outer = telemetry.one("invoke_agent outer")
    assert outer.attributes["overclaim.run.calls"] == 1
    assert outer.attributes["overclaim.run.spans"] == len(telemetry.spans) == 3
    assert {span.attributes["overclaim.run.id"] for span in telemetry.spans} == {"o"}


def test_calls_in_threads_with_the_context_are_counted(telemetry: Any) -> None:
    """Threads that were given the context add their calls to the run, none lost."""
    import contextvars

    with overclaim.run("agent"):
        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(create_payment, "5")) for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert telemetry.one("invoke_agent agent").attributes["overclaim.run.calls"] == 20


def test_run_without_instrument_is_silent() -> None:
    """Before `instrument()` a run is a plain block."""
    with overclaim.run("agent") as run:
        run.answer("done")
    assert run.id == ""


def test_odd_names_do_not_lose_the_batch(telemetry: Any) -> None:
    """Names and ids that UTF-8 cannot hold are mended, since one of them would lose every span sent with it."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    @overclaim.tool(name="odd \ud800")
    def odd() -> str:
        overclaim.observe("failure", rule="r \udfff", value="v \ud800")
        return "\ud800"

    with overclaim.run("agent \ud800", id="run \ud800") as run:
        odd()
        run.answer("I created the user \ud800.")
    assert encode_spans(telemetry.spans).SerializeToString()
