"""HTTP clients through the official OpenTelemetry instrumentors, where library and instrumentor are installed.

The spans of those that we switch on hold no query, fragment, credentials, matrix parameters and error messages (see
bare_spans.py). One that the program switched on itself stays as it is, and so do its spans.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim.integrations import Integration
from overclaim.integrations.bare_spans import BareProvider

_CLIENTS = (
    ("requests", "RequestsInstrumentor"),
    ("httpx", "HTTPXClientInstrumentor"),
    ("urllib3", "URLLib3Instrumentor"),
)
_OURS = (
    "would be switched on, its spans without query, credentials and messages of exceptions; where"
    " opentelemetry-instrument or the program switches it on, they are as that makes them"
)
_THEIRS = (
    "already switched on by the program itself; nothing is changed there, so its spans send whole URLs, with query"
    " and fragment, and messages of exceptions"
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
            return _THEIRS
        return ""

    def on(provider: TracerProvider) -> None:
        _instrumentor(library, class_name).instrument(tracer_provider=BareProvider(provider))

    def off() -> None:
        _instrumentor(library, class_name).uninstrument()

    return Integration(library, probe, on, off, _OURS)


INTEGRATIONS = tuple(_integration(library, class_name) for library, class_name in _CLIENTS)
