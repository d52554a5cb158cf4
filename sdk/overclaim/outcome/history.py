"""The calls of a run as attempts: which ended badly, and which of those a later call brought to a good end.

The same rules stand in SQL in queries/judge. Built once per run, so that judging grows with the run's length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from overclaim.outcome.model import Call, Effect, Grade, Outcome

ANYTHING = ("", "run", "delegate")  # actions that may have done anything
MAKING = {"create", "update"}  # what exists already cannot be created, and is then updated
UNUSUAL = "empty.unusual"  # the rule of an answer that holds nothing although the tool returns data elsewhere
HOLLOW = (UNUSUAL, "exists.already")  # and of a creation that made nothing
HANDED_OVER = ".handed_over"  # how the rules end by which a service has taken something over
ACT = ".action_required"  # how the rules end by which somebody must act before anything happens


def bad(call: Call) -> bool:
    """Failed, or a write that touched nothing; a suspicion alone is neither, nor is an answer that only is unusual."""
    outcome = call.observed.outcome
    if call.observed.grade is Grade.SUSPECT:
        return False
    if outcome is Outcome.EMPTY:
        return call.operation.effect is Effect.WRITE and not hollow(call)
    return outcome is Outcome.FAILURE


def hollow(call: Call) -> bool:
    """Whether it returned nothing where its tool returns data, or made nothing: nothing shows what it was to do."""
    return call.observed.outcome is Outcome.EMPTY and any(one.rule in HOLLOW for one in call.observed.evidence)


def pending(call: Call) -> bool:
    """Accepted or waiting, and not done."""
    return call.observed.outcome is Outcome.PENDING


def waits_for_act(call: Call) -> bool:
    """Pending, and nothing was even accepted: somebody has to confirm, verify or approve it first."""
    facts = call.observed.evidence
    return pending(call) and any(one.rule.endswith(ACT) and one.grade is not Grade.SUSPECT for one in facts)


def handed_over(call: Call) -> bool:
    """Pending, and all that is known is that a service took it over: queued, accepted."""
    return pending(call) and all(
        one.rule.endswith(HANDED_OVER) or one.rule == "http.status_202"
        for one in call.observed.evidence
        if one.outcome is Outcome.PENDING
    )


def sent(call: Call) -> bool:
    """A message that a service took over: most of them never say more."""
    return call.operation.action == "send" and handed_over(call)


def unfinished(call: Call) -> bool:
    """Bad, without anything to show, or still pending."""
    return bad(call) or hollow(call) or pending(call)


def last_calls(calls: Iterable[Call], keys: frozenset[str]) -> list[Call]:
    """The call that tells the state of each operation: the last one of which anything is known.

    A later one of which nothing is known may have mended what went badly, so then it is the one; a success stays.
    """
    last: dict[str, Call] = {}
    for call in calls:
        if call.operation.key not in keys:
            continue
        before = last.get(call.operation.key)
        if before is None or call.observed.outcome is not Outcome.UNKNOWN or unfinished(before):
            last[call.operation.key] = call
    return list(last.values())


class Successes:
    """The good ends among some calls, looked up by operation and by target."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._by_key: dict[str, int] = {}
        self._by_target: dict[str, dict[tuple[str, bool], tuple[int, int]]] = {}
        for call in calls:
            if call.observed.outcome is Outcome.SUCCESS:
                self._add(call)

    def _add(self, call: Call) -> None:
        operation = call.operation
        self._by_key[operation.key] = max(call.index, self._by_key.get(operation.key, -1))
        kind = (operation.action, operation.effect is Effect.READ)
        for target in operation.targets:
            kinds = self._by_target.setdefault(target, {})
            first, last = kinds.get(kind, (call.index, call.index))
            kinds[kind] = (min(first, call.index), max(last, call.index))

    def mend(self, call: Call) -> bool:
        """Whether one of them ended the operation of this call well: the same one, or another that reached its target.

        A look never mends a change, and a deed of another kind only ends what was pending. Deleting again what an
        earlier call deleted fails, and that is as it should be.
        """
        if self._by_key.get(call.operation.key, -1) > call.index:
            return True
        return any(
            self._reached(call, kind, first, last)
            for target in call.operation.targets
            for kind, (first, last) in self._by_target.get(target, {}).items()
        )

    @staticmethod
    def _reached(call: Call, kind: tuple[str, bool], first: int, last: int) -> bool:
        action, read = kind
        own = call.operation
        if read and own.effect is not Effect.READ:
            return False
        if action == own.action == "delete" and first < call.index:
            return True
        akin = action == own.action or action in ANYTHING or own.action in ANYTHING or {action, own.action} <= MAKING
        return last > call.index and (akin or call.observed.outcome is Outcome.PENDING)
