"""Attribute values as text, for maps of strings.

This is the OpenTelemetry specification's form for systems that know only strings, and the Collector's AsString:
`true`, `42`, `0.5`, base64 for bytes, compact JSON for lists and maps, "" for an empty value.
"""

from __future__ import annotations

import math
from base64 import b64encode
from json.encoder import encode_basestring
from typing import Final, cast

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
    if value == int(value) and abs(value) < 1e21:
        return f"{value:.0f}"
    text = repr(value)
    if text.endswith(("e-05", "e-06")):  # Python changes to exponents earlier than they do
        return _plain_decimal(text)
    return text.replace("e-0", "e-")


def _plain_decimal(text: str) -> str:
    digits, exponent = text.split("e-")
    sign = "-" if digits.startswith("-") else ""
    return f"{sign}0.{'0' * (int(exponent) - 1)}{digits.lstrip('-').replace('.', '')}"


def _json(value: object) -> str:
    # By hand: the standard encoder sets itself up anew for each value, which costs ten times the writing.
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, dict):
        pairs = cast(dict[object, object], value).items()
        return "{" + ",".join(f"{encode_basestring(str(key))}:{_json(item)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, cast(list[object], value))) + "]"
    text = as_text(value)
    return f'"{text}"' if isinstance(value, bytes) or text in _NO_NUMBERS else text
