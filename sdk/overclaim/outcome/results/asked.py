"""A status word in the light of what was asked: the value that was to be set, the deed that was to be done.

reject_application -> "rejected" and update_ticket(status="failed") -> "failed" went as they should.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import cast

from overclaim.outcome.results.context import Context
from overclaim.outcome.results.rules import names, tool_words, words
from overclaim.outcome.results.view import View, is_identity, status_word
from overclaim.outcome.words import split_name

_MOST_VALUES = 64
_MOST_TEXT = 4000
_MOST_NAME = 200
_IRREGULAR = {
    "hold": ("held",), "write": ("written", "wrote"), "send": ("sent",), "pay": ("paid",), "set": ("set",),
    "put": ("put",), "make": ("made",), "build": ("built",), "take": ("taken",), "give": ("given",), "sell": ("sold",),
    "buy": ("bought",), "ring": ("rung",), "shut": ("shut",), "freeze": ("frozen",), "hide": ("hidden",),
    "draw": ("drawn",), "withdraw": ("withdrawn",), "undo": ("undone",), "do": ("done",), "lend": ("lent",),
    "bind": ("bound",), "rewrite": ("rewritten",), "rebuild": ("rebuilt",), "unbind": ("unbound",), "wind": ("wound",),
    "begin": ("begun",), "reset": ("reset",), "feed": ("fed",), "leave": ("left",), "bring": ("brought",),
}  # fmt: skip
_ENDING = ("un", "dis", "de")
_LEAST = 5
_GONE = re.compile(r"\b(?:(?:is|are|has|have|can|will) )?no longer [a-z]+(?: [a-z]+){0,3}", re.I)
_UNDENIED = r"(?<!not )(?<!not be )(?<!n't )(?<!n't be )(?<!nothing )(?<!nothing was )"
# Pasts that say more than that the deed was done.
_KEPT = frozenset({"failed", "errored", "timed", "crashed", "required", "needed", "queued", "submitted", "requested"})


def as_asked(word: str, context: Context) -> bool:
    """Whether a status word is the value that an argument gave, or what the tool's own verb makes of a thing."""
    if word in _values(context.arguments):
        return True
    return _is_result(word) and any(word in _past(verb) for verb in split_name(context.tool))


def without_asked(body: str, context: Context) -> str:
    """A text without what the call was given, and without the deed it was to do: "Invoice 3 rejected", "Job killed"."""
    for value in _texts(context.arguments):
        if value in body:
            body = body.replace(value, "''")
    verbs = split_name(context.tool)
    if ends(context.tool):
        body = _GONE.sub("''", body)
    lowered = body.lower()
    for past in (past for verb in verbs if len(verb) > 2 for past in _past(verb)):
        if past in lowered and past not in _KEPT:
            body = re.sub(rf"{_UNDENIED}\b{re.escape(past)}\b", "''", body, flags=re.I)
    return body


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
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    stem = verb[:-1] + "i" if verb.endswith("y") else verb.removesuffix("e")
    return stem + "ed", f"{verb}{verb[-1:]}ed", verb + "ed"


@lru_cache(maxsize=2048)
def ends(tool: str) -> bool:
    """Whether a tool ends something, or takes something back, by its name: stop_pump, unlock_door, disable_rule."""
    verbs = split_name(tool)
    return not tool_words("endings").isdisjoint(verbs) or any(verb.startswith(_ENDING) for verb in verbs)


def past_forms(verb: str) -> tuple[str, ...]:
    """The past forms that an English verb of some length may have."""
    return _past(verb) if len(verb) > 2 else ()


def given_words(arguments: object) -> set[str]:
    """The words and names that a call was given, each for itself where they came in a list, in lower case."""
    found: set[str] = set()
    for value in islice(_by_name(arguments).values(), _MOST_VALUES):
        if isinstance(value, str):
            _add_words(value, found)
            continue
        for one in cast("list[object]", value)[:_MOST_VALUES] if isinstance(value, list) else (value,):
            if type(one) is int:
                found.add(str(one))
            elif isinstance(one, str):
                _add_words(one, found)
    found.discard("")
    return found


def _add_words(text: str, found: set[str]) -> None:
    if len(text) <= _MOST_NAME:
        found.add(text.strip().lower())
        if "," in text:
            found.update(part.strip().lower() for part in text.split(","))


def given_lists(arguments: object) -> list[int]:
    """How many things each list holds that a call was given."""
    values = islice(_by_name(arguments).values(), _MOST_VALUES)
    return [len(cast("list[object]", value)) for value in values if isinstance(value, list)]


def _by_name(arguments: object) -> Mapping[object, object]:
    """The arguments as they came, or read from their JSON text; none where they have no names."""
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    named = isinstance(arguments, (dict, Mapping))  # asking for a dict first is much faster
    return cast("Mapping[object, object]", arguments) if named else {}


def _values(arguments: object) -> set[str]:
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    return set(islice(filter(None, map(status_word, _leaves(arguments))), _MOST_VALUES))


def gave_false(arguments: object) -> bool:
    """Whether a call was to make something false: {"enabled": false}."""
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    return any(one is False for one in islice(_leaves(arguments), _MOST_VALUES))


def _texts(arguments: object) -> list[str]:
    """The longer texts among the arguments, longest first: what a result may repeat."""
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    leaves = islice(_leaves(arguments), _MOST_VALUES)
    found = {one.strip() for one in leaves if isinstance(one, str) and _LEAST <= len(one.strip()) <= _MOST_TEXT}
    return sorted(found, key=len, reverse=True)


def _leaves(arguments: object, depth: int = 0) -> Iterator[object]:
    if isinstance(arguments, (dict, Mapping)) and depth < 3:
        for value in islice(cast("Mapping[object, object]", arguments).values(), _MOST_VALUES):
            yield from _leaves(value, depth + 1)
    else:
        yield arguments


def _parsed(text: str) -> object:
    try:
        return json.loads(text) if len(text) <= _MOST_TEXT else None
    except ValueError:
        return None
