"""Keyed hashes, so that operations and targets can be compared outside the process but not read."""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from overclaim.outcome.model import Operation

if TYPE_CHECKING:
    from hashlib import _Hash  # pyright: ignore[reportPrivateUsage]

KEY_VARIABLE = "OVERCLAIM_HASH_KEY"
NO_ACTION = "call"
_LENGTH = 16
_BLOCK = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))

_service_name = "overclaim"
_key = ""


def keyed_hash(text: str, service: str = "") -> str:
    """First 16 hex digits of HMAC-SHA256 over the text.

    The key is OVERCLAIM_HASH_KEY, or else the service name: enough to keep services apart, while only a
    secret key also stops somebody who guesses the text. service: the name to take where the text belongs to
    another service than this process, so that its own hashes of it compare equal.
    """
    if service:
        return _digest(os.environ.get(KEY_VARIABLE) or service, text)
    return _digest(_key or _read_key(), text)


def keyed_digest(text: str) -> str:
    """All 64 hex digits of HMAC-SHA256 over the text, under the same key."""
    return _hmac(_key or _read_key(), text)


def operation_label(operation: Operation, service: str = "") -> str:
    """An operation as it leaves the process: "refund:9f86d081884c7d65", or "call:..." where it has no action.

    The action is a word of a closed list, so it may be read; what it was done to is hashed. service: as above.
    """
    return f"{operation.action or NO_ACTION}:{keyed_hash(operation.key, service)}"


def labelled_action(label: str) -> str:
    """The action that an operation label names, "" where it names none."""
    action, colon, _ = label.partition(":")
    return action if colon and action != NO_ACTION else ""


def use_service_name(name: str) -> None:
    """Take this service name as the key where OVERCLAIM_HASH_KEY is not set."""
    global _service_name
    _service_name = name
    _read_key()


def _read_key() -> str:
    """Read the variable once: looking it up costs more than the hash."""
    global _key
    _key = os.environ.get(KEY_VARIABLE) or _service_name
    return _key


# Agents name the same few targets again and again, and the cache is bounded.
@lru_cache(maxsize=2048)
def _digest(key: str, text: str) -> str:
    return _hmac(key, text)[:_LENGTH]


def _hmac(key: str, text: str) -> str:
    """HMAC as RFC 2104 has it. The standard library's takes three times as long, for it pads the key each time."""
    padded = _pads(key)
    inner = padded[0].copy()
    inner.update(text.encode("utf-8", "surrogatepass"))
    outer = padded[1].copy()
    outer.update(inner.digest())
    return outer.hexdigest()


@lru_cache(maxsize=64)
def _pads(key: str) -> tuple[_Hash, _Hash]:
    """The hashes of the padded key, which a text is then added to."""
    given = key.encode("utf-8", "surrogatepass")
    block = (sha256(given).digest() if len(given) > _BLOCK else given).ljust(_BLOCK, b"\0")
    return sha256(block.translate(_INNER)), sha256(block.translate(_OUTER))
