"""Ids of spans that are the same each time."""

from __future__ import annotations

from opentelemetry.sdk.trace.id_generator import IdGenerator


class FixedIds(IdGenerator):
    """Ids of one trace and of its spans, counted upwards."""

    def __init__(self, trace_id: int, before: int) -> None:
        self._trace, self._span = trace_id, before

    def generate_trace_id(self) -> int:
        """The one trace."""
        return self._trace

    def generate_span_id(self) -> int:
        """The next span."""
        self._span += 1
        return self._span

    def is_trace_id_random(self) -> bool:
        """No."""
        return False
