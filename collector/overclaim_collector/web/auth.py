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
    """What whoever asks has shown: nothing, a token for sending, or the token for everything.

    Without tokens everybody is the owner. Who decides has really shown the owner's token, or the key that lies beside
    the store: what is decided lasts, so being on this machine is not enough.
    """

    ANONYMOUS = 0
    SENDER = 1
    OWNER = 2
    DECIDER = 3


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
    "/findings": Role.OWNER,
    "/findings/{id}": Role.OWNER,
    "/runs/{id}": Role.OWNER,
    "/drift": Role.OWNER,
    "/rules": Role.OWNER,
    "/rules/{id}": Role.OWNER,
    "/status": Role.OWNER,
    "/static/{name}": Role.OWNER,
    "/metrics": Role.OWNER,
    "/api/owner": Role.OWNER,
    "/api/query": Role.OWNER,
    "/api/drifts": Role.DECIDER,
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
    """The tokens of a server. Without any, whoever can reach it may do everything but decide."""

    def __init__(self, owner: str | None = None, sender: str | None = None) -> None:
        # Only marks are kept: of equal length, so that comparing them tells nothing of the tokens, not even theirs.
        self._key = secrets.token_bytes(32)
        self._owner = self._mark(owner or "") if owner else None
        self._sender = self._mark(sender) if sender else None
        self._beside: bytes | None = None
        self._lock = threading.Lock()
        self.failures = 0

    def accept_key(self, key: str) -> None:
        """Let whoever shows this decide, too: it lies beside the store, for those who may read its files."""
        self._beside = self._mark(key)

    @property
    def wanted(self) -> bool:
        """Whether a token must be shown."""
        return self._owner is not None

    def role(self, shown: Iterable[str]) -> Role:
        """The highest role that one of these tokens gives."""
        marks = [self._mark(token) for _, token in zip(range(_MOST), shown, strict=False)]
        decider = [_same(marks, self._owner), _same(marks, self._beside)]
        sender = _same(marks, self._sender)
        if any(decider):
            return Role.DECIDER
        if self._owner is None:
            return Role.OWNER
        return Role.SENDER if sender else Role.ANONYMOUS

    def count_failure(self) -> None:
        """Somebody was refused for want of the right token."""
        with self._lock:
            self.failures += 1

    def _mark(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode("utf-8", "surrogatepass"), "sha256")


def _same(marks: Iterable[bytes], wanted: bytes | None) -> bool:
    """Whether one of the marks is the wanted one; all are compared."""
    found = [hmac.compare_digest(mark, wanted) for mark in marks] if wanted else []
    return any(found)


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
