"""Threads that send runs of agents with a stock exporter until their input ends, and tell what became of each.

`python -m tests.faults.harness.sender ENDPOINT {http,grpc} [--threads N] [--spans N] [--pause SECONDS]` prints one line
per run when it is sent ("sent TRACE") and when the exporter returns ("ok TRACE SECONDS" or "failed TRACE SECONDS").
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from tests.faults.harness.agent_spans import Agents

_ended = threading.Event()
_printing = threading.Lock()


def exporter(endpoint: str, protocol: str) -> SpanExporter:
    """The stock exporter, with the retries it has by default."""
    if protocol == "grpc":
        return GrpcExporter(endpoint=f"http://{endpoint}", insecure=True)
    return HttpExporter(endpoint=f"{endpoint}/v1/traces")


def say(*words: object) -> None:
    """Print one whole line."""
    with _printing:
        print(*words, flush=True)


def send(out: SpanExporter, service: str, spans: int, pause: float) -> None:
    """Send runs until the end."""
    agents = Agents(service)
    while not _ended.wait(pause):
        trace, made = agents.run(spans)
        say("sent", trace)
        begun = time.monotonic()
        done = out.export(made) is SpanExportResult.SUCCESS
        say("ok" if done else "failed", trace, f"{time.monotonic() - begun:.4f}")


def main() -> None:
    """Send until the input ends, then finish what is under way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("endpoint")
    parser.add_argument("protocol", choices=["http", "grpc"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--spans", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()
    logging.disable()  # what an exporter fails at is told here, not in the log
    threads = [
        threading.Thread(
            target=send, args=(exporter(args.endpoint, args.protocol), f"sender-{number}", args.spans, args.pause)
        )
        for number in range(args.threads)
    ]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    _ended.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
