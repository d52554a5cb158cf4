"""A tracer provider for the instrumentors that we switch on: their spans hold no secrets of a URL or an error.

Content is off by default, so what we switch on must not send it either. Query, fragment, user info and matrix
parameters are cut off every URL before the span starts, and of an exception only the type is noted, for its message
often holds the URL. The path stays, as in any telemetry of HTTP. It is done here, at the tracer, since the hooks of
the instrumentors differ, come too late for samplers and processors, and do not see exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from weakref import ref

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider

from overclaim._attributes import ERROR_TYPE
from overclaim._fail_open import fail_open
from overclaim._labels import type_name
from overclaim.evidence.http import bare_url

_DROPPED = frozenset({"url.query", "url.fragment"})
_URLS = ("url.", "http.url", "http.target")
_MESSAGES = frozenset({"exception.message", "exception.stacktrace"})
_TYPE = re.compile(r"[A-Za-z_][\w.]{0,99}(?=: |\Z)")


class BareProvider(TracerProvider):
    """Gives tracers whose spans hold bare URLs and no messages of exceptions; `inner` makes the spans."""

    def __init__(self, inner: TracerProvider) -> None:
        self._inner = inner

    def get_tracer(self, *args: Any, **kwargs: Any) -> Tracer:
        """As TracerProvider.get_tracer."""
        return _BareTracer(self._inner.get_tracer(*args, **kwargs))


class _BareTracer(Tracer):
    def __init__(self, inner: Tracer) -> None:
        self._inner = inner

    def start_span(
        self,
        name: str,
        context: Any = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Any = None,
        *more: Any,
        **options: Any,
    ) -> Span:
        """As Tracer.start_span."""
        span = self._inner.start_span(name, context, kind, bare(attributes), *more, **options)
        if span.is_recording():
            _guard(span)
        return span

    def start_as_current_span(
        self,
        name: str,
        context: Any = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Any = None,
        links: Any = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        end_on_exit: bool = True,
    ) -> Any:
        """As Tracer.start_as_current_span."""
        span = self.start_span(name, context, kind, attributes, links, start_time)
        return trace.use_span(span, end_on_exit, record_exception, set_status_on_exception)


def bare(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The attributes of a span with bare URLs, and without those that hold a query or a fragment."""
    return {key: _bare_value(key, value) for key, value in (attributes or {}).items() if key not in _DROPPED}


def _bare_value(key: str, value: Any) -> Any:
    return bare_url(value) if isinstance(value, str) and key.startswith(_URLS) else value


@fail_open
def _guard(span: Span) -> None:
    """Put cleaning methods in front of the span's own, for what is set on it later."""
    guard = _Guard(span)
    for name in ("set_attribute", "set_attributes", "add_event", "record_exception", "set_status"):
        setattr(span, name, getattr(guard, name))


class _Guard:
    """Methods that stand in front of a span's. It holds the span weakly, or they would keep each other alive."""

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = ref(span)

    def set_attribute(self, key: str, value: Any) -> None:
        """As Span.set_attribute."""
        self.set_attributes({key: value})

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """As Span.set_attributes."""
        if (span := self._span()) is not None:
            type(span).set_attributes(span, bare(attributes))

    def add_event(self, name: str, attributes: Mapping[str, Any] | None = None, timestamp: int | None = None) -> None:
        """As Span.add_event."""
        if (span := self._span()) is not None:
            kept = {key: value for key, value in bare(attributes).items() if key not in _MESSAGES}
            type(span).add_event(span, name, kept, timestamp)

    def record_exception(
        self,
        exception: BaseException,
        attributes: Mapping[str, Any] | None = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """As Span.record_exception, without message and traceback. Also says what went wrong by `error.type`."""
        name = type_name(exception)
        self.set_attribute(ERROR_TYPE, type(exception).__qualname__)
        noted = {"exception.type": name, "exception.escaped": str(escaped)}
        self.add_event("exception", {**noted, **(attributes or {})}, timestamp)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """As Span.set_status; of a description only the type of an exception at its beginning stays."""
        if (span := self._span()) is None:
            return
        code, said = (status.status_code, status.description) if isinstance(status, Status) else (status, description)
        kind = _TYPE.match(said) if said and code is StatusCode.ERROR else None
        type(span).set_status(span, Status(code, kind[0] if kind else None))
