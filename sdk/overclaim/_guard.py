"""The runtime guard: the verdict on an answer while the agent can still mend it."""

from __future__ import annotations

from overclaim import _claims, _mistakes
from overclaim._fail_open import report
from overclaim._record import current_record
from overclaim._run import live_run, verdict_labels
from overclaim._runs import RunState, claimed_by
from overclaim._runtime import RUNTIME
from overclaim.outcome.model import Judgement, Reading, Run, Verdict


def check(answer: str) -> Judgement:
    """The verdict on an answer, against the calls of the current run so far.

    Says nothing to the agent and raises nothing; look at `.verdict.accuses` and `.findings`, or print it. Where the
    calls break a declared procedure, that is a finding as well; a step that is still missing counts as missing. Outside
    a run, or where the run is not recorded, nothing is accused. The verdict is also put on the agent span.

    It is only a question, and may be asked of several drafts: it is not taken for the agent's answer. Call
    `run.answer(text)` with what the user is told in the end, or the run ends without a claim and cannot be judged;
    the verdict on the answer replaces that on a draft.

    Args:
        answer: What the agent is about to tell its user. What is no text is never accused, and a WARNING of the
            logger "overclaim" says so.
    """
    try:
        if not isinstance(answer, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            _mistakes.warn("overclaim.check", answer, "give the text that the agent's user sees")
            return _unknown("guard.no_text")
        return _check(live_run(), answer)
    except Exception as error:
        report("check", error)
        return _unknown("guard.failed")


def _unknown(rule: str) -> Judgement:
    return Judgement(Run(id="", captured=False, complete=False), Verdict.INCOMPLETE, rule)


def _check(state: RunState | None, answer: str) -> Judgement:
    from overclaim.outcome.judge import judge

    reading = _claims.read((answer,))
    judgement = _with_violations(judge(_seen(state, reading)))
    if state is not None and state.span.is_recording():
        state.checked = True
        state.span.set_attributes(verdict_labels(judgement))
    return judgement


def _with_violations(judgement: Judgement) -> Judgement:
    """With what the calls break of the declared procedures; who declares none does not pay for reading them."""
    if not RUNTIME.procedures:
        return judgement
    from overclaim.procedures import with_violations

    return with_violations(judgement, RUNTIME.procedures)


def _seen(state: RunState | None, reading: Reading) -> Run:
    if state is None:
        claims = _claims.bind(reading, ())
        return Run(id="", claims=claims, claimed=reading.outcome, captured=False, complete=False)
    claims = (*state.claims, *_claims.bind(reading, state.readable_calls()))
    claimed, _ = claimed_by(reading, state.claims)
    return state.snapshot(claims, claimed, around=_calls_around(state))


def _calls_around(state: RunState) -> int:
    """How many open calls of the run this question is asked from within: those cannot be waited for."""
    count, record = 0, current_record()
    while record is not None:
        count += bool(record.tool) and not record.done and _is_in(record.run, state)
        record = record.parent
    return count


def _is_in(run: RunState | None, outer: RunState) -> bool:
    while run is not None and run is not outer:
        run = run.outer
    return run is outer
