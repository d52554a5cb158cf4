"""The tracer provider: the user's where there is one, else one of our own; and getting spans out at the end."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol, cast, runtime_checkable
from urllib.parse import urlsplit
from weakref import WeakSet

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter

from overclaim import _mistakes
from overclaim._fail_open import place_of, report
from overclaim._scrub import scrub, small
from overclaim._sending import Sender

EXIT_SECONDS = 2.0
_TRACES_PATH = "/v1/traces"
_log = logging.getLogger("overclaim")
_helped: WeakSet[trace.TracerProvider] = WeakSet()
_closers: list[_Closer] = []
_endings: list[Callable[[], object]] = []


@runtime_checkable
class ProcessorHost(Protocol):
    """A provider that takes span processors, as the SDK's does."""

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        """Add a processor that sees every span."""
        ...


def disabled() -> bool:
    """Whether OTEL_SDK_DISABLED switches everything off."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def find_or_make(
    given: trace.TracerProvider | None, service_name: str | None, endpoint: str | None
) -> trace.TracerProvider:
    """The provider to use: the given one, the global one, or a new global one that sends by OTLP."""
    if given is not None:
        _help_given(given)
        return given
    existing = trace.get_tracer_provider()
    if not isinstance(existing, trace.ProxyTracerProvider):
        _flush_on_sigterm(existing)
        return existing
    made = make(service_name, endpoint)
    trace.set_tracer_provider(made)
    return made


def _flush_on_sigterm(provider: trace.TracerProvider) -> None:
    """SIGTERM kills a process without its exit hooks, so a provider of the user's needs help there, and only there."""
    if isinstance(provider, TracerProvider) and provider not in _helped:
        _helped.add(provider)
        _Closer(provider).on_sigterm()


def _help_given(provider: trace.TracerProvider) -> None:
    """The same for providers that are handed to `instrument()`: a process may make many, so one thread is for all."""
    if isinstance(provider, TracerProvider) and provider not in _helped:
        _helped.add(provider)
        _GIVEN.providers.add(provider)
        if not _GIVEN.helped:
            _GIVEN.helped = True
            _Closer(_GIVEN).on_sigterm()


def make(service_name: str | None, endpoint: str | None) -> TracerProvider:
    """A provider that sends in batches; it follows the OTEL_* variables where no argument says otherwise.

    Spans leave within a second, so that a killed process loses little. How many may wait for that: see `Sender`.
    """
    resource = Resource.create({SERVICE_NAME: service_name} if service_name else {})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    senders = [Sender(exporter) for exporter in _exporters(endpoint)]
    for sender in senders:
        provider.add_span_processor(sender)
    _helped.add(provider)
    _Closer(provider, lambda: [sender.tell_unsent() for sender in senders]).at_exit()
    return provider


def service_name(provider: trace.TracerProvider) -> str:
    """The provider's service.name, "" where it has none."""
    resource = getattr(provider, "resource", None)
    return str(resource.attributes.get(SERVICE_NAME, "")) if isinstance(resource, Resource) else ""


def _exporters(endpoint: str | None) -> list[SpanExporter]:
    wanted = (os.environ.get("OTEL_TRACES_EXPORTER") or "otlp").split(",")
    makers: dict[str, Callable[[], SpanExporter | None]] = {
        "otlp": lambda: _otlp(endpoint),
        "console": ConsoleSpanExporter,
    }
    names = [name.strip().lower() for name in wanted]
    for name in names:
        if name not in makers and name != "none":
            _log.warning("overclaim: OTEL_TRACES_EXPORTER=%s is not known here; use otlp, console or none", small(name))
    made = (makers[name]() for name in names if name in makers)
    return [one for one in made if one is not None]


def _otlp(endpoint: str | None) -> SpanExporter | None:
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    if protocol == "grpc":
        try:
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc
        except ImportError:
            _log.warning("overclaim: OTLP over gRPC needs pip install 'overclaim[grpc]'; sending over HTTP instead")
        else:
            return cast("SpanExporter", Grpc(endpoint=endpoint))
    if endpoint and not is_url(endpoint):
        cure = f"nothing is sent; give a URL of http or https, such as {_with_scheme(endpoint)}"
        _mistakes.warn("overclaim.instrument(endpoint=...)", endpoint, cure)
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=traces_url(endpoint) if endpoint else None)


def is_url(endpoint: object) -> bool:
    """Whether spans can be posted there: "http://localhost:4318", but not "localhost:4318"."""
    try:
        parts = urlsplit(endpoint) if isinstance(endpoint, str) else None
        return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _with_scheme(endpoint: object) -> str:
    bare = endpoint.rpartition("://")[2] if isinstance(endpoint, str) else ""
    return scrub(f"http://{bare or 'localhost:4318'}", 80)


def traces_url(endpoint: str) -> str:
    """The URL that traces are posted to, for a base URL such as http://127.0.0.1:4318."""
    base = endpoint.rstrip("/")
    return base if base.endswith(_TRACES_PATH) else base + _TRACES_PATH


class _Flushed(Protocol):
    def force_flush(self) -> object: ...


class _Given:
    """The providers that were handed to `instrument()`, as long as the program keeps them."""

    def __init__(self) -> None:
        self.providers: WeakSet[TracerProvider] = WeakSet()
        self.helped = False

    def force_flush(self) -> None:
        """Flush all of them."""
        for provider in list(self.providers):
            provider.force_flush()


_GIVEN = _Given()


class _Closer:
    """Flushes a provider from a thread of its own, so that a dead endpoint can never hold up the exit.

    The thread exists before it is needed, because Python starts no new ones while it shuts down.
    """

    def __init__(self, provider: _Flushed, too_late: Callable[[], object] = lambda: None) -> None:
        """too_late: called where the process ends and the time was too short to send everything."""
        self._provider = provider
        self._too_late = too_late
        self._pid = 0
        self._until: float | None = None
        self._last = False
        self._wanted = threading.Event()
        self._flushed = threading.Event()
        self._start()
        _closers.append(self)

    def at_exit(self) -> None:
        """Flush when the interpreter exits and when SIGTERM arrives."""
        atexit.register(self.flush, EXIT_SECONDS, last=True)
        self.on_sigterm()

    def on_sigterm(self) -> None:
        """Flush when SIGTERM arrives."""
        chain_sigterm(self.flush)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start)

    def flush(self, seconds: float, *, last: bool = False) -> bool:
        """Send what has ended; False where that took longer than it may. last: end first what is open, see `at_last`.

        A second SIGTERM, or one while the interpreter exits, interrupts this and flushes again: within the same time.
        """
        if self._pid != os.getpid():
            return False
        interrupted = self._until
        self._until = until = interrupted or time.monotonic() + seconds
        try:
            self._flushed.clear()
            self._last = self._last or last
            self._wanted.set()
            done = self._flushed.wait(max(0.0, until - time.monotonic()))
            if last and not done:
                self._too_late()
            return done
        finally:
            self._until = interrupted

    def _start(self) -> None:
        self._wanted, self._flushed, self._until, self._last = threading.Event(), threading.Event(), None, False
        try:
            threading.Thread(target=self._work, name="overclaim-flush", daemon=True).start()
            self._pid = os.getpid()
        except RuntimeError:
            _log.debug("overclaim: no thread to flush with", exc_info=True)

    def _work(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            try:
                if self._last:
                    _end_all()
                self._provider.force_flush()
            except Exception as error:
                _log.debug("overclaim: flush failed: %s", place_of(error))
            self._flushed.set()


def at_last(end: Callable[[], object]) -> None:
    """Have something ended before what is open is sent for the last time: where the process exits, or SIGTERM ends it.

    Ahead of the exit hooks of all providers there are, which shut them down.
    """
    not_at_last(end)
    _endings.append(end)
    atexit.register(end)


def not_at_last(end: Callable[[], object]) -> None:
    """Take that back."""
    atexit.unregister(end)
    if end in _endings:
        _endings.remove(end)


def _end_all() -> None:
    for end in list(_endings):
        try:
            end()
        except Exception as error:
            report("end at exit", error)


def flush(seconds: float = EXIT_SECONDS) -> None:
    """Send what has ended, of every provider that is helped; waits no longer than that for each."""
    for closer in _closers:
        closer.flush(seconds)


def chain_sigterm(flush: Callable[..., Any]) -> bool:
    """Flush on SIGTERM, then do what would have been done without us. False where no handler could be set."""
    try:
        previous = signal.getsignal(signal.SIGTERM)
        if previous is signal.SIG_IGN or previous is None:
            return False
        signal.signal(signal.SIGTERM, _flushing(flush, previous))
    except (ValueError, OSError, AttributeError):  # not the main thread, or a platform without signals
        return False
    return True


def _flushing(flush: Callable[..., Any], previous: Any) -> Callable[[int, FrameType | None], None]:
    def on_sigterm(number: int, frame: FrameType | None) -> None:
        try:
            flush(EXIT_SECONDS, last=not callable(previous))
        except Exception as error:  # gevent lets nobody wait where it handles signals
            report("flush on SIGTERM", error)
        if callable(previous):
            previous(number, frame)
            return
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return on_sigterm
