"""`overclaim.instrument()` and `overclaim.uninstrument()`, and the same as an OpenTelemetry instrumentor."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from opentelemetry import metrics, trace

from overclaim import _content, _mistakes, integrations
from overclaim._fail_open import fail_open, report
from overclaim._hashing import use_service_name
from overclaim._postconditions import CHECKS
from overclaim._runtime import RUNTIME, SCOPE_NAME
from overclaim._scrub import clean, scrub
from overclaim.outcome.tool_rules import NO_RULES

if TYPE_CHECKING:
    from overclaim._metrics import Counters
    from overclaim._processor import OutcomeProcessor
    from overclaim.expectations import Expectations

_log = logging.getLogger("overclaim")
_EXPECTATIONS = "OVERCLAIM_EXPECTATIONS"
_lock = threading.Lock()
_processors: WeakKeyDictionary[trace.TracerProvider, OutcomeProcessor] = WeakKeyDictionary()


def instrument(
    *,
    service_name: str | None = None,
    endpoint: str | None = None,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
    capture_content: bool | None = None,
    http_clients: bool = True,
    all_tools: bool = False,
    expectations: Expectations | Mapping[str, Any] | str | os.PathLike[str] | None = None,
) -> None:
    """Watch every tool call and agent run of this process. Safe to call twice.

    Never raises, for it must not stop a program that works: what cannot be used is named, with the cure, in a
    WARNING of the logger "overclaim". The one exception are `expectations` that are given here and cannot be used,
    since a program that trusts in them must not run without.

    No content leaves by default. Of HTTP requests, spans of the instrumentors that this switches on hold method,
    host, path and status; path segments stay, as in any telemetry of HTTP, so an id in a path is sent. Query,
    fragment, user info, matrix parameters and messages of exceptions are cut off. Spans of an instrumentor that the
    program or `opentelemetry-instrument` switched on are not changed: they send whole URLs; see `overclaim doctor`.

    Args:
        service_name: The service.name, where no tracer provider is set yet; else OTEL_SERVICE_NAME.
        endpoint: Where to send, such as http://127.0.0.1:4318, where no tracer provider is set yet; else the
            OTEL_EXPORTER_OTLP_* variables.
        tracer_provider: The provider to use instead of the global one.
        meter_provider: The same for the counters `overclaim.calls` and `overclaim.runs`, which stay exact where spans
            are sampled. None is made where the program has none.
        capture_content: Whether arguments, results and answers may leave the process, scrubbed and capped; by
            default OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT decides, which means no.
        http_clients: Whether to switch on the installed OpenTelemetry instrumentors of HTTP clients, and to look at the
            status of requests inside a tool without them.
        all_tools: Whether every tool of your agents is decorated. Then any claim of a deed that no call shows is
            accused; else only where another instrumentor reports the calls, or where a decorated tool could have done
            the deed and was not called.
        expectations: What right means here: `overclaim.Expectations`, a mapping, the path of a YAML, TOML or JSON file,
            or the name of a pack, such as "payments". By default the file that OVERCLAIM_EXPECTATIONS names, if any; it
            is read once, here, and one that cannot be used gives a WARNING and is left out.

    Raises:
        InputError: expectations are given and cannot be used.
        MissingExtra: expectations are a YAML file, and PyYAML is not installed.
    """
    with _lock:
        _expect(expectations)
        try:
            RUNTIME.all_tools = bool(all_tools)
            _instrument(service_name, endpoint, tracer_provider, meter_provider, capture_content, http_clients)
        except Exception as error:
            report("instrument", error)
            _log.warning("overclaim: not instrumented: %s: %s", type(error).__name__, scrub(str(error), 200))


def uninstrument() -> None:
    """Stop watching. Switches off only what `instrument()` switched on; your tracer provider stays as it is."""
    with _lock:
        RUNTIME.tracer = RUNTIME.counters = None
        RUNTIME.rules, RUNTIME.procedures = NO_RULES, ()
        CHECKS.expect(())
        for processor in list(_processors.values()):
            processor.active = False
        integrations.switch_off()


def _expect(given: object) -> None:
    """Put expectations in force, those of the environment where none are given."""
    if given is None and not os.environ.get(_EXPECTATIONS, "").strip():
        return
    from overclaim.expectations.loading import chosen

    try:
        found = chosen(given)
    except Exception as error:
        if given is not None:
            raise
        _log.warning("overclaim: %s cannot be used, going on without: %s", _EXPECTATIONS, scrub(str(error), 400))
        return
    if found is not None:
        RUNTIME.rules, RUNTIME.procedures = found.rules, found.all_procedures
        CHECKS.expect(found.checks)


def _is_on(capture_content: object) -> bool:
    """Whether content may leave: only where that is said in so many words, for "false" is a text that is not empty."""
    if type(capture_content) is not bool:
        cure = "content stays; give True or False"
        _mistakes.warn("overclaim.instrument(capture_content=...)", capture_content, cure)
    return capture_content is True


def _name_given(service_name: object) -> str | None:
    """The service.name that a program gave, None where it is none."""
    if service_name is not None and type(service_name) is not str:
        _mistakes.warn("overclaim.instrument(service_name=...)", service_name, "give the name as a text")
        return None
    return clean(service_name) if service_name else None


def _instrument(
    service_name: str | None,
    endpoint: str | None,
    given: trace.TracerProvider | None,
    meters: metrics.MeterProvider | None,
    capture_content: bool | None,
    http_clients: bool,
) -> None:
    # Here, not above: `import overclaim` must not pay for the SDK and the exporter.
    from overclaim import _provider
    from overclaim._tracing import tracer_of

    RUNTIME.capture_content = _content.wanted() if capture_content is None else _is_on(capture_content)
    if _provider.disabled():
        return
    service_name = _name_given(service_name)
    provider = _provider.find_or_make(given, service_name, endpoint)
    use_service_name(_provider.service_name(provider) or service_name or SCOPE_NAME)
    if isinstance(provider, _provider.ProcessorHost):
        _add_processor(provider)
    RUNTIME.counters = _counters(meters)
    RUNTIME.tracer = tracer_of(provider)
    integrations.switch_on(provider, http_clients=http_clients)


@fail_open
def _counters(meters: metrics.MeterProvider | None) -> Counters:
    """The counters; without them everything else goes on."""
    from overclaim._metrics import Counters

    return Counters(meters)


@fail_open
def _add_processor(provider: Any) -> None:
    """Watch the spans of others; where the provider does not let us, our own spans go on."""
    from overclaim._processor import OutcomeProcessor

    processor = _processors.get(provider)
    if processor is None:
        processor = _processors[provider] = OutcomeProcessor()
        provider.add_span_processor(processor)
    processor.active = True


class OverclaimInstrumentor:
    """What the `opentelemetry_instrumentor` entry point loads; it follows the protocol of BaseInstrumentor.

    It does not derive from it, so that `opentelemetry-instrumentation` need not be installed.
    """

    _shared: OverclaimInstrumentor | None = None

    def __new__(cls) -> OverclaimInstrumentor:
        """One instrumentor per process, as the protocol has it."""
        if cls._shared is None:
            cls._shared = super().__new__(cls)
        return cls._shared

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        """Whether `instrument()` is in force."""
        return RUNTIME.tracer is not None

    def instrumentation_dependencies(self) -> Collection[str]:
        """No package is needed: every integration looks for its own."""
        return ()

    def instrument(self, **options: Any) -> None:
        """As `overclaim.instrument()`; takes its tracer_provider, meter_provider and all_tools, ignores other options.

        The HTTP clients are left to `opentelemetry-instrument`, which switches them on itself.
        """
        automatic = "skip_dep_check" in options
        given = options.get("tracer_provider")
        instrument(
            tracer_provider=given,
            meter_provider=options.get("meter_provider"),
            http_clients=not automatic,
            all_tools=options.get("all_tools", False),
        )

    def uninstrument(self, **_: Any) -> None:
        """As `overclaim.uninstrument()`."""
        uninstrument()
