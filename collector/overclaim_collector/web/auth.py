"""Who may do what: tokens, roles, and what each path asks for."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

# As many as one request can show; each costs a comparison.
_MOST: Final = 4


class Role(IntEnum):
    """What whoever asks has shown: nothing, a token for sending, or the token for everything."""

    ANONYMOUS = 0
    SENDER = 1
    OWNER = 2


# What each path asks for; a path that is not here asks for the most.
NEEDED: Final[Mapping[str, Role]] = {
    "/healthz": Role.ANONYMOUS,
    "/readyz": Role.ANONYMOUS,
    "/ping": Role.ANONYMOUS,
    "/replicas_status": Role.ANONYMOUS,
    "/v1/traces": Role.SENDER,
    "/v1/logs": Role.SENDER,
    "/v1/metrics": Role.SENDER,
    "/v1development/profiles": Role.SENDER,
    "/": Role.OWNER,
    "/metrics": Role.OWNER,
    "/api/owner": Role.OWNER,
    "/api/query": Role.OWNER,
}
# gRPC services that ask for nothing; all others take data, and ask for a sender.
OPEN_SERVICES: Final = ("/grpc.health.v1.Health/",)


def needed(path: str) -> Role:
    """What an HTTP path asks for."""
    return NEEDED.get(path, Role.OWNER)


def needed_by_method(method: str) -> Role:
    """What a gRPC method, /service/method, asks for."""
    return Role.ANONYMOUS if method.startswith(OPEN_SERVICES) else Role.SENDER


class Tokens:
    """The tokens of a server. Without any, whoever can reach it may do everything."""

    def __init__(self, owner: str | None = None, sender: str | None = None) -> None:
        # Only marks are kept: of equal length, so that comparing them tells nothing of the tokens, not even theirs.
        self._key = secrets.token_bytes(32)
        self._owner = self._mark(owner or "") if owner else None
        self._sender = self._mark(sender) if sender else None
        self._lock = threading.Lock()
        self.failures = 0

    @property
    def wanted(self) -> bool:
        """Whether a token must be shown."""
        return self._owner is not None

    def role(self, shown: Iterable[str]) -> Role:
        """The highest role that one of these tokens gives."""
        if self._owner is None:
            return Role.OWNER
        marks = [self._mark(token) for _, token in zip(range(_MOST), shown, strict=False)]
        owner = [hmac.compare_digest(mark, self._owner) for mark in marks]
        sender = [hmac.compare_digest(mark, self._sender or self._owner) for mark in marks]
        return Role.OWNER if any(owner) else Role.SENDER if any(sender) else Role.ANONYMOUS

    def count_failure(self) -> None:
        """Somebody was refused for want of the right token."""
        with self._lock:
            self.failures += 1

    def _mark(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode("utf-8", "surrogatepass"), "sha256")


def shown_in(authorization: str) -> str:
    """The token in an Authorization header: after Bearer, or the password of Basic; "" where there is none."""
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    return _password(rest.strip()) if scheme.lower() == "basic" else ""


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
