"""Runs that go on with a conversation: what is claimed in them may have been done in an earlier one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from overclaim._fail_open import fail_open
from overclaim._record import Record, current_record
from overclaim._run import live_run
from overclaim._runs import RunState
from overclaim._wrapping import Scope, enter, leave


@fail_open
def goes_on(scope: Scope | None) -> None:
    """Note of a run that has just begun that its calls are not all that its claims may be about.

    An agent inside another one says nothing to a user, so nothing is noted of it where the outer one's run is its run.
    """
    if scope is None:
        return
    token = enter(scope)
    try:
        run = live_run()
        if run is not None and _speaks(run, _agent(current_record())):
            _note(run, every=False)
    finally:
        leave(token)


@fail_open
def goes_on_here() -> None:
    """Note the same in the midst of a run, where something that was done elsewhere comes in, whichever agent it is."""
    _note(live_run(), every=True)


def _note(run: RunState | None, *, every: bool) -> None:
    """Note it of a run and of those around it: of the program's own, whose answer is this agent's, or of all."""
    while run is not None:
        run.earlier = True
        run = run.outer if run.outer is not None and (every or not run.outer.hooked) else None


class Recalling:
    """A scope around a function that looks up what was said or done before.

    tells: whether what it gave back tells of anything.
    """

    context = None

    def __init__(self, tells: Callable[[Any], object] = bool) -> None:
        self._tells = tells

    @fail_open
    def returned(self, result: object) -> None:
        """It has looked."""
        if self._tells(result):
            goes_on_here()

    def raised(self, error: BaseException) -> None:
        """It found nothing."""

    def abandoned(self, result: object) -> None:
        """Only generators are."""


def _speaks(run: RunState, agent: Record | None) -> bool:
    """Whether what this agent says is the run's answer: it is the run, or alone in a run that the program opened."""
    if agent is None or agent.run is not run or agent.span_id == run.span_id:
        return True
    above = _agent(agent.parent)
    return run.own and above is not None and above.run is run and above.span_id == run.span_id


def _agent(record: Record | None) -> Record | None:
    """The agent at work here: the nearest record of one."""
    while record is not None and not record.agent:
        record = record.parent
    return record


@fail_open
def goes_back(scope: Scope | None = None) -> None:
    """Note of the run here, or of that of a scope, that its claims may be about what no call of it shows.

    Runs around it may say what they heard of it, so that holds of them as well.
    """
    token = enter(scope) if scope is not None else None
    run = live_run()
    while run is not None:
        run.earlier, run = True, run.outer
    leave(token)
