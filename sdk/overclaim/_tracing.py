"""The tracer of our own spans, which begin with their attributes whatever the program's sampler makes of those.

A sampler decides which attributes a span begins with, and one of a program's own may forget to hand them on. Nobody
would know our spans then: what they are is said in those attributes.
"""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace.sampling import ParentBased, Sampler, StaticSampler, TraceIdRatioBased
from opentelemetry.trace import Span, Tracer, TracerProvider
from opentelemetry.util.types import Attributes

from overclaim._runtime import SCOPE_NAME
from overclaim._version import __version__


def tracer_of(provider: TracerProvider) -> Tracer:
    """The tracer for our spans. Where the sampler is one of OpenTelemetry's own, that is the provider's."""
    tracer = provider.get_tracer(SCOPE_NAME, __version__)
    sampler = getattr(provider, "sampler", None)
    return _Attributed(tracer) if isinstance(sampler, Sampler) and not _hands_on(sampler) else tracer


def _hands_on(sampler: object) -> bool:
    """Whether a sampler is known to leave a span its attributes."""
    if type(sampler) is ParentBased:
        return all(_hands_on(one) for one in vars(sampler).values() if isinstance(one, Sampler))
    return type(sampler) in (StaticSampler, TraceIdRatioBased)


class _Attributed(Tracer):
    """A tracer that says again what the sampler left out or replaced."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def start_span(self, name: str, *args: Any, attributes: Attributes = None, **options: Any) -> Span:
        """As the tracer, with these attributes in any case."""
        span = self._tracer.start_span(name, *args, attributes=attributes, **options)
        if attributes and span.is_recording():
            span.set_attributes(attributes)
        return span

    def start_as_current_span(self, *args: Any, **options: Any) -> Any:
        """As the tracer; none of ours is made like this."""
        return self._tracer.start_as_current_span(*args, **options)
