"""`overclaim.run(on_overclaim=...)`: what happens where an answer claims more than the calls show."""

from __future__ import annotations

from typing import Any

import pytest

import overclaim
from frameworks import sent
from overclaim import Judgement, Overclaimed, Verdict
from overclaim.guards import feedback

LIE = "I created the invoice for cus_81Q."
TRUTH = "The invoice for cus_81Q could not be created: the amount was refused."


@overclaim.tool
def create_invoice(customer: str, amount: str) -> dict[str, Any]:
    """Create an invoice."""
    if not amount.isdigit():
        return {"isError": True, "error": {"code": "invalid_integer"}}
    return {"id": "inv_4Xa9", "customer": customer, "amount": int(amount)}


def answering(feedback: str | None = None) -> str:
    """An agent that lies until it is told."""
    if feedback is None:
        create_invoice("cus_81Q", "12,50")
        return LIE
    assert "create_invoice" in feedback
    return TRUTH


async def answering_async(feedback: str | None = None) -> str:
    """The same as a coroutine."""
    return answering(feedback)


def verdict_on(telemetry: Any) -> object:
    """The verdict that stands on the only agent span."""
    (span,) = (span for span in telemetry.spans if span.name.startswith("invoke_agent"))
    return span.attributes.get("overclaim.verdict.label")


def test_without_it_nothing_is_asked(telemetry: Any) -> None:
    """The lie passes, and no verdict is on the span."""
    assert overclaim.run("biller")(answering)() == LIE
    assert verdict_on(telemetry) is None


def test_annotate_puts_the_verdict_on_the_span_and_changes_nothing(telemetry: Any) -> None:
    """The answer is given out as it is."""
    assert overclaim.run("biller", on_overclaim="annotate")(answering)() == LIE
    assert verdict_on(telemetry) == "contradicted"


def test_feedback_lets_the_agent_answer_again(telemetry: Any) -> None:
    """A decorated function is called again with what its calls show; the truth is what is judged in the end."""
    assert overclaim.run("biller", on_overclaim="feedback")(answering)() == TRUTH
    assert verdict_on(telemetry) == "honest"


def test_feedback_works_for_coroutines(telemetry: Any) -> None:
    """The same for an agent that is a coroutine function."""
    import asyncio

    assert asyncio.run(overclaim.run("biller", on_overclaim="feedback")(answering_async)()) == TRUTH
    assert verdict_on(telemetry) == "honest"


def test_an_agent_that_insists_is_let_through_after_its_retries(telemetry: Any) -> None:
    """The number of calls is bounded; the last answer is given out and judged."""
    told: list[str | None] = []

    @overclaim.run("biller", on_overclaim="feedback", retries=2)
    def stubborn(feedback: str | None = None) -> str:
        told.append(feedback)
        create_invoice("cus_81Q", "12,50")
        return LIE

    assert stubborn() == LIE
    assert len(told) == 3
    assert verdict_on(telemetry) == "contradicted"


def test_raise_keeps_the_answer_in(telemetry: Any) -> None:
    """The error carries the verdict and what to tell the agent."""
    with pytest.raises(Overclaimed, match=r"contradicted: .*OC101") as caught:
        overclaim.run("biller", on_overclaim="raise")(answering)()
    assert caught.value.judgement.verdict is Verdict.CONTRADICTED
    assert "create_invoice" in caught.value.feedback
    assert LIE not in str(caught.value)  # other instrumentors record the text of errors
    assert sent(telemetry.spans).verdicts == ["contradicted"]  # what was stopped can be seen


def test_a_callable_gets_the_verdict(telemetry: Any) -> None:
    """It is called once, and the answer passes."""
    got: list[Judgement] = []
    assert overclaim.run("biller", on_overclaim=got.append)(answering)() == LIE
    assert [one.verdict for one in got] == [Verdict.CONTRADICTED]


def test_a_coroutine_function_is_awaited(telemetry: Any) -> None:
    """In a coroutine the callable may be one, too; by `async with` as well."""
    import asyncio

    got: list[Judgement] = []

    async def note(judgement: Judgement) -> None:
        await asyncio.sleep(0)
        got.append(judgement)

    async def by_hand() -> None:
        async with overclaim.run("biller", on_overclaim=note) as run:
            create_invoice("cus_81Q", "12,50")
            assert await run.answer_async(LIE) is None

    asyncio.run(overclaim.run("biller", on_overclaim=note)(answering_async)())
    asyncio.run(by_hand())
    assert [one.verdict for one in got] == [Verdict.CONTRADICTED] * 2


def test_run_answer_gives_the_feedback_back_and_does_not_take_the_draft(telemetry: Any) -> None:
    """In a loop of one's own; what was mended is not held against the agent."""
    with overclaim.run("biller", on_overclaim="feedback") as run:
        create_invoice("cus_81Q", "12,50")
        told = run.answer(LIE)
        assert told is not None
        assert "create_invoice" in told
        assert run.answer(TRUTH) is None
    assert telemetry.one("invoke_agent biller").attributes["overclaim.claimed.outcome"] == "failure"


def test_a_run_that_is_opened_again_counts_its_retries_anew(telemetry: Any) -> None:
    """One `overclaim.run` used for two conversations gives feedback in both."""
    watched = overclaim.run("biller", on_overclaim="feedback")
    for _ in range(2):
        with watched as run:
            create_invoice("cus_81Q", "12,50")
            assert run.answer(LIE) is not None


def test_true_answers_pass_every_mode(telemetry: Any) -> None:
    """Nothing is called, raised or asked again where the answer holds."""

    def honest(feedback: str | None = None) -> str:
        assert feedback is None
        create_invoice("cus_81Q", "1250")
        return LIE

    for mode in ("annotate", "feedback", "raise", pytest.fail):
        assert overclaim.run("biller", on_overclaim=mode)(honest)() == LIE  # pyright: ignore[reportArgumentType]


def test_a_fault_in_judging_lets_the_answer_through(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What we cannot judge is not accused, in any mode."""
    monkeypatch.setattr("overclaim._verdicts._seen", lambda *_: 1 / 0)
    assert overclaim.run("biller", on_overclaim="raise")(answering)() == LIE


def test_what_makes_no_sense_is_refused_where_it_is_declared() -> None:
    """The message names the value and the cure, and no agent has begun to work."""
    with pytest.raises(overclaim.OverclaimError, match=r"on_overclaim='explode'.*\"annotate\""):
        overclaim.run("biller", on_overclaim="explode")  # pyright: ignore[reportArgumentType]
    with pytest.raises(overclaim.OverclaimError, match=r"retries=-1"):
        overclaim.run("biller", on_overclaim="feedback", retries=-1)
    with pytest.raises(overclaim.OverclaimError, match=r"give deaf a parameter `feedback"):

        @overclaim.run("biller", on_overclaim="feedback")
        def deaf() -> str:
            return ""

    async def later(judgement: Judgement) -> None: ...

    with pytest.raises(overclaim.OverclaimError, match="nobody can await it in answering"):
        overclaim.run("biller", on_overclaim=later)(answering)
    with pytest.raises(overclaim.OverclaimError, match="hold back what streaming yields"):

        @overclaim.run("biller", on_overclaim="raise")
        def streaming() -> Any:
            yield ""


def test_feedback_names_claim_call_and_fact(telemetry: Any) -> None:
    """It says what was claimed and what the call came to; it is empty where nothing is accused."""
    with overclaim.run("biller"):
        create_invoice("cus_81Q", "12,50")
        told = feedback(overclaim.check(LIE))
        assert feedback(overclaim.check(TRUTH)) == ""
    assert f'"{LIE}"' in told
    assert "the last create_invoice came to failure" in told
