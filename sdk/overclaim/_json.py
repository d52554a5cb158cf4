"""Typed access to values that came out of a JSON, YAML or protobuf document."""

from __future__ import annotations

import json
from typing import cast

# `json.loads` with an option makes a decoder each time, which costs more than a short document.
_LENIENT = json.JSONDecoder(strict=False)


def mapping(value: object) -> dict[str, object]:
    """Return `value` where it is an object, else an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return `value` where it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text(value: object) -> str:
    """Return `value` where it is a string, else ""."""
    return value if isinstance(value, str) else ""


def loads(value: object) -> object:
    """Parse `value` where it is JSON text of an object, a list or a string; else return it as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    try:
        return _LENIENT.decode(value)
    except (ValueError, RecursionError):
        return value


def whole(value: object) -> int | None:
    """Read a whole number from a number or from decimal text; None where there is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal() and len(value) < 24:
        return int(value)
    return None


def strings(value: object) -> tuple[str, ...]:
    """Read a list of strings, also from its JSON text (as stores with string-only attributes keep it)."""
    parsed = loads(value)
    if isinstance(parsed, (list, tuple)):
        return tuple(str(item) for item in cast("list[object]", parsed))
    return (parsed,) if isinstance(parsed, str) and parsed else ()
