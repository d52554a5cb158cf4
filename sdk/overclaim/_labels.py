"""What we say about a call, as span attributes: outcomes, evidence, and hashes of what it was about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from overclaim import _attributes as names
from overclaim._hashing import keyed_hash, operation_label
from overclaim._runs import RunState
from overclaim._scrub import clean, scrub
from overclaim.outcome.expected import said
from overclaim.outcome.model import Effect, Evidence, Grade, Observation, Operation, Outcome

_PLAIN = re.compile(r"[A-Za-z_][\w.:-]{0,63}|\d{1,6}")
_ENVELOPE = frozenset({"result_flag", "result_text"})


def call_labels(observed: Observation, claimed: Outcome, operation: Operation, run: RunState | None) -> dict[str, Any]:
    """The labels of one call; content-free, so they may always leave."""
    labels: dict[str, Any] = dict(_of_words(claimed, observed.outcome, observed.grade, operation.effect))
    labels[names.CALL_OPERATION] = operation_label(operation)
    if operation.targets:
        labels[names.CALL_TARGETS] = [keyed_hash(target) for target in operation.targets]
    if observed.evidence:
        labels.update(evidence_labels(observed.evidence))
    if run is not None:
        labels.update(run.marks)
    return labels


@lru_cache(maxsize=512)
def _of_words(claimed: Outcome, observed: Outcome, grade: Grade, effect: Effect) -> dict[str, str]:
    """The labels of which there are only so many together."""
    return {
        names.CLAIMED_OUTCOME: claimed.value,
        names.CLAIMED_SOURCE: "tool_return",
        names.OBSERVED_OUTCOME: observed.value,
        names.OBSERVED_GRADE: grade.label,
        names.CALL_EFFECT: effect.value,
    }


def evidence_labels(evidence: Sequence[Evidence]) -> dict[str, list[str]]:
    """Parallel lists, at most 16 long. What decided comes first; when there is more, other successes give way."""
    if len(evidence) > names.MAX_EVIDENCE:
        evidence = [evidence[0], *sorted(evidence[1:], key=_success)][: names.MAX_EVIDENCE]
    return {
        names.EVIDENCE_KIND: [one.kind for one in evidence],
        names.EVIDENCE_RULE: [one.rule for one in evidence],
        names.EVIDENCE_VALUE: [scrub(one.value, 64) if one.value else "" for one in evidence],
        names.EVIDENCE_SPAN_IDS: [one.span_id for one in evidence],
    }


def _success(one: Evidence) -> bool:
    return one.outcome is Outcome.SUCCESS


def claimed_outcome(observed: Observation, *, raised: bool) -> Outcome:
    """What the tool told the agent: an exception or an error envelope is an open failure, all else a success."""
    if raised:
        return Outcome.PENDING if observed.outcome is Outcome.PENDING else Outcome.FAILURE
    if not observed.evidence:
        return Outcome.SUCCESS
    if (read := said(observed)) is not None:
        return read
    told = {one.outcome for one in observed.evidence if one.kind in _ENVELOPE}
    if Outcome.FAILURE in told:
        return Outcome.FAILURE
    return Outcome.PENDING if Outcome.PENDING in told else Outcome.SUCCESS


def failure_type(observed: Observation) -> str | None:
    """`error.type` for a failure that structured evidence shows, None otherwise: "400", "ValueError", a rule id."""
    if observed.outcome is not Outcome.FAILURE or observed.grade is not Grade.STRUCTURED:
        return None
    for one in observed.evidence:
        if one.outcome is Outcome.FAILURE and one.grade is Grade.STRUCTURED:
            return one.value if _PLAIN.fullmatch(one.value) else one.rule
    return "_OTHER"


def type_name(error: BaseException) -> str:
    """The name of an exception's class, with its module unless it is built in."""
    return _class_name(type(error))


@lru_cache(maxsize=512)
def _class_name(kind: type) -> str:
    """A class may have been made with any name, such as one that a server sent."""
    module = kind.__module__
    return clean(kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}")
