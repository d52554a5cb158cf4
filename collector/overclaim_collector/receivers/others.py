"""The signals that are not kept here, and passing requests on to another collector.

Without forwarding, HTTP answers 404 and gRPC UNIMPLEMENTED, as the OpenTelemetry Collector does for a signal that it
has no pipeline for: taking data in order to throw them away would be an untruth.
"""

from __future__ import annotations

from typing import Final, Protocol

from overclaim_collector.otlp.signals import SIGNALS
from overclaim_collector.refusal import Reason, Refusal, unavailable

_SERVICES: Final = {
    "/v1/traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "/v1/logs": "opentelemetry.proto.collector.logs.v1.LogsService",
    "/v1/metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
    "/v1development/profiles": "opentelemetry.proto.collector.profiles.v1development.ProfilesService",
}
_KEPT: Final = [signal.path for signal in SIGNALS]
# Path -> gRPC service.
NOT_KEPT: Final = {path: service for path, service in _SERVICES.items() if path not in _KEPT}


class Onward(Protocol):
    """What passes requests on."""

    def offer(self, path: str, body: bytes, content_type: str, content_encoding: str) -> bool:
        """Queue a request as it came, at once; False where there is no room."""
        ...


def pass_on(onward: Onward | None, path: str, body: bytes, content_type: str, content_encoding: str) -> None:
    """Queue a request of a signal that is not kept.

    Raises:
        Refusal: UNKNOWN_SIGNAL where nothing is passed on, UNAVAILABLE where the queue is full.
    """
    if onward is None:
        raise not_kept(path)
    if not onward.offer(path, body, content_type, content_encoding):
        raise unavailable("the queue of what is forwarded is full: send again")


def not_kept(path: str) -> Refusal:
    """The refusal of a signal that is neither kept nor passed on."""
    return Refusal(Reason.UNKNOWN_SIGNAL, f"{path} is not stored here: only {' and '.join(_KEPT)}")
