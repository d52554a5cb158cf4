"""More senders than the server has room for: what it cannot take it must refuse, and the balance must be exact."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.load import Load, quantile
from tests.faults.harness.requests import good
from tests.faults.harness.served import Served

SPANS = 500
SENDERS = 400
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Overload:
    """Spans: sent, acknowledged, refused for good by status, stored; and the server's own counts.

    again: how many requests were told to come again. p99: how long an acknowledgement took, in seconds.
    """

    sent: int
    acknowledged: int
    refused: dict[int, int]
    stored: int
    counts: dict[str, int]
    again: int
    p99: float

    @property
    def ok(self) -> bool:
        """Sent = stored + refused, to the span, and the server says the same."""
        own = self.counts["stored"] + self.counts["repeated"] + self.counts["refused"] + self.counts.get("waiting", 0)
        exact = self.stored == self.acknowledged == self.sent - sum(self.refused.values())
        return exact and own == self.counts["received"] and self.counts["stored"] == self.stored

    def __str__(self) -> str:
        refused = ", ".join(f"{spans:,} with {status or 'no answer'}" for status, spans in sorted(self.refused.items()))
        return (
            f"{SENDERS} senders: {self.sent:,} spans sent = {self.stored:,} stored + refused ({refused or 'none'});"
            f" off by {self.sent - self.stored - sum(self.refused.values())}; {self.again:,} requests were told to come"
            f" again, all others were acknowledged in {self.p99:.1f} s (p99)"
        )


def overload(folder: Path, seconds: float) -> Overload:
    """Send from everywhere at once; what is told to come again does so."""
    with Served(folder, "--no-detect") as served:
        with Load(served, lambda: (good(SPANS), SPANS), SENDERS, patience=PATIENCE_SECONDS) as answers:
            time.sleep(seconds)
        served.settle(120)
        stored = served.number("SELECT uniqExact(SpanId) FROM otel_traces")
        refused = {status: spans for status, spans in answers.spans.items() if status != 200}
        counts = {str(name): int(count) for name, count in served.health()["spans"].items()}
    sent, p99 = sum(answers.spans.values()), quantile(answers.seconds, 0.99)
    return Overload(sent, answers.spans[200], refused, stored, counts, answers.again, p99)


def measure(options: Options) -> Measured:
    """The row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = overload(Path(folder), 5 if options.quick else 20)
    return Measured(str(found), found.ok)


FAULT = Fault("overload", "overload: 400 senders at once", "sent = stored + refused, exact to one span", measure)
