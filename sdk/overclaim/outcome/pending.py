"""Pending operations, and the later calls of a run that complete them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from overclaim.outcome.mentions import is_code
from overclaim.outcome.model import Call, Effect, Observation, Operation, Outcome

OPEN = 32  # pending operations that a later call may complete
MAX_IDS = 8  # ids of one result by which it may be named later
_OVER = frozenset(("status_word.success", "flag.success_true", "record.status_word_success"))
_WAITING = frozenset(
    (
        "record.status_word_pending", "record.status_word_action_required", "status_word.pending",
        "status_word.action_required", "http.status_202",
        "record.status_word_handed_over", "status_word.handed_over",
    )
)  # fmt: skip


def settled(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The calls of a run, in order, each with the targets that it reached by completing a pending one."""
    done: list[Call] = []
    pending: list[Operation] = []
    for call in calls:
        what = settle(call.operation, call.observed, call.mentions, pending)
        if call.observed.outcome is Outcome.PENDING:
            pending.append(what)
        done.append(call if what is call.operation else replace(call, operation=what))
    return tuple(done)


def settle(operation: Operation, observed: Observation, seen: Iterable[str], pending: Sequence[Operation]) -> Operation:
    """The operation of one call, with the targets that link it to what it waits for or completes.

    seen: what the call mentions. pending: operations of earlier pending calls of the run. A pending call is also known
    by the ids that it hands out, and one without any only as a whole, by its own key.
    """
    mentioned = frozenset(seen)
    if observed.outcome is Outcome.PENDING:
        handed_out = sorted(one for one in mentioned if is_code(one))[:MAX_IDS]
        return _with(operation, [*handed_out] if operation.targets or handed_out else [operation.key])
    if not pending or not _completes(operation, observed):
        return operation
    confirms = operation.action in ("confirm", "approve")
    done = [earlier for earlier in pending[-OPEN:] if confirms or mentioned & set(earlier.targets)]
    if done and operation.effect is Effect.READ:  # it stands for the change whose end it shows
        operation = replace(operation, effect=done[-1].effect)
    return _with(operation, (target for earlier in done for target in earlier.targets))


def _completes(operation: Operation, observed: Observation) -> bool:
    """A change that went well may complete something; a look only where it shows that it is over.

    Looking at a refund that is still pending goes well and completes nothing; asking a job until it says "finished"
    does, and so does the look after which it is no longer pending.
    """
    if observed.outcome is not Outcome.SUCCESS:
        return False
    rules = {one.rule for one in observed.evidence}
    if operation.effect is Effect.READ:
        return bool(rules & _OVER) and not rules & _WAITING
    return True


def _with(operation: Operation, targets: Iterable[str]) -> Operation:
    return replace(operation, targets=tuple(dict.fromkeys((*operation.targets, *targets))))
