"""Results in which nothing was found: void values, empty lists, totals of 0."""

from __future__ import annotations

from functools import cache
from typing import cast

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results import payload
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.rules import names
from overclaim.outcome.results.view import View, whole
from overclaim.outcome.words import split_name

_WIDE = 20
# What these leave behind is empty when they have done their work.
_CLEARING = frozenset({"clear", "empty", "delete", "remove", "reset", "purge", "flush", "wipe", "truncate", "drop"})


def void_evidence(value: object, context: Context) -> list[Evidence]:
    """A result that holds nothing: as declared, or else fine for a write and "found nothing" otherwise."""
    if context.facts.empty_ok:
        return [Evidence("empty_result", "empty.allowed", Outcome.SUCCESS, Grade.INFERRED)]
    fine = context.effect is Effect.WRITE and context.facts.empty_ok is None
    rule = "empty.container" if isinstance(value, (list, dict)) else "empty.void"
    outcome = Outcome.SUCCESS if fine else Outcome.EMPTY
    return [Evidence("empty_result", rule, outcome, Grade.INFERRED)]


def nothing(view: View) -> list[Evidence]:
    """A dict in which nothing was found: empty lists, a total of 0, or an envelope around nothing."""
    holders: list[tuple[str, object]] = []
    for name, item in view.fields.items():
        if name not in _quiet():
            holders.append((name, plain(item)))
            if not payload.is_void(holders[-1][1]) and whole(holders[-1][1]) != 0:
                return _held(view)  # most results hold something, and then the rest need not be looked at
    if len(view.value) > _WIDE:
        return []
    empties = [name for name, item in holders if payload.is_void(item)]
    zero_total = any(whole(value) == 0 for _, value in view.present("total"))
    zeros = {name for name, item in holders if whole(item) == 0} - names("total")
    if zeros or not (empties or zero_total):
        return []
    if empties and all(name in names("inside") for name in empties) and not zero_total:
        return _hollow(view, empties)
    hollow = (
        view.reading or _looked_up(view) or any(isinstance(plain(view.fields[name]), (list, dict)) for name in empties)
    )
    if not zero_total and not hollow:
        return []
    if set(empties) <= names("error") | names("failed_count") and not zero_total:
        return []
    if (view.context.effect is Effect.WRITE and not empties) or (not zero_total and _is_cleared(view)):
        return []
    outcome = Outcome.SUCCESS if view.context.facts.empty_ok else Outcome.EMPTY
    return [Evidence("empty_result", "rows.none", outcome, Grade.INFERRED)]


def _is_cleared(view: View) -> bool:
    """Whether a tool that clears something, such as `clear_cart`, says that it did."""
    return view.explicit and not _CLEARING.isdisjoint(split_name(view.context.tool)[:1])


def _looked_up(view: View) -> bool:
    """Whether it is the one thing that was looked up, as in {"data": {"user": null}}."""
    return view.depth > 0 and len(view.value) == 1 and view.context.effect is not Effect.WRITE


@cache
def _quiet() -> frozenset[str]:
    """The fields that say nothing about whether something was found."""
    return names("paging") | names("skipped")


def _hollow(view: View, empties: list[str]) -> list[Evidence]:
    """An envelope around nothing: as void as the bare value, unless it says success about a call that is no read."""
    value = plain(view.fields[empties[0]])
    listed = isinstance(value, list)
    if view.explicit and not view.reading and not listed:
        return []
    return void_evidence(cast("object", value), view.context)


def _held(view: View) -> list[Evidence]:
    """A read whose one list is empty, where what it found would stand, beside mere facts about the reading."""
    if view.context.effect is Effect.WRITE or len(view.value) > _WIDE or view.identified:
        return []
    asked = names("held").union(split_name(view.context.tool)) if view.context.tool else names("held")
    if not any(type(item) is list and not item and name in asked for name, item in view.fields.items()):
        return []
    values = {name: plain(item) for name, item in view.fields.items() if name not in _quiet()}
    lists = [name for name, value in values.items() if isinstance(value, (list, dict))]
    if len(lists) != 1 or lists[0] not in asked or any(whole(value) for _, value in view.present("total")):
        return []
    outcome = Outcome.SUCCESS if view.context.facts.empty_ok else Outcome.EMPTY
    return [Evidence("empty_result", "rows.none", outcome, Grade.INFERRED)]
