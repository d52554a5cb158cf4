"""From a result of any shape to evidence: texts out of their frames, answers out of their envelopes, batches."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from overclaim.outcome import payload
from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.payload import plain
from overclaim.outcome.result_fields import failed_items, field_evidence
from overclaim.outcome.result_rules import names
from overclaim.outcome.result_texts import Context, frame, output_evidence, text_evidence
from overclaim.outcome.result_view import View, whole

_MAX_DEPTH = 4
_WIDE = 20
_FEW = 3


def judge(value: object, context: Context, depth: int = 0) -> list[Evidence]:
    """The evidence in one value of any shape."""
    return judge_plain(plain(value), context, depth)


def judge_plain(value: object, context: Context, depth: int = 0) -> list[Evidence]:
    """The evidence in one value that `payload.plain` made."""
    if isinstance(value, str):
        return _text(value, context, depth)
    if depth > _MAX_DEPTH:
        return []
    if isinstance(value, dict):
        return _dict(cast("dict[Any, Any]", value), context, depth)
    if isinstance(value, list):
        return _list(cast("list[object]", value), context, depth)
    return []


def _text(text: str, context: Context, depth: int) -> list[Evidence]:
    """A text, taken out of its frame where it has one."""
    framed = frame(text, context)
    if framed.body is None:
        return text_evidence(text, context)
    found = list(framed.evidence)
    if any(one.outcome is Outcome.FAILURE or one.rule == "http.expected" for one in found) or not framed.body:
        return found
    if framed.output:
        return found + output_evidence(framed.body, context)
    return found + (judge(framed.body, context, depth + 1) if depth < _MAX_DEPTH else [])


def _list(items: list[object], context: Context, depth: int) -> list[Evidence]:
    """Content blocks, or a batch of answers."""
    parts = payload.blocks(items)
    if parts is not None:
        return [one for part in parts for one in _part(part, context, depth)]
    found = _batch(items, context)
    if found or len(items) != 1:
        return found
    return judge(items[0], context, depth + 1) if isinstance(plain(items[0]), dict) else []


def _part(part: object, context: Context, depth: int) -> list[Evidence]:
    value = plain(part)
    return void_evidence(value, context) if payload.is_void(value) else judge(value, context, depth + 1)


def void_evidence(value: object, context: Context) -> list[Evidence]:
    """A result that holds nothing: fine for a write, "found nothing" otherwise."""
    fine = context.facts.empty_ok or context.effect is Effect.WRITE
    rule = "empty.container" if isinstance(value, (list, dict)) else "empty.void"
    outcome = Outcome.SUCCESS if fine else Outcome.EMPTY
    return [Evidence("empty_result", rule, outcome, Grade.INFERRED)]


def _dict(value: dict[Any, Any], context: Context, depth: int) -> list[Evidence]:
    """All field rules on one dict, then what its envelopes hold."""
    view = View(value, context, depth)
    found = field_evidence(view)
    if any(one.outcome is Outcome.FAILURE or one.rule == "http.expected" for one in found):
        return found
    view.explicit = any(one.outcome is Outcome.SUCCESS for one in found)
    return [*found, *_inside(view), *_nothing(view)]


def _inside(view: View) -> list[Evidence]:
    """Answers within envelopes, batches of answers, and the message of an answer."""
    found: list[Evidence] = []
    for _, value in view.present("inside"):
        if isinstance(value, dict) and value:
            found += judge_plain(cast("object", value), view.context, view.depth + 1)
        elif isinstance(value, list) and value:
            found += _held_list(cast("list[object]", value), view)
    for name, value in view.present("batch"):
        if isinstance(value, list) and name not in names("inside"):
            found += _batch(cast("list[object]", value), view.context)
    return found + _messages(view)


def _held_list(items: list[object], view: View) -> list[Evidence]:
    parts = payload.blocks(items)
    if parts is None:
        return _batch(items, view.context)
    return [one for part in parts for one in _part(part, view.context, view.depth + 1)]


def _messages(view: View) -> list[Evidence]:
    """Texts of an answer, judged like texts; of other small dicts only what is called a result."""
    if names("text").isdisjoint(view.fields) or view.has("stdout", "stderr"):
        return []
    if not (view.answer or len(view.value) <= _FEW):
        return []
    for name, value in view.present("text"):
        if isinstance(value, str) and (view.answer or name in ("result", "output")):
            found = _text(value, view.context, view.depth + 1)
            if found:
                return found
    return []


def _batch(items: list[object], context: Context) -> list[Evidence]:
    """A list of answers, one per item, of which some say that they failed. What a read lists is data."""
    if context.effect is Effect.READ or len(items) < 2:
        return []
    failed = failed_items(items, context)
    if not failed:
        return []
    sure = context.effect is Effect.WRITE
    grade = Grade.STRUCTURED if sure else Grade.INFERRED
    return [Evidence("result_flag", "batch.item_failed", Outcome.FAILURE, grade, f"{failed}/{len(items)}")]


def _nothing(view: View) -> list[Evidence]:
    """A dict in which nothing was found: empty lists, a total of 0, or an envelope around nothing."""
    holders: list[tuple[str, object]] = []
    for name, item in view.fields.items():
        if name not in _quiet():
            holders.append((name, plain(item)))
            if not payload.is_void(holders[-1][1]) and whole(holders[-1][1]) != 0:
                return []  # most results hold something, and then the rest need not be looked at
    if len(view.value) > _WIDE:
        return []
    empties = [name for name, item in holders if payload.is_void(item)]
    zero_total = any(whole(value) == 0 for _, value in view.present("total"))
    zeros = {name for name, item in holders if whole(item) == 0} - names("total")
    if zeros or not (empties or zero_total):
        return []
    if empties and all(name in names("inside") for name in empties) and not zero_total:
        return _hollow(view, empties)
    hollow = view.reading or any(isinstance(plain(view.fields[name]), (list, dict)) for name in empties)
    if not zero_total and not hollow:
        return []
    if set(empties) <= names("error") | names("failed_count") and not zero_total:
        return []
    if view.context.effect is Effect.WRITE and not empties:
        return []
    outcome = Outcome.SUCCESS if view.context.facts.empty_ok else Outcome.EMPTY
    return [Evidence("empty_result", "rows.none", outcome, Grade.INFERRED)]


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
