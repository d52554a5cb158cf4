"""The connection under the SDK's exporters: they take a redirect for success, and headers from the environment."""

from __future__ import annotations

import logging
from typing import Any, Final

import requests
import urllib3
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from requests.structures import CaseInsensitiveDict

_log = logging.getLogger("overclaim.outgoing")
_OF_THE_EXPORTER: Final = frozenset(
    {"content-type", "content-encoding", "content-length", "user-agent", "accept", "accept-encoding", "connection"}
)
_LONGEST: Final = 300
_LARGEST_ANSWER: Final = 64 << 10


class OtlpSession(requests.Session):
    """Sends to the endpoint it was made for, with the headers given and no others.

    status: of the last answer, 0 for none; said: why the last request failed. Redirects are not followed: a token would
    go to wherever they point. Proxies are taken from the environment.
    """

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__()
        self._own = headers
        self.status = 0
        self.said = ""
        # With no authentication of ours, requests would take one from ~/.netrc, over the headers.
        self.auth = _unchanged

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send one request, and remember what came of it."""
        kept = {name: value for name, value in request.headers.items() if name.lower() in _OF_THE_EXPORTER}
        request.headers = CaseInsensitiveDict({**kept, **self._own})
        self.status, self.said = 0, ""
        try:
            response = super().send(request, **{**options, "allow_redirects": False, "stream": True})
        except requests.RequestException as error:
            self.said = f"{type(error).__name__}: {_plain(error)}"[:_LONGEST]
            raise
        try:
            with_body = self._read(response)
        except urllib3.exceptions.HTTPError as error:
            self.said = f"{type(error).__name__}: {error}"[:_LONGEST]
            raise requests.ConnectionError(self.said) from error
        self.status, self.said = with_body.status_code, f"HTTP {with_body.status_code}"
        return with_body

    def _read(self, response: requests.Response) -> requests.Response:
        """With as much of its body as an answer may have, so that one without end ends here."""
        body = response.raw.read(_LARGEST_ANSWER, decode_content=True)
        response._content = body  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        response.close()
        _warn_of_rejected(response)
        return response


def _warn_of_rejected(response: requests.Response) -> None:
    """A request that was taken may have been taken in part only; the specification forbids to send the rest again."""
    if response.status_code != requests.codes.ok or "json" in response.headers.get("Content-Type", ""):
        return
    try:
        # The answers to metrics have these two under the same numbers.
        partial = ExportLogsServiceResponse.FromString(response.content).partial_success
    except DecodeError:
        return
    if partial.rejected_log_records:
        _log.warning(
            "the endpoint rejected %d items: %s", partial.rejected_log_records, partial.error_message[:_LONGEST]
        )


def _plain(error: requests.RequestException) -> str:
    """Why, without the request around it."""
    inner: Any = error.args[0] if error.args else error
    reason = getattr(inner, "reason", inner)
    return str(reason).rpartition("): ")[2] or str(reason)


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
