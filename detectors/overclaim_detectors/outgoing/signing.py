"""Signatures of webhooks, after the Standard Webhooks specification (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from typing import Final

from overclaim._errors import InputError

PREFIX: Final = "whsec_"
MAKE_ONE: Final = (
    "python3 -c 'import base64, secrets; print(\"whsec_\" + base64.b64encode(secrets.token_bytes(32)).decode())'"
)
_LEAST, _MOST = 24, 64  # bytes, as the specification has it


def keys(text: str) -> list[bytes]:
    """The keys in a text: one secret, or several with spaces between while they are exchanged.

    Raises:
        InputError: there is none, or one is not what the specification calls a secret. The message shows none.
    """
    found = [_key(word) for word in text.split()]
    if not found:
        raise InputError(f"a webhook needs a secret that its messages are signed with; to make one: {MAKE_ONE}")
    return found


def _key(word: str) -> bytes:
    try:
        key = base64.b64decode(word.removeprefix(PREFIX), validate=True) if word.startswith(PREFIX) else b""
    except (binascii.Error, ValueError):
        key = b""
    if not _LEAST <= len(key) <= _MOST:
        raise InputError(f"a webhook's secret is whsec_ and the base64 of 24 to 64 bytes; to make one: {MAKE_ONE}")
    return key


def signed(body: bytes, message_id: str, timestamp: int, with_keys: Sequence[bytes]) -> Mapping[str, str]:
    """The headers of a message: its id, when it is sent (Unix seconds), and a signature for each key."""
    text = b".".join((message_id.encode(), str(timestamp).encode(), body))
    signatures = [base64.b64encode(hmac.digest(key, text, "sha256")).decode() for key in with_keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{one}" for one in signatures),
    }
