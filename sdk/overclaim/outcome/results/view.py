"""One dict of a result and how it is to be read: as an answer about the call, or as a record of something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
_SNAKE_ID = re.compile(r"(?:^|[_-])(?:id|uuid|guid|sku|slug)$", re.I)
_CAMEL_ID = re.compile(r"[a-z0-9](?:I[dD]|U[uU][iI][dD])$")
_STATUS_TEXT = re.compile(r"\A(?:HTTP/[\d.]+ )?([1-5]\d\d)(?:\s[\w '-]{0,40})?\Z")
_SEPARATORS = re.compile(r"[\s\-]+")


class kept:
    """A property that is worked out once, as functools.cached_property, which in Python 3.11 takes a lock."""

    def __init__(self, work: Callable[[Any], bool]) -> None:
        self._work, self._name = work, work.__name__

    def __get__(self, view: Any, owner: type) -> bool:
        found = self._work(view)
        view.__dict__[self._name] = found
        return found


class View:
    """One dict with its fields by normal name.

    explicit: whether some rule read a success in it.
    """

    def __init__(self, value: dict[Any, Any], context: Context, depth: int = 0) -> None:
        self.value = value
        self.context = context
        self.depth = depth
        self.fields = payload.fields(value)
        self.explicit = False

    def present(self, group: str) -> Iterator[tuple[str, object]]:
        """The fields of a group that are there, in their order, with their plain values."""
        wanted = names(group)
        if not wanted.isdisjoint(self.fields):
            yield from ((name, plain(item)) for name, item in self.fields.items() if name in wanted)

    def has(self, *fields: str) -> bool:
        """Whether one of these fields is there."""
        return any(name in self.fields for name in fields)

    @property
    def reading(self) -> bool:
        """Whether the call only read, or reports figures and states."""
        return self.context.effect is Effect.READ or reporting(self.context)

    @kept
    def wrapping(self) -> bool:
        """Whether a framework put it around a tool's answer."""
        return not names("wrapping").isdisjoint(self.fields)

    @kept
    def identified(self) -> bool:
        """Whether the dict names a thing by an id, so that it may be a record."""
        return not self.wrapping and any(isinstance(key, str) and is_identity(key) for key in self.value)

    @kept
    def answer(self) -> bool:
        """Whether it is an answer about the call: it has no fields but those of answers."""
        return self.wrapping or (self.fields.keys() <= names("envelope") and not self.identified)

    @kept
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
