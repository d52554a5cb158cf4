"""A program makes 6,000 spans at once and ends, with the stock SDK at its defaults: a queue of 2048, requests of 512.

`python -m tests.faults.harness.burst ENDPOINT {http,grpc}` is that program; it prints how long making them took.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tests.bench.ingest.agent_runs import agent_run
from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.sender import exporter
from tests.faults.harness.served import Served
from tests.faults.harness.tests_of import ROOT

RUNS = 462  # of 13 spans
SPANS = RUNS * 13


def burst(endpoint: str, protocol: str) -> float:
    """Make the spans, and deliver what the SDK kept of them; the seconds that making them took."""
    provider = TracerProvider(resource=Resource({"service.name": "burst"}))
    provider.add_span_processor(BatchSpanProcessor(exporter(endpoint, protocol)))
    begun = time.monotonic()
    for number in range(RUNS):
        agent_run(provider.get_tracer("burst"), number)
    took = time.monotonic() - begun
    provider.shutdown()
    return took


def arrived(served: Served, protocol: str) -> tuple[int, float]:
    """How many spans of such a program are stored, and the seconds that it took to make them."""
    before = served.number("SELECT count() FROM otel_traces")
    endpoint = served.http if protocol == "http" else served.grpc
    command = [sys.executable, "-m", "tests.faults.harness.burst", endpoint, protocol]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    served.settle()
    return served.number("SELECT count() FROM otel_traces") - before, float(done.stdout)


def measure(options: Options) -> Measured:
    """The row of the table: the worst of several programs for each protocol."""
    times = 2 if options.quick else 5
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder)) as served:
        found = {name: [arrived(served, name) for _ in range(times)] for name in ("http", "grpc")}
    worst = {name: min(spans for spans, _ in bursts) for name, bursts in found.items()}
    fastest = min(took for bursts in found.values() for _, took in bursts)
    said = ", ".join(f"{name} {spans:,}" for name, spans in worst.items())
    told = f"of {SPANS:,} spans made in {fastest:.2f} s and more arrive at least: {said} (of {times} programs each)"
    return Measured(told, set(worst.values()) == {SPANS})


FAULT = Fault("burst", "burst of 6,000 spans, stock SDK at defaults", "arrives whole", measure)

if __name__ == "__main__":
    print(burst(sys.argv[1], sys.argv[2]))
