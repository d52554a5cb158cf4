"""A program makes 6,006 spans as fast as it can and ends: once with the stock SDK at its defaults, once with ours.

The stock SDK holds 2,048 spans and encodes them in a thread that shares the interpreter with the program, so it loses
some in its own queue wherever it sends them. What a server can do about it is to answer soon: ours is compared with a
receiver that answers at once and does nothing else. The provider that `overclaim.instrument()` makes holds more.

`python -m tests.faults.harness.burst ENDPOINT {http,grpc} {stock,ours}` is that program; it prints how many seconds
making the spans took.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import cast

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Tracer, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tests.bench.ingest.agent_runs import SPANS_PER_RUN, agent_run
from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.null_receiver import NullReceiver
from tests.faults.harness.sender import exporter
from tests.faults.harness.served import Served
from tests.faults.harness.tests_of import ROOT

import overclaim

RUNS = 462
SPANS = RUNS * SPANS_PER_RUN
PROTOCOLS = ("http", "grpc")
SHARE = 0.95
COUNT = "SELECT count() FROM otel_traces"


def burst(provider: TracerProvider) -> float:
    """Make the spans; the seconds that took."""
    tracer = cast("Tracer", provider.get_tracer("burst"))
    begun = time.monotonic()
    for number in range(RUNS):
        agent_run(tracer, number)
    return time.monotonic() - begun


def set_up(endpoint: str, protocol: str, provider: str) -> TracerProvider:
    """The provider of this process, which delivers at its end what it kept: by itself, as those of users do."""
    if provider == "ours":
        os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] = protocol
        overclaim.instrument(service_name="burst", endpoint=endpoint if protocol == "http" else f"http://{endpoint}")
        ours = trace.get_tracer_provider()
        assert isinstance(ours, TracerProvider)
        return ours
    stock = TracerProvider(resource=Resource({"service.name": "burst"}))
    stock.add_span_processor(BatchSpanProcessor(exporter(endpoint, protocol)))
    return stock


def program(at: Served | NullReceiver, protocol: str, provider: str) -> tuple[float, list[str]]:
    """Run such a program to its end; the seconds that making the spans took, and what overclaim said of losses."""
    endpoint = at.http if protocol == "http" else at.grpc
    command = [sys.executable, "-m", "tests.faults.harness.burst", endpoint, protocol, provider]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return float(done.stdout), [line for line in done.stderr.splitlines() if line.startswith("overclaim:")]


@dataclass
class Arrived:
    """How many spans of each program arrived.

    stock, null: those of the stock SDK here, and at the null receiver. told: what overclaim's provider said of losses.
    """

    stock: list[int] = field(default_factory=list[int])
    null: list[int] = field(default_factory=list[int])
    ours: list[int] = field(default_factory=list[int])
    told: list[str] = field(default_factory=list[str])

    @property
    def share(self) -> float:
        """What the stock SDK delivers here, of what it delivers where it is answered at once: of the medians."""
        return median(self.stock) / median(self.null)

    def said(self, protocol: str) -> str:
        """In words."""
        return (
            f"{protocol} {self.share:.0%}: {median(self.stock):,.0f} of {median(self.null):,.0f}"
            f" (worst {min(self.stock):,} of {min(self.null):,}), overclaim's own provider at least {min(self.ours):,}"
            + "".join(f" ({line})" for line in self.told)
        )


@dataclass(frozen=True)
class Bursts:
    """Programs one after the other, at the server and at the null receiver by turns."""

    served: Served
    null: NullReceiver

    def add(self, found: Arrived, protocol: str) -> float:
        """One more of each; the seconds that making the spans took the stock SDK at the server."""
        program(self.null, protocol, "stock")
        found.null.append(self.null.spans())
        stored, _, told = self._stored(protocol, "ours")
        found.ours.append(stored)
        found.told += told
        stored, took, _ = self._stored(protocol, "stock")
        found.stock.append(stored)
        return took

    def _stored(self, protocol: str, provider: str) -> tuple[int, float, list[str]]:
        before = self.served.number(COUNT)
        took, told = program(self.served, protocol, provider)
        self.served.settle()
        return self.served.number(COUNT) - before, took, told


def measure(options: Options) -> Measured:
    """The row of the table."""
    times = 3 if options.quick else 7
    found = {protocol: Arrived() for protocol in PROTOCOLS}
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder)) as served, NullReceiver() as null:
        bursts = Bursts(served, null)
        fastest = min(bursts.add(found[protocol], protocol) for _ in range(times) for protocol in PROTOCOLS)
    said = "; ".join(one.said(protocol) for protocol, one in found.items())
    held = all(one.share >= SHARE and min(one.ours) == SPANS for one in found.values())
    told = f"of {SPANS:,} spans made in {fastest:.2f} s and more, {times} programs each: {said}"
    return Measured(f"{told}; the rest is lost in the SDK's own queue", held)


FAULT = Fault(
    "burst",
    "burst of 6,000 spans",
    "stock SDK: 95 % of what arrives at a receiver that answers at once; overclaim's provider: whole",
    measure,
)

if __name__ == "__main__":
    print(burst(set_up(*sys.argv[1:])))
