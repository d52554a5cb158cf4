"""Attribute values as text, for maps of strings.

This is the OpenTelemetry specification's form for systems that know only strings, and the Collector's AsString:
`true`, `42`, `0.5`, base64 for bytes, compact JSON for lists and for maps with sorted keys, "" for an empty value.
Unlike AsString, which gives up on NaN and infinities, it has the specification's words for them.
"""

from __future__ import annotations

import math
from base64 import b64encode
from decimal import Decimal
from operator import itemgetter
from typing import Final, cast

# As ClickHouse writes them; Go differs only in that its hexadecimal digits are small letters.
_ESCAPES: Final = str.maketrans(
    {
        **{chr(code): f"\\u{code:04X}" for code in (*range(32), 0x2028, 0x2029)},
        **{"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"},
    }
)
_NO_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")


def as_text(value: object) -> str:
    """The text of a plain value: None, bool, int, float, str, bytes, list or dict."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return _json(value)


def float_text(value: float) -> str:
    """A float in the shortest form that reads back the same, written as JSON numbers of Go and JavaScript are."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    if "e" not in text:
        return text.removesuffix(".0")
    if 1e-6 <= abs(value) < 1e21:  # Python changes to exponents earlier than they do
        return format(Decimal(text), "f")
    return text.replace("e-0", "e-")


def _json(value: object) -> str:
    # By hand: the standard encoder sets itself up anew for each value, which costs ten times the writing.
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, dict):
        pairs = sorted(cast(dict[str, object], value).items(), key=itemgetter(0))
        return "{" + ",".join(f"{_quoted(key)}:{_json(item)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, cast(list[object], value))) + "]"
    text = as_text(value)
    return f'"{text}"' if isinstance(value, bytes) or text in _NO_NUMBERS else text


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
