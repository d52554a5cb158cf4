"""Rules on what one dict of a call that was to do something says was not done, without any word of failure.

{"revoked": false}, {"reservation": null, "reason": ..}, {"email": ["Enter a valid address."]}, {"a": "x", "b": null}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results import payload
from overclaim.outcome.results.asked import ends, gave_false, given_lists, given_words, past_forms
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.rules import line_pattern, names, words
from overclaim.outcome.results.texts import text_evidence
from overclaim.outcome.results.view import View, form_of, size, status_word, whole
from overclaim.outcome.words import split_name

_FEW = 6
_MOST = 16
_MOST_TEXT = 200
_SIZES = ("bytes", "size", "pages", "length")


def _fact(rule: str, outcome: Outcome, value: str) -> list[Evidence]:
    return [Evidence("result_flag", rule, outcome, Grade.INFERRED, value)]


def undone(view: View) -> list[Evidence]:
    """The tool's own deed said to be false ({"revoked": false} of revoke_key), or another with a reason, or alone."""
    if view.reading:
        return []
    flags = {name: value for name, value in view.fields.items() if isinstance(value, bool) and _is_deed(name, view)}
    if not flags or any(flags.values()) or _was_so(view) or _is_wanted(flags, view):
        return []
    name = next(iter(flags))
    listed = name if name in names("done_flag") else ""
    own = any(one in past_forms(verb) for one in flags for verb in split_name(view.context.tool))
    if len(view.value) == 1 and not own:
        return [] if view.identified else _fact("flag.done_false", Outcome.EMPTY, listed)
    told = [value for _, value in view.present("reason") if not (payload.is_void(value) or whole(value) is not None)]
    if any(one.outcome is Outcome.PENDING for text in told if isinstance(text, str) for one in _read(text, view)):
        return _fact("flag.pending_true", Outcome.PENDING, listed)
    plainly = view.context.effect is Effect.WRITE and not names("plain_deed").isdisjoint(flags)
    other = not view.identified and not ends(view.context.tool) and (bool(told) or plainly)
    return _fact("flag.done_false", Outcome.FAILURE, listed) if own or other else []


def hollow(view: View) -> list[Evidence]:
    """{"pdf_bytes": 0, "warning": ..}: what was to be made holds nothing, and the answer warns of it."""
    if not view.has("warning", "warnings"):
        return []
    if view.context.effect is not Effect.WRITE or view.depth or ends(view.context.tool):
        return []
    told = [view.fields[name] for name in ("warning", "warnings") if name in view.fields]
    sizes = [plain(value) for name, value in view.fields.items() if name.endswith(_SIZES)]
    empty = bool(sizes) and all(whole(one) == 0 for one in sizes)
    warned = any(not payload.is_void(plain(one)) for one in told)
    return _fact("flag.done_false", Outcome.FAILURE, "") if empty and warned else []


def fewer(view: View) -> list[Evidence]:
    """{"purged": 6} of a call that was given a list of eight: the tool's own deed, done to fewer. One may be a yes."""
    if view.context.effect is not Effect.WRITE or view.depth:
        return []
    own = _own_deeds(view.context.tool)
    if own.isdisjoint(view.fields):
        return []
    done = [count for name, item in view.fields.items() if name in own and (count := whole(plain(item))) is not None]
    asked = given_lists(view.context.arguments) if done else []
    if len(done) != 1 or len(asked) != 1 or not 1 < done[0] < asked[0] or _was_so(view):
        return []
    return [Evidence("row_count", "count.shortfall", Outcome.FAILURE, Grade.INFERRED, f"{done[0]}/{asked[0]}")]


@lru_cache(maxsize=1024)
def _own_deeds(tool: str) -> frozenset[str]:
    """The past forms of the verbs in a tool's name, but those of sending: how many were sent is counted otherwise."""
    return frozenset(past for verb in split_name(tool) for past in past_forms(verb)) - {"sent"}


def _is_wanted(flags: Iterable[str], view: View) -> bool:
    """Whether false is what was asked for ({"enabled": false} of pause_campaign, or of a call that was given false).

    Of another deed than the tool's own, which the answer calls a success, it only says that it is not so far yet.
    """
    if any(one in past_forms(verb) for one in flags for verb in split_name(view.context.tool)):
        return False
    return (
        gave_false(view.context.arguments)
        or ends(view.context.tool)
        or any(value is True for _, value in view.present("success_flag"))
    )


def _is_deed(name: str, view: View) -> bool:
    return name in names("done_flag") or any(name in past_forms(verb) for verb in split_name(view.context.tool))


def _was_so(view: View) -> bool:
    """Whether there was nothing to do: {"created": false, "existing": true}, or a reason that says "already"."""
    if any(not payload.is_void(value) and value is not False for _, value in view.present("skipped")):
        return True
    texts = [value for _, value in view.present("reason") if isinstance(value, str)]
    return any("already" in text[:_MOST_TEXT].lower() or "exists" in text[:_MOST_TEXT].lower() for text in texts)


def _read(text: str, view: View) -> list[Evidence]:
    return text_evidence(text, view.context)


def nothing_but_reason(view: View) -> list[Evidence]:
    """{"reservation": null, "reason": "full"}: where the thing should stand there is nothing, and why."""
    if view.reading or not 2 <= len(view.value) <= _FEW or not view.form.group("reason"):
        return []
    values = {name: plain(item) for name, item in view.fields.items()}
    about = frozenset(split_name(view.context.tool))
    wanted = any(value is None and name in about for name, value in values.items())
    reasons = {name for name in values if name in names("reason") and (wanted or name not in names("no_reason"))}
    if not any(isinstance(values[name], str) and str(values[name]).strip() for name in reasons):
        return []
    others = [value for name, value in values.items() if name not in reasons and name not in names("paging")]
    held = [value for value in others if not payload.is_void(value) and value is not False and size(value) != 0]
    missing = any(value is None or value == [] or value == {} for value in others)
    return _fact("flag.done_false", Outcome.FAILURE, "") if others and missing and not held else []


def field_errors(view: View) -> list[Evidence]:
    """What form frameworks answer: under each field a list of sentences about what is wrong with it."""
    if view.reading or view.depth or not 1 <= len(view.value) <= _MOST:
        return []
    lists = [plain(item) for item in view.fields.values()]
    if any(not isinstance(one, list) or payload.is_void(cast("object", one)) for one in lists):
        return []
    texts = [text for one in lists for text in cast("list[object]", one)[:_FEW]]
    wrong = line_pattern("field_error").search
    if all(isinstance(text, str) and wrong(text[:_MOST_TEXT]) for text in texts):
        return [Evidence("result_flag", "payload.validation_detail", Outcome.FAILURE, Grade.STRUCTURED, "fields")]
    return []


def missing_items(view: View) -> list[Evidence]:
    """Some of the things that were asked for by name come back as nothing: {"a": "a.md", "b": null}."""
    if view.reading or view.depth > 1 or not view.context.arguments:
        return []
    asked: set[str] | None = None
    for held in _dicts(view):
        if len(held) < 2:
            continue
        asked = given_words(view.context.arguments) if asked is None else asked
        if asked.isdisjoint(form_of(held).lowered):
            continue
        items = {key: plain(item) for key, item in held.items() if isinstance(key, str) and key.lower() in asked}
        void = [key for key, item in items.items() if item is None or item is False or item == "" or _is_bad(item)]
        if void and len(items) > len(void):
            return _fact("batch.item_failed", Outcome.FAILURE, f"{len(void)}/{len(items)}")
    return []


def _is_bad(item: object) -> bool:
    """Whether a word for one thing is one of failure: "failed", "error: locked"."""
    return isinstance(item, str) and status_word(item[:_MOST_TEXT].split(":")[0]) in words("failure")


def _dicts(view: View) -> Iterator[dict[Any, Any]]:
    """The dict itself and those that it holds."""
    yield view.value
    for item in islice(view.value.values(), _MOST):
        if type(item) is str and "{" not in item and "\\" not in item:
            continue  # it spells out no dict
        if isinstance(held := plain(item), dict):
            yield cast("dict[Any, Any]", held)
