"""Runs that go on with a conversation: what is claimed in them may have been done in an earlier one."""

from __future__ import annotations

from overclaim._fail_open import fail_open
from overclaim._record import current_record
from overclaim._run import live_run
from overclaim._wrapping import Scope, enter, leave


@fail_open
def goes_on(scope: Scope | None) -> None:
    """Note of a run that has just begun that its calls are not all that its claims may be about.

    An agent inside another one says nothing to a user, so nothing is noted of it where the outer one's run is its run.
    """
    if scope is None:
        return
    token = enter(scope)
    run, record = live_run(), current_record()
    if run is not None and (record is None or record.run is not run or record.span_id == run.span_id):
        run.earlier = True
    leave(token)
