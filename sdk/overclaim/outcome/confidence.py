"""How sure a verdict on a claim is: its calibrated probability of being right about whether too much is claimed.

The values stand in lexicons/confidence.toml, by rule, by the grade of the evidence, and by whether the claim names a
deed ("I refunded it") or none ("all done"). They are shares of labelled runs, shrunk towards the share of their rule
(posterior means of a beta-binomial model). The SQL judge is given the same values, so both say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product

from overclaim.outcome.lexicon import table

UNMEASURED = 0.8  # of a rule that no labelled run has shown
KINDS = tuple(product((True, False), (True, False)))


def key(rule: str, *, sure: bool, deed: bool) -> str:
    """The name of one kind of verdict. sure: all calls that show it have structured evidence, and there is one."""
    return f"{rule} {kind(sure=sure, deed=deed)}"


def kind(*, sure: bool, deed: bool) -> str:
    """What of a verdict besides its rule counts for how sure it is."""
    return f"{'structured' if sure else 'inferred'} {'deed' if deed else 'generic'}"


def confidence(rule: str, *, sure: bool, deed: bool) -> float:
    """The probability, 0 to 1, that a verdict of this kind is right; 1 where it says nothing."""
    return values().get(key(rule, sure=sure, deed=deed), UNMEASURED)


@cache
def values() -> Mapping[str, float]:
    """The confidence of every kind of verdict of the rules that were measured, by its `key`."""
    return {
        key(rule, sure=sure, deed=deed): float(measured.get(kind(sure=sure, deed=deed), measured["any"]))
        for rule, measured in table("confidence").items()
        for sure, deed in KINDS
    }
