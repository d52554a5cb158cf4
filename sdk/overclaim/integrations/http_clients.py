"""HTTP clients through the official OpenTelemetry instrumentors, where library and instrumentor are installed.

The spans of those that we switch on hold no query, fragment, credentials, matrix parameters and error messages (see
bare_spans.py). One that the program switched on itself stays as it is, and so do its spans.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim.integrations.bare_spans import BareProvider

_OURS = (
    "would be switched on, its spans without query, credentials and messages of exceptions; where"
    " opentelemetry-instrument or the program switches it on, they are as that makes them"
)
_THEIRS = (
    "already switched on by the program itself; nothing is changed there, so its spans send whole URLs, with query"
    " and fragment, and messages of exceptions"
)


class Client:
    """One HTTP client and its instrumentor."""

    promise = _OURS

    def __init__(self, library: str, class_name: str, instrumentor: str = "") -> None:
        self._library, self._class_name, self._named = library, class_name, instrumentor or library

    def probe(self) -> str:
        """Say why it cannot be used, "" where it can."""
        if not _installed(self._library):
            return f"{self._library} is not installed"
        if not _installed(f"opentelemetry.instrumentation.{self._named}"):
            return f"opentelemetry-instrumentation-{self._named.replace('_', '-')} is not installed"
        return _THEIRS if self._instrumentor().is_instrumented_by_opentelemetry else ""

    def on(self, provider: TracerProvider) -> None:
        """Switch the instrumentor on."""
        self._instrumentor().instrument(tracer_provider=BareProvider(provider), raise_exception_on_conflict=True)

    def off(self) -> None:
        """Switch it off."""
        self._instrumentor().uninstrument()

    def _instrumentor(self) -> Any:
        module = import_module(f"opentelemetry.instrumentation.{self._named}")
        return getattr(module, self._class_name)()


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False


REQUESTS = Client("requests", "RequestsInstrumentor")
HTTPX = Client("httpx", "HTTPXClientInstrumentor")
URLLIB3 = Client("urllib3", "URLLib3Instrumentor")
URLLIB = Client("urllib", "URLLibInstrumentor")
AIOHTTP = Client("aiohttp", "AioHttpClientInstrumentor", "aiohttp_client")
