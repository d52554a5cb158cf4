"""The verdict on a live run: on a draft of the answer, or on what was said in the end."""

from __future__ import annotations

from overclaim import _attributes as names
from overclaim import _claims
from overclaim._record import current_record
from overclaim._runs import RunState, claimed_by
from overclaim._runtime import RUNTIME
from overclaim.outcome.model import Judgement, Reading, Run


def on_draft(state: RunState | None, answer: str) -> Judgement:
    """The verdict on an answer against the calls of a run so far; it is put on the agent span as well."""
    from overclaim.outcome.judge import judge

    reading = _claims.read((answer,))
    judgement = _with_violations(judge(_seen(state, reading)))
    if state is not None:
        state.checked = True
        state.span.set_attributes(verdict_labels(judgement))
    return judgement


def on_end(state: RunState, reading: Reading | None) -> Judgement:
    """The verdict on what was said in the end."""
    from overclaim.outcome.judge import judge

    inner = _claims.bind(reading, state.readable_calls()) if reading is not None and state.outer is not None else ()
    claimed, _ = claimed_by(reading, state.claims)
    return judge(state.snapshot((*state.claims, *inner), claimed))


def verdict_labels(judgement: Judgement) -> dict[str, str | float]:
    """A verdict as attributes of the agent span."""
    return {
        names.VERDICT_LABEL: judgement.verdict.value,
        names.VERDICT_CONFIDENCE: judgement.confidence,
        names.VERDICT_RULE: judgement.rule,
    }


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
