"""Bounded texts without secrets: whatever leaves the process as text goes through here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import cast

from overclaim.outcome.results.payload import stored_items

MAX_TEXT = 2048
MAX_SMALL = 64
_MASK = "[scrubbed]"
_DEPTH = 6
_ITEMS = 64

_SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)?$|secret|token(?!s)|api[_-]?key|auth(?!or)|credential|cookie|session[_-]?id|private[_-]?key"
    r"|dsn|connection[_-]?string|cvv|cvc|ssn|card[_-]?number",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(
    r"(?P<name>\b[\w-]{0,40}(?:password|passwd|secret|token|api[_-]?key|credential)(?P<quote>[\"']?)\s{0,4}[:=]\s{0,4})"
    r"(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&}\]]+)",
    re.IGNORECASE,
)
_SHAPES = (
    (re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^\s/@]+@", re.IGNORECASE), r"\g<scheme>" + _MASK + "@"),
    (re.compile(r"\b(?:bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), _MASK),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), _MASK),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[abps]|AKIA|ASIA|AIza|glpat|hf)[_-]?[A-Za-z0-9_-]{12,}"), _MASK),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL), _MASK),
    (re.compile(r"\b\d(?:[ -]?\d){12,18}\b"), _MASK),
)


def scrub(text: str, limit: int = MAX_TEXT) -> str:
    """The text with secrets masked, at most `limit` characters, safe to encode as UTF-8."""
    # A secret that the cut would halve must still be recognised, hence the margin.
    head = text[: limit + 512]
    for pattern, mask in _SHAPES:
        head = pattern.sub(mask, head)
    head = _ASSIGNMENT.sub(rf"\g<name>\g<quote>{_MASK}\g<quote>", head)
    if len(head) > limit or len(text) > limit + 512:
        head = head[: limit - 1] + "…"
    return head.encode("utf-8", "replace").decode("utf-8")


def clean(text: str, limit: int = 256) -> str:
    """A name or id that a program gave us: bounded, and safe to encode. One lone surrogate would lose a whole batch."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


def small(value: object) -> str:
    """A value short enough and plain enough for a label: a number, a flag or a short clean text, else its type."""
    if isinstance(value, bool | int | float) or value is None:
        return str(value)[:MAX_SMALL]
    if type(value) is str:
        return scrub(value, MAX_SMALL)
    return type(value).__name__


def as_json(value: object, limit: int = MAX_TEXT) -> str:
    """The value as scrubbed JSON text of at most `limit` characters; plain text stays plain. Never calls repr."""
    if isinstance(value, str):
        return scrub(value, limit)
    text = json.dumps(_plain(value, _DEPTH), ensure_ascii=False, allow_nan=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _plain(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, str):
        return scrub(value)
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        return _plain_mapping(value, depth)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list | tuple | set | frozenset):
        first = islice(cast("Iterable[object]", value), _ITEMS)
        return [_plain(item, depth - 1) for item in first]
    return _plain_object(value, depth)


def _plain_mapping(value: dict[object, object], depth: int) -> dict[str, object]:
    plain: dict[str, object] = {}
    for key, item in stored_items(value, _ITEMS):
        name = scrub(key) if isinstance(key, str) else small(key)
        plain[name] = _MASK if _SECRET_NAME.search(name) else _plain(item, depth - 1)
    return plain


def _plain_object(value: object, depth: int) -> object:
    fields = getattr(value, "__dict__", None)
    if not isinstance(fields, dict) or not fields:
        return f"<{type(value).__name__}>"
    public = {key: item for key, item in fields.items() if not str(key).startswith("_")}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return _plain_mapping(public, depth)  # pyright: ignore[reportUnknownArgumentType]
