"""The runtime guard: the verdict on an answer while the agent can still mend it."""

from __future__ import annotations

from overclaim import _mistakes, _verdicts
from overclaim._fail_open import report
from overclaim._run_scope import live_run
from overclaim.outcome.feedback import feedback
from overclaim.outcome.model import Judgement, Run, Verdict

__all__ = ["check", "feedback"]


def check(answer: str) -> Judgement:
    """The verdict on an answer, against the calls of the current run so far.

    Says nothing to the agent and raises nothing; look at `.verdict.accuses` and `.findings`, or print it. Where the
    calls break a declared procedure, that is a finding as well; a step that is still missing counts as missing. Outside
    a run nothing is accused. The verdict is also put on the agent span.

    It is only a question, and may be asked of several drafts: it is not taken for the agent's answer. Call
    `run.answer(text)` with what the user is told in the end, or the run ends without a claim and cannot be judged;
    the verdict on the answer replaces that on a draft. `overclaim.run(on_overclaim=...)` asks by itself.

    Args:
        answer: What the agent is about to tell its user. What is no text is never accused, and a WARNING of the
            logger "overclaim" says so.
    """
    try:
        if not isinstance(answer, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            _mistakes.warn("overclaim.check", answer, "give the text that the agent's user sees")
            return unknown("guard.no_text")
        return _verdicts.on_draft(live_run(answer), answer)
    except Exception as error:
        report("check", error)
        return unknown("guard.failed")


def unknown(rule: str) -> Judgement:
    """A verdict that accuses nothing, since nothing could be judged."""
    return Judgement(Run(id="", captured=False, complete=False), Verdict.INCOMPLETE, rule)
