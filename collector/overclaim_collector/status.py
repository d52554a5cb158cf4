"""What the server says about itself: in /api/owner, /healthz and /metrics."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

from overclaim._version import __version__
from overclaim_collector.detector import Detector
from overclaim_collector.otlp.signals import BY_NAME
from overclaim_collector.pressure import resident_bytes
from overclaim_collector.storing import Storing
from overclaim_collector.watch import Watch
from overclaim_collector.web.auth import Tokens
from overclaim_collector.web.metrics import Metric, counter, gauge, histogram
from overclaim_collector.writing.forward import Forwarder
from overclaim_collector.writing.timed import BOUNDS
from overclaim_detectors.hiding import without_secrets

_STATES = ("off", "running", "failing", "dead")
_ITEMS = {
    "received": "Items that came in.",
    "stored": "Items that are in the store.",
    "repeated": "Items that had come before.",
    "refused": "Items that were refused.",
    "lost": "Items that waited in the spool and could not be read any more.",
}


@dataclass(frozen=True, slots=True)
class Status:
    """The parts that have something to say. owner: what /api/owner says beside the state of the detectors."""

    owner: Mapping[str, object]
    kept: Storing
    forwarder: Forwarder | None
    detector: Detector
    watch: Watch
    tokens: Tokens
    started: float = field(default_factory=time.time)

    def about(self) -> dict[str, object]:
        """Which process this is, and how its detectors do."""
        return {**self.owner, "detector": self.detector.state()}

    def has_room(self) -> bool:
        """Whether data are taken while the store takes none."""
        return self.kept.writer.has_room

    def details(self) -> dict[str, object]:
        """For whoever watches over it: items since the start, the detectors, and what is wrong with the store."""
        seen, counts = self.watch.seen, self.kept.writer.counts
        return {
            **{f"{BY_NAME[name].item}s".replace(" ", "_"): asdict(of) for name, of in counts.items()},
            "detector": self.detector.state(),
            "damaged_parts": [str(part) for part in (*seen.put_aside, *seen.met)],
        }

    def metrics(self) -> Iterator[Metric]:
        """The figures for Prometheus."""
        yield gauge("overclaim_build_info", "The version that runs.", {__version__: 1}, "version")
        yield from self._items()
        yield from self._spool()
        yield from self._forwarded()
        yield from self._detection()
        seen = self.watch.seen
        yield gauge("overclaim_store_parts_put_aside", "Damaged parts whose rows no query sees.", len(seen.put_aside))
        yield gauge("overclaim_store_parts_damaged", "Other parts that queries failed on.", len(seen.met))
        yield counter("overclaim_auth_failures_total", "Requests without the right token.", self.tokens.failures)
        yield from self._process()

    def _items(self) -> Iterator[Metric]:
        counts, timed = self.kept.writer.counts, self.kept.timed
        for name, help in _ITEMS.items():
            values = {signal: getattr(of, name) for signal, of in counts.items()}
            yield counter(f"overclaim_items_{name}_total", help, values, "signal")
        waiting = {signal: of.waiting for signal, of in counts.items()}
        yield gauge("overclaim_items_waiting", "Items of this run in the spool.", waiting, "signal")
        quarantined = self.kept.writer.quarantined
        yield counter("overclaim_quarantined_items_total", "Items that went into quarantine.", quarantined, "kind")
        yield histogram("overclaim_insert_seconds", "How long inserts took.", BOUNDS, timed.within, timed.seconds)
        yield counter("overclaim_insert_failures_total", "Inserts that failed.", timed.failures)

    def _spool(self) -> Iterator[Metric]:
        if spool := self.kept.spool:
            yield gauge("overclaim_spool_bytes", "What waits for the store, on disk.", spool.bytes)
            yield gauge("overclaim_spool_records", "Requests that wait for the store.", spool.records)
            yield counter("overclaim_spool_damaged_total", "Requests that could not be read again.", spool.damaged)

    def _forwarded(self) -> Iterator[Metric]:
        if self.forwarder:
            counts = self.forwarder.counts
            fates = {name: getattr(counts, name) for name in ("delivered", "full", "refused", "given_up")}
            yield counter("overclaim_forward_requests_total", "Requests to be passed on, by fate.", fates, "fate")
            failing = "For how long the other endpoint has taken nothing, 0 while it answers."
            yield gauge("overclaim_forward_failing_seconds", failing, self.forwarder.failing_seconds)
            yield gauge("overclaim_forward_waiting_requests", "Requests that wait to be passed on.", counts.waiting)
            yield gauge("overclaim_forward_waiting_bytes", "What these take in memory.", counts.bytes)

    def _detection(self) -> Iterator[Metric]:
        now, progress, seen = self.detector.word(), self.detector.progress, self.watch.seen
        states = {state: float(state == now) for state in _STATES}
        yield gauge("overclaim_detector_state", "1 for the state that the detectors are in.", states, "state")
        yield counter("overclaim_detector_passes_total", "Detection passes that came to their end.", progress.passes)
        last = progress.last.timestamp() if progress.last else 0
        yield gauge("overclaim_detector_last_pass_timestamp_seconds", "When the last pass ended, 0 before it.", last)
        yield gauge("overclaim_detector_lag_seconds", "How long the oldest arrival waits for a pass.", seen.lag)
        yield gauge("overclaim_detector_waiting_arrivals", "Arrivals that wait for a pass.", seen.waiting)

    def _process(self) -> Iterator[Metric]:
        resident = "Memory of the process, shared files included."
        yield gauge("process_resident_memory_bytes", resident, resident_bytes())
        yield counter("process_cpu_seconds_total", "CPU time of the process.", sum(os.times()[:2]))
        yield gauge("process_start_time_seconds", "When the server started.", self.started)


def command_line() -> str:
    """How this process was started, without the passwords of addresses."""
    return without_secrets(" ".join([os.path.basename(sys.argv[0]), *sys.argv[1:]]))
