"""Pending operations, and the later calls of a run that complete them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from itertools import product

from overclaim.outcome.mentions import is_code
from overclaim.outcome.model import Call, Effect, Grade, Observation, Operation, Outcome
from overclaim.outcome.results.rules import tool_words
from overclaim.outcome.words import split_name

OPEN = 32  # pending operations that a later call may complete
MAX_IDS = 8  # ids of one result by which it may be named later
_OVER = frozenset(("status_word.success", "flag.success_true", "record.status_word_success"))
_FAILED = frozenset(("record.status_word_failure", "status_word.failure"))
_WAITING = frozenset(
    (
        "record.status_word_pending", "record.status_word_action_required", "status_word.pending",
        "status_word.action_required", "http.status_202",
        "record.status_word_handed_over", "status_word.handed_over",
    )
)  # fmt: skip
_STEM = 5  # letters that two forms of a word share: deploy and deployment, render and rendering


def settled(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The calls of a run, in order, each with the targets that it reached by completing a pending one."""
    done: list[Call] = []
    pending: list[Operation] = []
    for call in calls:
        what, observed = concluded(call.operation, call.observed, call.mentions, pending)
        if observed.outcome is Outcome.PENDING:
            pending.append(what)
        same = what is call.operation and observed is call.observed
        done.append(call if same else replace(call, operation=what, observed=observed))
    return tuple(done)


def settle(operation: Operation, observed: Observation, seen: Iterable[str], pending: Sequence[Operation]) -> Operation:
    """The operation of one call, as `concluded` says it."""
    return concluded(operation, observed, seen, pending)[0]


def concluded(
    operation: Operation, observed: Observation, seen: Iterable[str], pending: Sequence[Operation]
) -> tuple[Operation, Observation]:
    """One call's operation, with the targets that link it to what it waits for or completes, and what it came to.

    seen: what the call mentions. pending: operations of earlier pending calls of the run. A pending call is also known
    by the ids that it hands out, and one without any only as a whole, by its own key. A look at what was pending, after
    which that has failed, is the end of it: another attempt at the same operation, and a failed one.
    """
    if observed.outcome is Outcome.PENDING:
        handed_out = sorted(one for one in frozenset(seen) if is_code(one))[:MAX_IDS]
        links = [*handed_out] if operation.targets or handed_out else [operation.key]
        return _with(operation, links), observed
    if not pending:
        return operation, observed
    earlier, mentioned = pending[-OPEN:], seen if isinstance(seen, Set) else frozenset(seen)
    if _is_look(operation) and (failed := _failure(observed)) is not None:
        ended = _looked_at(operation, mentioned, earlier)
        return (_with(ended[-1], operation.targets), failed) if ended else (operation, observed)
    if not _completes(operation, observed):
        return operation, observed
    done = [one for one in earlier if mentioned & set(one.targets)] or _confirmed(operation, earlier)
    if not done and _shows_end(observed) and _is_look(operation):
        done = _the_only_one(operation, earlier)
    if done and operation.effect is not Effect.WRITE and _is_look(operation):
        operation = replace(operation, effect=done[-1].effect)  # it stands for the change whose end it shows
    return _with(operation, (target for one in done for target in one.targets)), observed


def _confirmed(operation: Operation, earlier: Sequence[Operation]) -> list[Operation]:
    """What a confirmation is of that names none of what is pending: all of it, unless it names something else.

    A code or a signature names nothing; the id of another booking does.
    """
    if operation.action not in ("confirm", "approve"):
        return []
    own = frozenset(filter(is_code, operation.targets))
    return [one for one in earlier if not own or not any(map(is_code, one.targets))]


def _completes(operation: Operation, observed: Observation) -> bool:
    """A change that went well may complete something; a look only where it shows that it is over.

    Looking at a refund that is still pending goes well and completes nothing; asking a job until it says "finished"
    does, and so does the look after which it is no longer pending.
    """
    if observed.outcome is not Outcome.SUCCESS:
        return False
    return _shows_end(observed) if operation.effect is Effect.READ else True


def _shows_end(observed: Observation) -> bool:
    rules = _rules(observed)
    return bool(rules & _OVER) and not rules & (_WAITING | _FAILED)


def _failure(observed: Observation) -> Observation | None:
    """What a look shows that finds a failure and nothing else: the word in the record is no mere suspicion then."""
    rules = _rules(observed)
    if not rules & _FAILED or rules & (_WAITING | _OVER):
        return None
    told = tuple(
        replace(one, rule="status_word.failure", grade=max(one.grade, Grade.INFERRED)) if one.rule in _FAILED else one
        for one in observed.evidence
    )
    return Observation(Outcome.FAILURE, max(one.grade for one in told if one.rule in _FAILED), told)


def _rules(observed: Observation) -> set[str]:
    return {one.rule for one in observed.evidence}


def _is_look(operation: Operation) -> bool:
    """Whether a call asks how something is going: it only reads, or it is called after a state."""
    if operation.effect is Effect.READ:
        return True
    return operation.effect is Effect.UNKNOWN and not tool_words("asking").isdisjoint(_words(operation))


def _looked_at(operation: Operation, mentioned: Set[str], earlier: Sequence[Operation]) -> list[Operation]:
    """The pending operations that a look is about: by an id, or because there is only one."""
    named = [one for one in earlier if not _is_look(one) and mentioned & set(one.targets)]
    return named or _the_only_one(operation, earlier)


def _the_only_one(operation: Operation, earlier: Sequence[Operation]) -> list[Operation]:
    """The one operation that is pending, where a look asks about a job or a state, or about that by its name.

    A look that names another thing than that handed out is about something else.
    """
    changes = {one.key: one for one in earlier if not _is_look(one)}
    if len(changes) != 1:
        return []
    (alone,) = changes.values()
    own, others = (frozenset(filter(is_code, one.targets)) for one in (operation, alone))
    if own and others and own.isdisjoint(others):
        return []
    asked = _words(operation)
    akin = any(one[:_STEM] == other[:_STEM] for one, other in product(asked, _words(alone)) if len(one) >= _STEM)
    return [alone] if akin or not asked.isdisjoint(tool_words("jobs")) else []


def _words(operation: Operation) -> frozenset[str]:
    """The words in what a call goes through, which is its tool's name or a program."""
    return frozenset(split_name(operation.key.split(":", 2)[1])) if operation.key.count(":") > 1 else frozenset()


def _with(operation: Operation, targets: Iterable[str]) -> Operation:
    found = tuple(dict.fromkeys((*operation.targets, *targets)))
    return operation if found == operation.targets else replace(operation, targets=found)
