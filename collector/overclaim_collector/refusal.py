"""How a request is refused, the same for every transport."""

from __future__ import annotations

from enum import Enum

# Below the ten seconds that a stock exporter gives one batch, retries included.
RETRY_AFTER_SECONDS = 1


class Reason(Enum):
    """Why a request is refused: (HTTP status, google.rpc.Code)."""

    INVALID = (400, 3)
    UNAUTHENTICATED = (401, 16)
    FORBIDDEN = (403, 7)
    UNKNOWN_SERVICE = (404, 5)
    UNKNOWN_SIGNAL = (404, 12)
    TIMEOUT = (408, 4)
    TOO_LARGE = (413, 8)
    UNSUPPORTED = (415, 3)
    UNAVAILABLE = (503, 14)

    @property
    def http_status(self) -> int:
        """The HTTP status code."""
        return self.value[0]

    @property
    def rpc_code(self) -> int:
        """The google.rpc.Code number."""
        return self.value[1]


class Refusal(Exception):
    """A request that is not taken. Only UNAVAILABLE asks the sender to try again."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def invalid(message: str) -> Refusal:
    """A body that is no OTLP request."""
    return Refusal(Reason.INVALID, message)


def too_large(message: str) -> Refusal:
    """A body over one of the limits."""
    return Refusal(Reason.TOO_LARGE, message)


def unavailable(message: str) -> Refusal:
    """A request that may succeed later."""
    return Refusal(Reason.UNAVAILABLE, message)
