"""Figures over OTLP/HTTP, by the SDK's own metrics: findings as they go out, runs judged, verdicts, drifts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from overclaim import _attributes as names
from overclaim._version import __version__
from overclaim_detectors import sql
from overclaim_detectors.outgoing.endpoint import Endpoint
from overclaim_detectors.outgoing.finding import Finding
from overclaim_detectors.outgoing.otlp_session import OtlpSession
from overclaim_detectors.store import Store

SERVICE: Final = "overclaim"
EVERY_S: Final = 60.0
MOST_AGENTS: Final = 100  # each has a series for each verdict
_ACCUSES: Final = ("contradicted", "unsupported", "pending")
_TIMEOUT_S: Final = 10.0
_Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts, and sends once a minute. The store is asked by whoever calls refresh(), never by the sending thread."""

    def __init__(self, store: Store, endpoint: Endpoint, every: float = EVERY_S) -> None:
        self._store = store
        self._every = every
        self._due = 0.0
        self._verdicts: dict[_Labels, float] = {}
        self._rates: dict[_Labels, float] = {}
        self._drifts: dict[_Labels, float] = {}
        exporter = OTLPMetricExporter(
            f"{endpoint.url}/v1/metrics", timeout=_TIMEOUT_S, session=OtlpSession(endpoint.headers)
        )
        reader = PeriodicExportingMetricReader(exporter, every * 1000, _TIMEOUT_S * 1000)
        self._provider = MeterProvider([reader], Resource.create({"service.name": SERVICE}), shutdown_on_exit=False)
        self._make()

    def _make(self) -> None:
        meter = self._provider.get_meter("overclaim.detectors", __version__)
        self._findings = meter.create_counter(
            "overclaim.findings", "{finding}", "Findings that went out, by rule, severity and state."
        )
        self._judged = meter.create_counter(
            "overclaim.judged_runs", "{run}", "Runs judged, again or for the first time."
        )
        meter.create_observable_gauge(
            "overclaim.verdicts", [lambda _: _seen(self._verdicts)], "{run}", "Runs of the last day by verdict."
        )
        meter.create_observable_gauge(
            "overclaim.overclaim_ratio", [lambda _: _seen(self._rates)], "1", "Overclaims among runs of the last day."
        )
        meter.create_observable_gauge(
            "overclaim.open_drifts", [self._open_drifts], "{drift}", "Drifts that are open and shown."
        )

    def count(self, batch: Sequence[Finding]) -> None:
        """These went out."""
        for one in batch:
            about = {
                names.VERDICT_RULE: one.rule, names.FINDING_SEVERITY: one.severity, names.FINDING_STATE: one.state,
            }  # fmt: skip
            self._findings.add(1, about)

    def judged(self, runs: int) -> None:
        """A pass judged so many runs."""
        self._judged.add(runs)

    def refresh(self) -> None:
        """Ask the store for what the gauges tell, if that was long enough ago.

        Raises:
            StoreError: it failed; the gauges stay as they are.
        """
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._every / 2
        rows = self._store.query(sql.load("outgoing/verdicts"), {"most": MOST_AGENTS}).rows
        runs, bad = Counter[_Labels](), Counter[_Labels]()
        self._verdicts = {(*_who(*who), (names.VERDICT_LABEL, label)): count for *who, label, count in rows}
        for *who, label, count in rows:
            runs[_who(*who)] += 0 if label == "incomplete" else count
            bad[_who(*who)] += count if label in _ACCUSES else 0
        self._rates = {who: bad[who] / count for who, count in runs.items() if count}
        rows = self._store.query(sql.load("outgoing/drifts")).rows
        self._drifts = {_who(service, environment): count for service, environment, count in rows}

    def close(self, seconds: float) -> None:
        """Send the last figures if that can be done within so many seconds, and end."""
        with suppress(Exception):  # the endpoint may be gone
            self._provider.shutdown(seconds * 1000)

    def _open_drifts(self, _: CallbackOptions) -> Iterable[Observation]:
        return _seen(self._drifts or {(): 0})


def _who(service: str, environment: str, agent: str = "") -> _Labels:
    about = {"service.name": service, "deployment.environment.name": environment, names.GEN_AI_AGENT_NAME: agent}
    return tuple((name, value) for name, value in about.items() if value)


def _seen(values: dict[_Labels, float]) -> Iterable[Observation]:
    return [Observation(value, dict(labels)) for labels, value in values.items()]
