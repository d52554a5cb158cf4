"""Findings to a webhook: JSON, signed after Standard Webhooks, to public addresses over https."""

from __future__ import annotations

import hashlib
import json
import ssl
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from overclaim._errors import InputError
from overclaim._version import __version__
from overclaim_detectors.outgoing.addresses import Allowed, resolved
from overclaim_detectors.outgoing.endpoint import sink_name, split
from overclaim_detectors.outgoing.finding import Finding
from overclaim_detectors.outgoing.posting import Answer, post
from overclaim_detectors.outgoing.signing import signed
from overclaim_detectors.outgoing.sink import Refused, Undelivered
from overclaim_detectors.rule import SEVERITIES

TYPE: Final = "overclaim.findings"
LARGEST: Final = 256 << 10
_FINAL: Final = (413, 422)  # not 400, which is what many say of a wrong signature: that can be mended
_LONGEST_PAUSE: Final = 3600.0
_LONGEST_TEXT: Final = 200


class Webhook:
    """A webhook's receiver. keys: what messages are signed with. least: the lowest severity that it wants.

    Raises:
        InputError: the URL is not https, and its host is not one that is allowed.
    """

    most = 100

    def __init__(self, url: str, keys: Sequence[bytes], least: str = "medium", allowed: Allowed | None = None) -> None:
        self._url = split(url, "--webhook")
        self._host = self._url.hostname or ""
        self._allowed = allowed or Allowed()
        if self._url.scheme != "https" and not self._allowed.host(self._host):
            raise InputError(
                "--webhook must be https: findings would go through the net in clear text"
                " (http only for a host that --webhook-allow names)"
            )
        self._keys = list(keys)
        self._context = ssl.create_default_context() if self._url.scheme == "https" else None
        self.name = sink_name("webhook", url)
        self.label = f"the webhook at {self._host}"  # its path may be as secret as a password
        self.severities: Sequence[str] = SEVERITIES[: SEVERITIES.index(least) + 1]

    def send(self, batch: Sequence[Finding]) -> None:
        """Send a batch as one message; returns when it was taken with a status of 2xx."""
        body = _body(batch)
        if len(body) > LARGEST:
            raise Refused(f"a message of {len(body)} bytes is larger than {LARGEST}")
        port = self._url.port or (80 if self._context is None else 443)
        address = resolved(self._host, port, self._allowed)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"overclaim/{__version__}",
            **signed(body, _message_id(batch), int(time.time()), self._keys),
        }
        _judge(post(self._url, address, body, headers, self._context))

    def tick(self) -> None:
        """Nothing to do."""

    def close(self, seconds: float) -> None:
        """Nothing to do: a message under way ends with its time."""


def _message_id(batch: Sequence[Finding]) -> str:
    """The same whenever the same findings are sent again."""
    return "msg_" + hashlib.sha256("\n".join(one.event_id for one in batch).encode()).hexdigest()[:32]


def _body(batch: Sequence[Finding]) -> bytes:
    # The time of the newest pass and not that of sending, so that a repetition is the same to the byte.
    at = datetime.fromtimestamp(max(one.version for one in batch) % 2**42 / 1000, UTC)
    message = {
        "type": TYPE,
        "timestamp": at.isoformat(timespec="milliseconds"),
        "data": {"findings": [one.plain() for one in batch]},
    }
    return json.dumps(message, ensure_ascii=True, allow_nan=False).encode()


def _judge(answer: Answer) -> None:
    status = answer.status
    if 200 <= status < 300:
        return
    said = "".join(one if one.isprintable() else " " for one in answer.text[:_LONGEST_TEXT]).strip()
    if status in _FINAL:
        raise Refused(f"HTTP {status} {said}".strip())
    if 300 <= status < 400:
        raise Undelivered(f"HTTP {status}: a redirect, which is not followed")
    raise Undelivered(f"HTTP {status} {said}".strip(), _pause(answer.retry_after))


def _pause(retry_after: str) -> float:
    """The seconds of a Retry-After header, which may be a date (RFC 9110, section 10.2.3)."""
    try:
        if retry_after.strip().isdecimal():
            return min(float(retry_after), _LONGEST_PAUSE)
        moment = parsedate_to_datetime(retry_after)
    except (ValueError, TypeError):
        return 0.0
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(aware.timestamp() - time.time(), 0.0), _LONGEST_PAUSE)
