"""One dict of a result and how it is to be read: as an answer about the call, or as a record of something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from overclaim.outcome.model import Effect
from overclaim.outcome.results import payload
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.rules import names, words
from overclaim.outcome.results.tools import reporting

_BIG_RECORD = 10
_MOST_ERRORS = 20
_HOLDERS = ("inside", "batch", "record_inside", "text")
_MOST_FORMS = 2048
_MOST_LETTERS = 1000
_SNAKE_ID = re.compile(r"(?:^|[_-])(?:id|uuid|guid|sku|slug)$", re.I)
_CAMEL_ID = re.compile(r"[a-z0-9](?:I[dD]|U[uU][iI][dD])$")
_STATUS_TEXT = re.compile(r"\A(?:HTTP/[\d.]+ )?([1-5]\d\d)(?:\s[\w '-]{0,40})?\Z")
_SEPARATORS = re.compile(r"[\s\-]+")


class Form:
    """What the names of a dict's fields say, whatever they hold: results of one tool have the same names.

    names: their normal forms, once each. wrapping: whether a framework put the dict around a tool's answer. identified:
    whether it names a thing by an id, so that it may be a record. answer: whether it is an answer about the call: it
    has no fields but those of answers. lowered: the names as they are, in lower case. holds: whether there may be more
    to read inside it. rules: the rules that have something to look at, None until somebody asked.
    """

    __slots__ = ("_distinct", "_groups", "answer", "holds", "identified", "lowered", "names", "rules", "wrapping")

    def __init__(self, value: dict[Any, Any]) -> None:
        self.names = tuple(payload.fields(value))
        self._distinct = len(self.names) == len(value)
        self._groups: dict[str, tuple[str, ...]] = {}
        keys = [key for key in islice(value, payload.MAX_FIELDS) if isinstance(key, str)]
        self.lowered = frozenset(map(str.lower, keys))
        self.wrapping = not names("wrapping").isdisjoint(self.names)
        self.identified = not self.wrapping and any(map(is_identity, keys))
        self.answer = self.wrapping or (names("envelope").issuperset(self.names) and not self.identified)
        self.holds = any(self.group(group) for group in _HOLDERS)
        self.rules: tuple[int, ...] | None = None

    def fields(self, value: dict[Any, Any]) -> dict[str, object]:
        """The fields of a dict of this form by their normal names."""
        return dict(zip(self.names, value.values(), strict=False)) if self._distinct else payload.fields(value)

    def group(self, group: str) -> tuple[str, ...]:
        """The names of a group that are there, in their order."""
        found = self._groups.get(group)
        if found is None:
            wanted = names(group)
            found = self._groups[group] = tuple(name for name in self.names if name in wanted)
        return found


_forms: dict[tuple[str, ...], Form] = {}


def form_of(value: dict[Any, Any]) -> Form:
    """The form of a dict; those of the last few thousand different ones with few and short names are kept."""
    if len(value) > payload.MAX_FIELDS:
        return Form(value)
    keys = tuple(value)
    found = _forms.get(keys)
    if found is None:
        found = Form(value)
        if all(type(key) is str for key in keys) and sum(map(len, keys)) <= _MOST_LETTERS:
            if len(_forms) >= _MOST_FORMS:
                _forms.clear()
            _forms[keys] = found
    return found


class View:
    """One dict with its fields by normal name.

    reading: whether the call only read, or reports figures and states. explicit: whether a rule read a success in it.
    """

    __slots__ = (
        "answer", "context", "depth", "explicit", "fields", "form", "identified", "reading", "value", "wrapping",
    )  # fmt: skip

    def __init__(self, value: dict[Any, Any], context: Context, depth: int = 0) -> None:
        self.value = value
        self.context = context
        self.depth = depth
        self.form = form = form_of(value)
        self.fields = form.fields(value)
        self.wrapping, self.identified, self.answer = form.wrapping, form.identified, form.answer
        self.reading = context.effect is Effect.READ or reporting(context)
        self.explicit = False

    def present(self, group: str) -> Sequence[tuple[str, object]]:
        """The fields of a group that are there, in their order, with their plain values."""
        there = self.form.group(group)
        return [(name, plain(self.fields[name])) for name in there] if there else ()

    def has(self, *fields: str) -> bool:
        """Whether one of these fields is there."""
        return not self.fields.keys().isdisjoint(fields)

    @property
    def rich(self) -> bool:
        """Whether it is a whole record: many fields, or things inside things."""
        if len(self.value) >= _BIG_RECORD:
            return True
        others = (plain(item) for name, item in self.fields.items() if name not in names("envelope"))
        return sum(1 for item in others if isinstance(item, (dict, list)) and item) >= 2


@lru_cache(maxsize=4096)
def is_identity(key: str) -> bool:
    """Whether a field name is that of an id: "id", "order_id", "orderId", but not "paid" or "request_id"."""
    if payload.key_form(key) in names("no_identity"):
        return False
    return bool(_SNAKE_ID.search(key[:80]) or _CAMEL_ID.search(key[:80]))


def whole(value: object) -> int | None:
    """A count: an int, or a float without fraction; never a bool."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def size(value: object) -> int | None:
    """A count, or the length of a list or dict that stands for one."""
    if isinstance(value, (list, dict)):
        return len(cast("list[object]", value))
    return whole(value)


def http_status(value: object) -> int | None:
    """An HTTP status out of 404, "404" or "404 Not Found"."""
    if isinstance(value, str):
        match = _STATUS_TEXT.match(value[:60].strip())
        return int(match[1]) if match else None
    number = whole(value)
    return number if number is not None and 100 <= number <= 599 else None


def status_word(value: object) -> str:
    """A status word in its normal form; "" where the value is no word."""
    if not isinstance(value, str) or not value or len(value) > 60:
        return ""
    bare = value.strip().strip(".!").split("(")[0].strip()
    return _SEPARATORS.sub("_", bare).lower()


def has_error(value: object, depth: int = 0) -> bool:
    """Whether what an error field holds is an error: null, false, 0, "", "none", [] and {} are not."""
    value = plain(value)
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str):
        bare = value[:40].strip().lower().rstrip(".")
        return bool(bare.strip("0")) and bare not in words("no_error")
    if isinstance(value, (int, float)):
        return bool(whole(value))
    if depth > 2:
        return True
    if isinstance(value, dict):
        held = list(cast("dict[Any, object]", value).values())[:_MOST_ERRORS]
        return any(has_error(one, depth + 1) for one in held)
    if isinstance(value, list):
        return any(_is_item(one, depth) for one in cast("list[object]", value)[:_MOST_ERRORS])
    return True


def _is_item(value: object, depth: int) -> bool:
    """Whether one item of a list of errors is one: an object with anything in it, or an error by itself."""
    item = plain(value)
    held = payload.as_dict(item)
    if held is None:
        return has_error(item, depth + 1)
    return any(not payload.is_void(plain(one)) for one in islice(held.values(), _MOST_ERRORS))
