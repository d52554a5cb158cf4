"""HTTP clients through the official OpenTelemetry instrumentors, where library and instrumentor are installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim.integrations import Integration

_CLIENTS = (
    ("requests", "RequestsInstrumentor"),
    ("httpx", "HTTPXClientInstrumentor"),
    ("urllib3", "URLLib3Instrumentor"),
)


def _instrumentor(library: str, class_name: str) -> Any:
    return getattr(import_module(f"opentelemetry.instrumentation.{library}"), class_name)()


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False


def _integration(library: str, class_name: str) -> Integration:
    def probe() -> str:
        if not _installed(library):
            return f"{library} is not installed"
        if not _installed(f"opentelemetry.instrumentation.{library}"):
            return f"opentelemetry-instrumentation-{library} is not installed"
        if _instrumentor(library, class_name).is_instrumented_by_opentelemetry:
            return "already switched on"
        return ""

    def on(provider: TracerProvider) -> None:
        _instrumentor(library, class_name).instrument(tracer_provider=provider)

    def off() -> None:
        _instrumentor(library, class_name).uninstrument()

    return Integration(library, probe, on, off)


INTEGRATIONS = tuple(_integration(library, class_name) for library, class_name in _CLIENTS)
