"""Pending operations, and the later calls of a run that complete them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from overclaim.outcome.model import Call, Effect, Operation, Outcome

OPEN = 32  # pending operations that a later call may complete


def settled(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The calls of a run, in order, each with the targets that it reached by completing a pending one."""
    done: list[Call] = []
    pending: list[Operation] = []
    for call in calls:
        what = settle(call.operation, call.observed.outcome, call.mentions, pending)
        if call.observed.outcome is Outcome.PENDING:
            pending.append(what)
        done.append(replace(call, operation=what))
    return tuple(done)


def settle(operation: Operation, outcome: Outcome, seen: Iterable[str], pending: Sequence[Operation]) -> Operation:
    """The operation of one call, with the targets that link it to what it waits for or completes.

    seen: what the call mentions. pending: operations of earlier pending calls of the run. One that is pending itself
    and names no target can only be completed as a whole, so its own key stands for one.
    """
    if outcome is Outcome.PENDING:
        return replace(operation, targets=operation.targets or (operation.key,))
    if outcome is not Outcome.SUCCESS or operation.effect is Effect.READ or not pending:
        return operation
    mentioned = frozenset(seen)
    confirms = operation.action in ("confirm", "approve")
    reached = [target for earlier in pending[-OPEN:] for target in earlier.targets if confirms or target in mentioned]
    return replace(operation, targets=tuple(dict.fromkeys((*operation.targets, *reached))))
