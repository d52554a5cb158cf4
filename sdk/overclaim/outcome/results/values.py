"""From a result of any shape to evidence: texts out of their frames, answers out of their envelopes, batches."""

from __future__ import annotations

from typing import Any, cast

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results import payload
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.fields import failed_items, field_evidence, state_evidence
from overclaim.outcome.results.nothing import nothing, void_evidence
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.printed import printed_status
from overclaim.outcome.results.rules import names, tool_words
from overclaim.outcome.results.texts import frame, output_evidence, text_evidence
from overclaim.outcome.results.tools import is_data
from overclaim.outcome.results.view import View
from overclaim.outcome.words import split_name

_MAX_DEPTH = 4
_FEW = 3
_PAIR = 2
_SMALL = 5
_MESSAGE = ("message", "msg", "detail", "info", "statusmessage", "mensaje", "mensagem", "nachricht")


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
        status = printed_status(text, context) if context.tool else None
        return [status] if status else text_evidence(text, context)
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
    found = _batch(items, context) or _pair(items, context)
    if found or len(items) != 1:
        return found
    return judge(items[0], context, depth + 1) if isinstance(plain(items[0]), dict) else []


def _pair(items: list[object], context: Context) -> list[Evidence]:
    """(False, "card declined") or (1054, "Unknown column"): a mark or a number, and in words what went wrong."""
    if len(items) != 2 or not isinstance(items[1], str) or not (items[0] is False or isinstance(items[0], int)):
        return []
    return [one for one in text_evidence(items[1], context) if one.outcome is Outcome.FAILURE]


def _part(part: object, context: Context, depth: int) -> list[Evidence]:
    value = plain(part)
    return void_evidence(value, context) if payload.is_void(value) else judge(value, context, depth + 1)


def _dict(value: dict[Any, Any], context: Context, depth: int) -> list[Evidence]:
    """All field rules on one dict, then what its envelopes hold."""
    view = View(value, context, depth)
    found = field_evidence(view)
    if found:
        if any(one.outcome is Outcome.FAILURE or one.rule == "http.expected" for one in found):
            return found
        view.explicit = any(one.outcome is Outcome.SUCCESS for one in found)
    return [*found, *_inside(view), *nothing(view)]


def _inside(view: View) -> list[Evidence]:
    """Answers within envelopes, batches of answers, and the message of an answer."""
    if not view.form.holds:
        return _lone(view)
    found: list[Evidence] = []
    for _, value in view.present("inside"):
        if isinstance(value, dict) and value:
            found += judge_plain(cast("object", value), view.context, view.depth + 1)
        elif isinstance(value, list) and value:
            found += _held_list(cast("list[object]", value), view)
    for name, value in view.present("batch"):
        if isinstance(value, list) and name not in names("inside"):
            answers = name in names("answers") and not view.reading
            found += _batch(cast("list[object]", value), view.context, least=1, sure=answers)
    return found + _lone(view) + _of_record(view) + _messages(view)


def _of_record(view: View) -> list[Evidence]:
    """The state of what a change made or touched, where its record keeps it one level down."""
    if view.depth > 1 or len(view.value) <= _PAIR or not view.form.group("record_inside") or view.reading:
        return []
    parts = [view.fields[name] for name in names("record_inside") if name in view.fields]
    held = [cast("dict[Any, Any]", one) for one in map(plain, parts) if isinstance(one, dict)]
    return [one for part in held for one in state_evidence(View(part, view.context, view.depth + 1))]


def _lone(view: View) -> list[Evidence]:
    """What a dict of one thing holds under a name of its own: {"DBInstance": {..}}, {"productUpdate": {..}}.

    What a read holds there is data; only that it is nothing counts.
    """
    if len(view.value) > _PAIR or view.depth >= _MAX_DEPTH:
        return []
    held: dict[str, object] = {}
    for name, item in view.fields.items():
        held[name] = plain(item)
        if not isinstance(held[name], dict):
            return []
    found: list[Evidence] = []
    for name in held.keys() - names("inside") - names("status") - names("error"):
        inner = cast("dict[Any, Any]", held[name])
        if not view.reading:
            found += _dict(inner, view.context, view.depth + 1)
        elif len(held) == 1:
            found += nothing(View(inner, view.context, view.depth + 1))
    return found


def _held_list(items: list[object], view: View) -> list[Evidence]:
    parts = payload.blocks(items)
    if parts is None:
        return _batch(items, view.context)
    return [one for part in parts for one in _part(part, view.context, view.depth + 1)]


def _messages(view: View) -> list[Evidence]:
    """Texts of an answer, judged like texts; of other small dicts only what is called a result."""
    if not view.form.group("text") or view.has("stdout", "stderr"):
        return []
    told = _tells_how_it_went(view)
    if not (view.answer or told or len(view.value) <= _FEW):
        return []
    for name, value in view.present("text"):
        if isinstance(value, str) and (view.answer or name in ("result", "output") or (told and name in _MESSAGE)):
            found = _text(value, view.context, view.depth + 1)
            if found:
                return found
    return []


def _tells_how_it_went(view: View) -> bool:
    """Whether the message in a small record is about the call: no read, and no tool that deals in messages."""
    context = view.context
    if view.reading or view.depth or not context.tool or len(view.value) > _SMALL:
        return False
    return tool_words("messages").isdisjoint(split_name(context.tool)) and not is_data(context)


def _batch(items: list[object], context: Context, *, least: int = 2, sure: bool = False) -> list[Evidence]:
    """A list of answers, one per item, of which some say that they failed. What a read lists is data.

    least: how many there must be; one is enough where a write holds it under the name of a batch.
    sure: the name says that these are answers, whatever the call did.
    """
    if context.effect is Effect.READ or len(items) < (least if sure or context.effect is Effect.WRITE else 2):
        return []
    failed = failed_items(items, context)
    if not failed:
        return []
    grade = Grade.STRUCTURED if context.effect is Effect.WRITE else Grade.INFERRED
    return [Evidence("result_flag", "batch.item_failed", Outcome.FAILURE, grade, f"{failed}/{len(items)}")]
