"""Spans on their way out of our own provider: a queue with room for a burst, and the number of those that are lost.

The SDK's processor has room for 2,048 spans. Its sending thread shares the interpreter with the program, so a burst
overflows that also where the endpoint answers at once; what is lost then shows as one line of log without a number.
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Sequence
from itertools import count, repeat

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from overclaim._scrub import small

QUEUE = 16_384
_VARIABLE = "OTEL_BSP_MAX_QUEUE_SIZE"
_DELAY_MILLIS = 1000
_BATCH = 512
_TOLD_SECONDS = 60.0
_log = logging.getLogger("overclaim")


class Sender(BatchSpanProcessor):
    """Sends in batches, as the SDK's processor, with a longer queue that counts what it has no room for.

    The queue is bounded: by OTEL_BSP_MAX_QUEUE_SIZE, else by 16,384 spans. A span of an agent that waits takes some
    4 KiB, one that carries texts more: 60 MiB (measured as resident memory) where the endpoint takes nothing and the
    queue is full; empty it takes 0.1 MiB. Spans beyond that are lost, the newest first. A warning tells how many, at
    most once a minute and when the spans are flushed, and so it does with what the endpoint did not take.

    exporter: what sends a batch; it is shut down with this.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        room = _queue_size()
        self._counted = _Counted(exporter, room)
        super().__init__(
            self._counted,
            max_queue_size=room,
            schedule_delay_millis=None if os.environ.get("OTEL_BSP_SCHEDULE_DELAY") else _DELAY_MILLIS,
            max_export_batch_size=None if os.environ.get("OTEL_BSP_MAX_EXPORT_BATCH_SIZE") else min(_BATCH, room),
        )
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._counted.begin)

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span, or count it as lost where no room is left."""
        if span.context and span.context.trace_flags.sampled and self._counted.admit():
            super().on_end(span)

    def force_flush(self, timeout_millis: int | None = None) -> bool:
        """Send what waits; then tell what is lost."""
        done = super().force_flush(timeout_millis)
        self._counted.tell()
        return done

    def shutdown(self) -> None:
        """Send what waits, for the last time; then tell what is lost."""
        super().shutdown()
        self.tell_unsent()

    def tell_unsent(self) -> None:
        """Warn of all that is lost where the process ends now, with what waits still."""
        self._counted.tell()
        if unsent := self._counted.waiting():
            _log.warning("overclaim: up to %d spans lost at the end: there was no time left to send them", unsent)


class _Counted(SpanExporter):
    """An exporter that knows what waits for it. It has no locks, for a signal may end spans at any moment."""

    def __init__(self, exporter: SpanExporter, room: int) -> None:
        self._exporter = exporter
        self._room = room
        self.begin()

    def begin(self) -> None:
        """Count anew: a forked process has an empty queue, and has lost nothing."""
        self._free = deque(repeat(None, self._room))
        self._losses = count(1)
        self._lost = self._refused = self._sending = 0
        self._failing = False
        self._told, self._told_at = (0, 0), float("-inf")

    def admit(self) -> bool:
        """Take one of the places that are free; False where there is none, and the span is lost."""
        try:
            self._free.pop()
        except IndexError:
            self._lost = next(self._losses)
            return False
        return True

    def waiting(self) -> int:
        """How many spans are not sent yet."""
        return self._room - len(self._free) + self._sending

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch, whose places in the queue are free from now on."""
        self._sending = len(spans)
        self._free.extend(repeat(None, len(spans)))
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            self._failing = result is not SpanExportResult.SUCCESS
            self._refused += len(spans) if self._failing else 0
            self._sending = 0
        if time.monotonic() - self._told_at > _TOLD_SECONDS:
            self.tell()
        return result

    def tell(self) -> None:
        """Warn of what was lost since this was last called."""
        before, self._told = self._told, (self._lost, self._refused)
        if self._told == before:
            return
        self._told_at = time.monotonic()
        lost, refused = self._told
        if lost > before[0]:
            cure = "the endpoint takes nothing" if self._failing else f"a larger {_VARIABLE} keeps more"
            _log.warning("overclaim: %d spans lost so far: they ended while %d waited; %s", lost, self._room, cure)
        if refused > before[1]:
            _log.warning("overclaim: %d spans lost so far: the endpoint did not take them", refused)

    def shutdown(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the exporter."""
        return self._exporter.force_flush(timeout_millis)


def _queue_size() -> int:
    """How many spans may wait; the standard variable wins."""
    raw = os.environ.get(_VARIABLE, "").strip()
    if raw.isdecimal() and int(raw):
        return int(raw)
    if raw:
        _log.warning("overclaim: %s=%s is no number above 0; %d spans may wait", _VARIABLE, small(raw), QUEUE)
    return QUEUE
