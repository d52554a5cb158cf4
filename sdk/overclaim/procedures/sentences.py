"""A procedure in one sentence, for people who read a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overclaim.procedures.model import Procedure


def sentence(procedure: Procedure) -> str:
    """What its template says, such as "authorize before capture, on the same target"."""
    said = _ordered(procedure) or _counted(procedure)
    near = f", within {procedure.within} calls" if procedure.within else ""
    same = ", on the same target" if procedure.per == "target" else ""
    lifted = f", unless {procedure.unless}" if procedure.unless else ""
    return f"{said}{near}{same}{lifted}"


def _ordered(one: Procedure) -> str:
    if one.precedence:
        return f"{one.precedence.first} before {one.precedence.then}"
    if one.response:
        return f"{one.response.then} after {one.response.when}"
    if one.succession:
        return f"{one.succession.first} before {one.succession.then}, and that after it"
    if one.not_after:
        return f"never {one.not_after.never} after {one.not_after.after}"
    if one.not_together:
        return f"not both {one.not_together[0]} and {one.not_together[1]}"
    return f"first of all {one.first}" if one.first else f"last of all {one.last}" if one.last else ""


def _counted(one: Procedure) -> str:
    if one.absence:
        return f"never {one.absence}"
    if one.existence:
        return f"always {one.existence}"
    for words, times in (("exactly", one.exactly), ("at least", one.at_least), ("at most", one.at_most)):
        if times:
            return f"{times.of} {words} {times.times} time{'' if times.times == 1 else 's'}"
    return ""
