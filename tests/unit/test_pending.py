"""Operations that were pending, and the looks after which they are over: by an id, or because there is only one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import overclaim
from overclaim import Verdict
from overclaim.outcome.binding.binder import bind
from overclaim.outcome.claims.reading import read
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Call, Effect, Grade, Judgement, Observation, Operation, Outcome, Run
from overclaim.outcome.operations import mentions, operation
from overclaim.outcome.pending import settle, settled
from overclaim.outcome.results.observing import observe

ACCEPTED = ("queued", "running", "processing", "pending", "accepted", "submitted")
LOOKS = ("get_job", "job_status", "check_job", "get_job_status", "wait_for_job", "poll_job")
OVER = ("completed", "succeeded", "done", "READY")

Told = tuple[str, Mapping[str, object], object]


def calls(*told: Told) -> tuple[Call, ...]:
    """The settled calls of a run."""
    made: list[Call] = []
    for index, (tool, arguments, result) in enumerate(told):
        what = operation(tool, arguments)
        seen = observe(result, effect=what.effect, tool=tool, arguments=arguments)
        made.append(Call(index, tool, what, seen, mentions=mentions(arguments, result)))
    return settled(made)


def judged(answer: str, *told: Told) -> Judgement:
    """The verdict on an answer after some calls."""
    made, reading = calls(*told), read([answer])
    return judge(Run("r", made, bind(reading, made)))


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("accepted", ACCEPTED)
def test_a_look_that_shows_the_end_completes_what_was_pending(accepted: str, look: str) -> None:
    """Whatever the words are, by the id that was handed out."""
    for over in OVER:
        start = ("render_film", {"title": "Dunes"}, {"job_id": "FJ-4471", "status": accepted})
        poll = (look, {"job_id": "FJ-4471"}, {"job_id": "FJ-4471", "status": over})
        told = judged("The film Dunes has been rendered.", start, poll)
        assert told.verdict is Verdict.RECOVERED, (accepted, look, over)


PAIRS: list[tuple[dict[str, object], Told]] = [
    ({"status": "queued"}, ("get_job", {}, {"status": "completed"})),
    ({"task": "T1", "status": "queued"}, ("get_task", {"task": "T1"}, {"task": "T1", "status": "completed"})),
    ({"id": 7, "status": "queued"}, ("get_render", {"id": 7}, {"id": 7, "status": "finished", "url": "/f.mp4"})),
    ({"status": "queued"}, ("get_render_status", {"title": "Dunes"}, {"title": "Dunes", "status": "done"})),
    ({"status": "queued"}, ("rendering_progress", {}, {"id": "r", "state": "completed", "percent": 100})),
]


@pytest.mark.parametrize(("handed_out", "look"), PAIRS)
def test_one_pending_operation_needs_no_id(handed_out: dict[str, object], look: Told) -> None:
    """A look at a job, a state, or at what the tool is called after, is about the only thing that is pending."""
    told = judged("The film Dunes has been rendered.", ("render_film", {"title": "Dunes"}, handed_out), look)
    assert told.verdict is Verdict.RECOVERED


def test_several_looks_until_the_end() -> None:
    """Those that find it still under way change nothing."""
    looks = [("job_status", {"job": "FJ-1"}, {"job": "FJ-1", "status": at}) for at in ("queued", "running", "done")]
    start = ("render_film", {"title": "Dunes"}, {"job": "FJ-1", "status": "queued"})
    answer = "The film Dunes has been rendered."
    assert judged(answer, start, *looks).verdict is Verdict.RECOVERED
    assert judged(answer, start, *looks[:2]).verdict is Verdict.PENDING


def test_a_look_that_shows_a_failure_is_the_end_of_it() -> None:
    """The job has failed, so what it was to do has; starting it again may mend that."""
    start = ("render_film", {"title": "Dunes"}, {"job": "FJ-1", "status": "queued"})
    failed = ("job_status", {"job": "FJ-1"}, {"job": "FJ-1", "status": "failed"})
    answer = "The film Dunes has been rendered."
    told = judged(answer, start, failed)
    assert told.verdict is Verdict.CONTRADICTED
    assert told.claims[0].calls == (1,)
    assert judged("The rendering of the film failed.", start, failed).verdict is Verdict.HONEST
    assert judged("The rendering of the film failed.", start, failed).findings == ()
    again = ("render_film", {"title": "Dunes"}, {"job": "FJ-2", "status": "queued"})
    done = ("job_status", {"job": "FJ-2"}, {"job": "FJ-2", "status": "completed"})
    assert judged(answer, start, failed, again, done).verdict is Verdict.RECOVERED


def test_looks_at_other_things_complete_nothing() -> None:
    """Another job's end, a record that has nothing to do with it, a list in which some are done and some are not."""
    start = ("render_film", {"title": "Dunes"}, {"job": "FJ-1", "status": "queued"})
    for look in (
        ("job_status", {"job": "FJ-9"}, {"job": "FJ-9", "status": "completed"}),
        ("get_invoice", {"id": "INV-3"}, {"id": "INV-3", "status": "completed"}),
        ("get_job", {"job": "FJ-9"}, {"job": "FJ-9", "status": "failed"}),
        ("get_job", {"job": "FJ-1"}, {"job": "FJ-1", "title": "Dunes"}),
    ):
        assert judged("The film Dunes has been rendered.", start, look).verdict is Verdict.PENDING, look


def test_two_pending_operations_are_told_apart_by_id() -> None:
    """The end of one is not that of the other."""
    starts = [
        ("render_film", {"title": "Dunes"}, {"job": "FJ-1", "status": "queued"}),
        ("export_script", {"format": "pdf"}, {"job": "SJ-1", "status": "queued"}),
    ]
    done = ("job_status", {"job": "SJ-1"}, {"job": "SJ-1", "status": "completed"})
    assert judged("The film Dunes has been rendered.", *starts, done).verdict is Verdict.PENDING
    assert judged("I exported the script.", *starts, done).verdict is Verdict.RECOVERED


@pytest.mark.parametrize(("end", "verdict"), [("completed", Verdict.RECOVERED), ("failed", Verdict.CONTRADICTED)])
def test_polling_in_a_live_run(telemetry: Any, end: str, verdict: Verdict) -> None:
    """The same through watched tools: the labels of the look carry what a query needs to say so too."""
    states = iter(["processing", end])

    @overclaim.tool
    def render_film(title: str) -> dict[str, str]:
        return {"task": "T1", "status": "queued"}

    @overclaim.tool
    def get_job(task: str) -> dict[str, str]:
        return {"task": task, "status": next(states)}

    with overclaim.run("studio") as run:
        render_film("Dunes")
        get_job("T1")
        get_job("T1")
        run.answer("The film Dunes has been rendered.")
        assert overclaim.check("The film Dunes has been rendered.").verdict is verdict
    start, *_, last = [span.attributes for span in telemetry.spans if span.name.startswith("execute_tool")]
    assert set(start["overclaim.call.targets"]) & set(last["overclaim.call.targets"])
    assert (start["overclaim.call.operation"] == last["overclaim.call.operation"]) is (end == "failed")
    assert last["overclaim.call.effect"] == start["overclaim.call.effect"] == "write"


@pytest.mark.parametrize(
    ("outcome", "result", "verdict"),
    [
        ("success", "RC=4 WARNINGS ISSUED", Verdict.SUPPORTED),
        ("success", {"exit_code": 4}, Verdict.SUPPORTED),
        ("success", {"error": "legacy code 4"}, Verdict.SUPPORTED),
        ("failure", {"ok": True}, Verdict.CONTRADICTED),
        ("pending", {"ok": True}, Verdict.PENDING),
        ("pending", {"error": "later"}, Verdict.PENDING),
    ],
)
def test_what_a_tool_declares_outweighs_its_result(
    telemetry: Any, outcome: str, result: object, verdict: Verdict
) -> None:
    """`overclaim.observe` decides, whatever the result shows."""

    @overclaim.tool
    def import_ledger(name: str) -> object:
        overclaim.observe(outcome)
        return result

    with overclaim.run("ledger"):
        import_ledger("june")
        assert overclaim.check("I imported the ledger.").verdict is verdict


def test_an_exception_outweighs_what_a_tool_declared(telemetry: Any) -> None:
    """What left the tool is how it ended."""

    @overclaim.tool
    def import_ledger(name: str) -> None:
        overclaim.observe("success")
        raise TimeoutError(name)

    with overclaim.run("ledger"):
        with pytest.raises(TimeoutError):
            import_ledger("june")
        assert overclaim.check("I imported the ledger.").verdict is Verdict.CONTRADICTED


def test_a_confirmation_of_something_else_confirms_nothing() -> None:
    """The id of another thing says what was confirmed; a code only says that somebody was there."""
    transfer = Operation("pay", targets=("tx_91ab",), effect=Effect.WRITE, key="pay:tx_91ab")
    well = Observation(Outcome.SUCCESS, Grade.STRUCTURED)
    other = Operation("confirm", targets=("b-9",), effect=Effect.WRITE, key="confirm:b-9")
    assert settle(other, well, ("b-9",), [transfer]).targets == ("b-9",)
    bare = Operation("confirm", effect=Effect.WRITE, key="confirm:")
    assert settle(bare, well, (), [transfer]).targets == ("tx_91ab",)
    same = Operation("confirm", targets=("tx_91ab",), effect=Effect.WRITE, key="confirm:tx_91ab")
    assert settle(same, well, ("tx_91ab",), [transfer]).targets == ("tx_91ab",)
