"""How sure a verdict is: one value for every kind of every rule, the same for both judges."""

from __future__ import annotations

from typing import Any

from overclaim.outcome.confidence import KINDS, UNMEASURED, confidence, kind, values
from overclaim.outcome.lexicon import table
from overclaim.outcome.rule_outcomes import outcome_of_rule

SILENT = ("run.incomplete", "operation.outcome_unknown")


def test_every_value_is_a_probability() -> None:
    """None is 0: nothing is judged that is never right."""
    assert values()
    assert all(0 < value <= 1 for value in values().values())


def test_every_rule_has_each_kind() -> None:
    """A kind that was not measured has the value of its rule."""
    for rule, measured in table("confidence").items():
        for sure, deed in KINDS:
            told: dict[str, Any] = measured
            assert confidence(rule, sure=sure, deed=deed) == told.get(kind(sure=sure, deed=deed), told["any"])


def test_rules_of_what_differs_are_all_there() -> None:
    """So that none is silently taken for an unknown one."""
    listed = table("confidence")
    for rule in ("claim.value_mismatch", "target.other", "quantity.fewer_done", "verification.differs"):
        assert outcome_of_rule(rule) is not None
        assert rule in listed


def test_what_says_nothing_is_sure() -> None:
    """Where a run cannot be judged, nothing can be wrong."""
    assert {confidence(rule, sure=False, deed=False) for rule in SILENT} == {1.0}


def test_an_unknown_rule_has_a_stated_value() -> None:
    """A rule of somebody else's has never been measured here."""
    assert confidence("mine.own", sure=True, deed=True) == UNMEASURED
