"""How the payments API reads a request: answers, refusals, and the checks on single fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast
from urllib.parse import urlsplit

Fields: TypeAlias = dict[str, Any]

MIN_AMOUNT: Final = 50
MAX_AMOUNT: Final = 99_999_999


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status with its JSON body. `replayed` marks the stored answer of an idempotency key."""

    status: int
    body: Fields
    replayed: bool = False


class Refusal(Exception):
    """A request that the API turns down, with the status and the error body to say so."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        param: str = "",
        kind: str = "invalid_request_error",
        decline: str = "",
    ) -> None:
        super().__init__(message)
        error = {"type": kind, "code": code, "decline_code": decline, "param": param, "message": message}
        self.answer = Answer(status, {"error": {name: value for name, value in error.items() if value}})


def parse(body: bytes) -> Fields:
    """The JSON object in a body; an empty body is an empty object."""
    if not body:
        return {}
    try:
        fields: object = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "body_invalid", "The body is not valid JSON.") from None
    if not isinstance(fields, dict):
        raise Refusal(400, "body_invalid", "The body must be a JSON object.")
    return cast(Fields, fields)


def allow(fields: Fields, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> None:
    """Refuse a request that lacks a field or brings one that nobody asked for."""
    for name in required:
        if fields.get(name) is None:
            raise Refusal(400, "parameter_missing", f"Missing required param: {name}.", name)
    for name in fields:
        if name not in (*required, *optional):
            raise Refusal(400, "parameter_unknown", f"Received unknown parameter: {name}.", name)


def string(fields: Fields, name: str) -> str:
    """A string that is not empty."""
    value = fields[name]
    if not isinstance(value, str) or not value:
        raise Refusal(400, "parameter_invalid", f"{name} must be a non-empty string.", name)
    return value


def one_of(fields: Fields, name: str, known: Iterable[str]) -> str:
    """A string out of a known set."""
    value = string(fields, name)
    if value not in known:
        raise Refusal(400, "parameter_invalid", f"Invalid {name}: {value!r}.", name)
    return value


def amount(fields: Fields) -> int:
    """Money as an integer in minor units (1250 is 12.50); a decimal or a string is refused."""
    value = fields["amount"]
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refusal(400, "invalid_integer", f"Invalid integer: {value!r}.", "amount")
    if value < MIN_AMOUNT:
        raise Refusal(400, "amount_too_small", f"Amount must be at least {MIN_AMOUNT}.", "amount")
    if value > MAX_AMOUNT:
        raise Refusal(400, "amount_too_large", f"Amount must be no more than {MAX_AMOUNT}.", "amount")
    return value


def email(fields: Fields) -> str:
    """An address with one @ and a dot in its domain."""
    value = string(fields, "email")
    if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", value):
        raise Refusal(400, "email_invalid", f"Invalid email address: {value!r}.", "email")
    return value


def url(fields: Fields) -> str:
    """An absolute http or https URL."""
    value = string(fields, "url")
    if not _is_url(value):
        raise Refusal(400, "url_invalid", f"Not a valid URL: {value!r}.", "url")
    return value


def _is_url(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:  # such as an unclosed bracket of an IPv6 host
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def events(fields: Fields, known: Iterable[str]) -> list[str]:
    """A list of known event names that is not empty."""
    names: object = fields["enabled_events"]
    if not isinstance(names, list) or not names:
        raise Refusal(400, "parameter_invalid", "enabled_events must be a non-empty list.", "enabled_events")
    for name in cast(list[object], names):
        if not isinstance(name, str) or name not in known:
            raise Refusal(400, "event_unknown", f"Unknown event: {name!r}.", "enabled_events")
    return cast(list[str], names)
