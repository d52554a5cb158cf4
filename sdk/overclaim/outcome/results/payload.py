"""From whatever a tool returned to plain Python values: bounded, lazy, and never trusting the object.

Only types are looked up and instance dictionaries read, so no user code runs: no `str()`, no `len()`, no
iteration of foreign containers, no properties. Values inside are made plain when a rule looks at them.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, cast

MAX_JSON = 1_000_000
"""Characters of text that are still parsed as JSON; longer texts are read at their ends only."""
MAX_LITERAL = 8_192
"""Characters of a Python literal, which is about fifteen times dearer to read than JSON."""
MAX_FIELDS = 64
MAX_ITEMS = 200
MAX_BLOCKS = 8
_MAX_LEVELS = 4
_MAX_UNWRAP = 6

_ENVELOPES = ("result", "data", "body", "response", "output", "content", "structured_content", "kwargs")
_BLOCK_KEYS = frozenset({"type", "text", "json", "annotations", "citations", "_meta", "meta", "id", "index", "data"})
_BLOCK_TYPES = frozenset({"text", "output_text", "input_text", "json", "tool_result"})
_BAD_ESCAPE = re.compile(r"""\\[^\\'"abfnrtvxuUN0-7\n]""")
_ASSIGNED = re.compile(r"""\A(?:#\s*)?[A-Za-z_][\w.]{0,40}\s*=\s*(['"{\[].*['"}\]])\s*\Z""", re.DOTALL)
_LENIENT = json.JSONDecoder(strict=False)  # made once: making it costs more than reading a short document
_PLAIN = (dict, list, int, float, bool, type(None))
_WORDS: dict[str, object] = {"None": None, "null": None, "undefined": None, "True": True, "False": False}


def parse(result: object) -> object:
    """The plain value inside a tool's result: JSON in strings, content blocks and envelopes taken off.

    Args:
        result: any Python object, or JSON, a Python literal or other text.

    Returns:
        dict, list, str, int, float, bool or None; an object that is none of these and holds no public
        fields is returned as it is. Work is bounded whatever the size, depth or loops of the input.
    """
    try:
        return _parsed(result)
    except Exception:  # keys of a dict may be hostile too
        return result


def _parsed(result: object) -> object:
    value = plain(result)
    if value is OPAQUE:
        return result
    for _ in range(_MAX_UNWRAP):
        inner = _unwrapped(value)
        if inner is value or plain(inner) is OPAQUE:
            return inner
        value = plain(inner)
    return value


class Opaque:
    """Stands for an object that cannot be read without running its code."""


OPAQUE = Opaque()


def plain(value: object) -> object:
    """One node made plain; what it contains is left as it was. OPAQUE where the object shows nothing."""
    kind = type(value)
    if kind is str:
        return decode(cast("str", value))
    if kind in _PLAIN:
        return value
    try:
        return _plain_object(value, kind)
    except Exception:  # a hostile object must not harm the call it came from
        return OPAQUE


def decode(text: str) -> object:
    """The value that a text spells out as JSON or as a Python literal, over several levels; else the text."""
    value = _decode_once(text)
    if value is text:  # as most texts
        return text
    for _ in range(_MAX_LEVELS - 1):
        if not isinstance(value, str):
            break
        inner = _decode_once(value)
        if inner is value:
            break
        value = inner
    return value


def blocks(value: object) -> list[object] | None:
    """The contents of a list of content blocks (MCP, Anthropic, Strands, OpenAI), or None if it is no such list."""
    if not isinstance(value, list) or not value:
        return None
    items = cast("list[object]", value)[:MAX_BLOCKS]
    found = [_block(plain(item)) for item in items]
    return None if any(part is _NO_BLOCK for part in found) else found


@lru_cache(maxsize=4096)
def key_form(key: str) -> str:
    """A field name without case and separators: "status_code", "statusCode" and "Status-Code" are one."""
    return key[:80].replace("_", "").replace("-", "").replace(" ", "").lower()


def as_dict(value: object) -> dict[Any, Any] | None:
    """The value if it is a dict, else None."""
    return cast("dict[Any, Any]", value) if isinstance(value, dict) else None


def fields(value: dict[Any, Any]) -> dict[str, object]:
    """The first fields of a dict by the normal form of their names; the first of two equal names stays."""
    found: dict[str, object] = {}
    for key, item in islice(value.items(), MAX_FIELDS):
        if isinstance(key, str):
            found.setdefault(key_form(key), item)
    return found


def is_void(value: object) -> bool:
    """Whether a plain value holds nothing: None, blank text, an empty list or dict."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value or (len(value) < 1000 and not value.strip())
    return isinstance(value, (dict, list)) and not value


class _NoBlock:
    """Marks an item that is not a content block."""


_NO_BLOCK = _NoBlock()


def _block(item: object) -> object:
    """The content of one block."""
    if not isinstance(item, dict):
        return _NO_BLOCK
    block = cast("dict[str, object]", item)
    if len(block) > len(_BLOCK_KEYS) or not block.keys() <= _BLOCK_KEYS:
        return _NO_BLOCK
    if block.get("type", "text") not in _BLOCK_TYPES:
        return _NO_BLOCK
    return next((block[name] for name in ("text", "json") if name in block), _NO_BLOCK)


def _unwrapped(value: object) -> object:
    """What one envelope holds, or the value itself where it is no envelope."""
    parts = blocks(value)
    if parts is not None:
        return parts[0] if len(parts) == 1 else parts
    holder = as_dict(value)
    if holder is None:
        return value
    for name in ("structuredContent", "structured_content"):
        if not is_void(inner := plain(holder.get(name))):
            return inner
    content = plain(holder.get("content"))
    if blocks(content) is not None:
        return content
    if len(holder) == 1:
        return next((holder[name] for name in _ENVELOPES if name in holder), value)
    return value


def _decode_once(text: str) -> object:
    """One level of decoding. The first and last characters decide whether it is worth a try."""
    if len(text) > MAX_JSON:
        return text
    body = text.strip()
    if not body:
        return text
    first, last = body[0], body[-1]
    if (first in "{[" and last in "}]") or (first in "\"'(" and last in "\"')" and len(body) > 1):
        return _from_json(body, text)
    if len(body) <= 9 and body in _WORDS:
        return _WORDS[body]
    if last in "'\"}]" and len(body) <= MAX_LITERAL and (match := _ASSIGNED.match(body)):
        return _from_json(match[1], text)
    return text


def _from_json(body: str, text: str) -> object:
    """The JSON value, else the Python literal, else the text."""
    if body[0] not in "'(":
        try:
            return cast("object", _LENIENT.decode(body))
        except (ValueError, RecursionError):
            pass
    return _from_literal(body, text)


def _from_literal(body: str, text: str) -> object:
    """The value of a Python literal (the repr of a dict, say), else the text.

    A text with an unknown escape is left alone: compiling it would warn on the user's stderr.
    """
    if len(body) > MAX_LITERAL or _BAD_ESCAPE.search(body) or not _quoted(body):
        return text
    try:
        value: object = ast.literal_eval(body)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return plain(value)


def _quoted(body: str) -> bool:
    """Whether a text may be a literal at all, so that prose in brackets costs no compilation."""
    return body[0] in "'\"" or "'" in body or '"' in body


def _plain_object(value: Any, kind: type) -> object:
    """A foreign object as a plain value, by its type alone: isinstance would ask the object for its class."""
    for base, convert in _CONVERSIONS:
        if issubclass(kind, base):
            return convert(value)
    return _public_fields(value, kind)


def _from_bytes(value: bytes) -> object:
    return decode(bytes(value[:MAX_JSON]).decode("utf-8", "replace"))


def _first_items(value: Any) -> list[object]:
    return list(islice(value, MAX_ITEMS))


def stored_items(value: Any, most: int = MAX_FIELDS) -> list[tuple[Any, Any]]:
    """The first pairs that a dict holds, whatever a subclass of it makes of iterating."""
    items: Any = dict.items(value)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return list(islice(items, most))


def _first_fields(value: Any) -> dict[Any, object]:
    return dict(stored_items(value))


def _list_items(value: Any) -> list[object]:
    items: Any = list.__iter__(value)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return list(islice(items, MAX_ITEMS))


_CONVERSIONS: tuple[tuple[Any, Callable[[Any], object]], ...] = (
    (Enum, lambda value: plain(value.value)),
    (str, lambda value: decode(str.__str__(value))),
    ((bytes, bytearray), _from_bytes),
    (dict, _first_fields),
    (MappingProxyType, lambda value: dict(islice(value.items(), MAX_FIELDS))),
    (list, _list_items),
    ((tuple, set, frozenset), _first_items),
    ((int, float), lambda value: value),
)


def _public_fields(value: object, kind: type) -> object:
    """The stored public fields of an object as a dict; OPAQUE where it has none."""
    shape = _shape(value, kind)
    if shape is not None:
        return [] if shape and shape[0] == 0 else OPAQUE
    if dataclasses.is_dataclass(kind):
        held = {one.name: getattr(value, one.name, None) for one in dataclasses.fields(kind)}
    else:
        held = dict(islice(_instance_dict(value).items(), MAX_FIELDS))
    found = {name: item for name, item in held.items() if not name.startswith("_")}
    return found or OPAQUE


def _instance_dict(value: object) -> dict[str, object]:
    """The instance dictionary, read without the object's own attribute hooks."""
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return cast("dict[str, object]", stored) if type(stored) is dict else {}


def _shape(value: object, kind: type) -> tuple[object, ...] | None:
    """The shape of an array or a data frame, which says whether it has rows."""
    if not hasattr(kind, "shape") or not hasattr(kind, "dtypes" if hasattr(kind, "columns") else "dtype"):
        return None
    shape = getattr(value, "shape", None)
    return cast("tuple[object, ...]", shape) if type(shape) is tuple else None
