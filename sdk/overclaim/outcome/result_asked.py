"""A status word in the light of what was asked: the value that was to be set, the deed that was to be done.

reject_application -> "rejected" and update_ticket(status="failed") -> "failed" went as they should.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import cast

from overclaim.outcome.result_rules import names, words
from overclaim.outcome.result_texts import Context
from overclaim.outcome.result_view import View, is_identity, status_word
from overclaim.outcome.words import split_name

_MOST_VALUES = 64
_MOST_TEXT = 4000


def as_asked(word: str, context: Context) -> bool:
    """Whether a status word is the value that an argument gave, or what the tool's own verb makes of a thing."""
    if word in _values(context.arguments):
        return True
    return _is_result(word) and any(word in _past(verb) for verb in split_name(context.tool))


def unfinished_kind(view: View) -> bool:
    """Whether a record stands for something under way, whose own "pending" is that of the call; so it is if in doubt.

    A task or an order that is pending is there; money that is pending has not moved, and a job has not run. Which it
    is, is read from the names of its ids and states, from what it says that it is, and from the tool's name.
    """
    if not view.context.tool:
        return True
    kinds = [value for name in ("object", "type", "kind") if isinstance(value := view.fields.get(name), str)]
    keys = [key for key in islice(view.value, _MOST_VALUES) if isinstance(key, str)]
    telling = [key for key in keys if is_identity(key) or not names("status").isdisjoint(split_name(key))]
    named = [*telling, *kinds, view.context.tool]
    return any(part in words("unfinished_kinds") for name in named for part in split_name(name))


def _is_result(word: str) -> bool:
    """A word that may be the end of a verb. "queued" and "error" are no such ends, whatever the tool is called."""
    return word in words("done_by_verb") or (word.endswith("ed") and word in words("failure"))


def _past(verb: str) -> tuple[str, ...]:
    """The past forms that an English verb may have."""
    stem = verb[:-1] + "i" if verb.endswith("y") else verb.removesuffix("e")
    return stem + "ed", f"{verb}{verb[-1:]}ed", "held" if verb == "hold" else verb + "ed"


def _values(arguments: object) -> set[str]:
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    return set(islice(filter(None, map(status_word, _leaves(arguments))), _MOST_VALUES))


def _leaves(arguments: object, depth: int = 0) -> Iterator[object]:
    if isinstance(arguments, Mapping) and depth < 3:
        for value in islice(cast("Mapping[object, object]", arguments).values(), _MOST_VALUES):
            yield from _leaves(value, depth + 1)
    else:
        yield arguments


def _parsed(text: str) -> object:
    try:
        return json.loads(text) if len(text) <= _MOST_TEXT else None
    except ValueError:
        return None
