"""Keyed hashes, so that operations and targets can be compared outside the process but not read."""

from __future__ import annotations

import hmac
import os
from functools import lru_cache

KEY_VARIABLE = "OVERCLAIM_HASH_KEY"
_LENGTH = 16

_service_name = "overclaim"
_key = ""


def keyed_hash(text: str) -> str:
    """First 16 hex digits of HMAC-SHA256 over the text.

    The key is OVERCLAIM_HASH_KEY, or else the service name: enough to keep services apart, while only a
    secret key also stops somebody who guesses the text.
    """
    return _digest(_key or _read_key(), text)


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
    message = text.encode("utf-8", "surrogatepass")
    return hmac.digest(key.encode("utf-8", "surrogatepass"), message, "sha256").hex()[:_LENGTH]
