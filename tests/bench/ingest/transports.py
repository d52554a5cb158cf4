"""One connection of one sender: how a request is sent and what its answer means, over OTLP/HTTP and OTLP/gRPC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

RETRYABLE: Final = {429, 502, 503, 504}
SECONDS: Final = 60.0


class Said(Enum):
    """What an answer means for the sender of a request."""

    TAKEN = "taken"
    AGAIN = "again"
    REFUSED = "refused"
    NOTHING = "nothing"


Answer = tuple[Said, int]  # with how many spans of a request that was taken are refused all the same


class Transport(Protocol):
    """One connection."""

    def send(self, body: bytes) -> Answer:
        """Send a request and wait for its answer."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class Http:
    """OTLP/HTTP; headers say how bodies are encoded. The answer is read as protobuf: JSON answers count no refusals."""

    def __init__(self, endpoint: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(endpoint)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._make: Callable[[], HTTPConnection] = lambda: kind(parts.netloc, timeout=SECONDS)
        self._path = parts.path.rstrip("/") + "/v1/traces"
        self._headers = dict(headers)
        self._connection = self._make()

    def send(self, body: bytes) -> Answer:
        """Send a request and wait for its answer."""
        try:
            self._connection.request("POST", self._path, body, self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, HTTPException):
            self._connection.close()
            self._connection = self._make()
            return Said.NOTHING, 0
        if answer.status == 200:
            protobuf = "protobuf" in answer.getheader("content-type", "")
            return Said.TAKEN, _rejected(content) if protobuf else 0
        return (Said.AGAIN if answer.status in RETRYABLE else Said.REFUSED), 0

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


class Grpc:
    """OTLP/gRPC. Requests are bytes already, so that encoding is not part of what is measured."""

    _AGAIN: Final = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED}

    def __init__(self, endpoint: str, headers: Mapping[str, str], *, packed: bool) -> None:
        compression = grpc.Compression.Gzip if packed else grpc.Compression.NoCompression
        self._metadata = tuple((name.lower(), value) for name, value in headers.items())
        self._channel: Any = grpc.insecure_channel(endpoint.removeprefix("http://"), compression=compression)
        self._export = self._channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")

    def send(self, body: bytes) -> Answer:
        """Send a request and wait for its answer."""
        try:
            return Said.TAKEN, _rejected(self._export(body, timeout=SECONDS, metadata=self._metadata))
        except grpc.RpcError as error:
            failed: Any = error
            return (Said.AGAIN if failed.code() in self._AGAIN else Said.REFUSED), 0

    def close(self) -> None:
        """Hang up."""
        self._channel.close()


def _rejected(content: bytes) -> int:
    return int(ExportTraceServiceResponse.FromString(content).partial_success.rejected_spans)
