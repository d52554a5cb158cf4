"""Addresses to send to, as people write them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from overclaim._errors import InputError

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OTLP/HTTP endpoint: its base URL, to which /v1/logs is added, and headers, which may be secret."""

    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)


def otlp_endpoint(url: str, headers: str = "") -> Endpoint:
    """An endpoint. headers: name=value pairs with commas between, values percent-encoded.

    Raises:
        InputError: it cannot be used. The message shows no header.
    """
    parts = split(url, "--events")
    if parts.query or parts.fragment:
        raise InputError("--events must be like http://HOST:4318 or https://HOST/PATH, with nothing behind")
    return Endpoint(urlunsplit(parts).rstrip("/"), _headers(headers))


def split(url: str, option: str) -> SplitResult:
    """A URL in its parts.

    Raises:
        InputError: it is no http or https URL with a host, or has a user or a password in it.
    """
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable, parts = False, SplitResult("", "", "", "", "")
    if not usable or any(character <= " " for character in url.strip()):
        raise InputError(f"{option} is no URL that can be sent to: give one like https://HOST/PATH")
    if "@" in parts.netloc:
        raise InputError(f"{option} holds a user or a password: leave them out, and authenticate by a header or secret")
    return parts


def sink_name(kind: str, url: str) -> str:
    """How a receiver is known in the store: the URL itself may hold a secret."""
    return f"{kind} {hashlib.sha256(url.encode()).hexdigest()[:16]}"


def _headers(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, pair in enumerate((pair for pair in text.split(",") if pair.strip()), 1):
        name, equals, value = (unquote(part.strip()) for part in pair.partition("="))
        if not equals or not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise InputError(
                f"OVERCLAIM_EVENTS_HEADERS: pair {place} is not name=value, with the value percent-encoded"
            )
        found[name] = value
    return found
