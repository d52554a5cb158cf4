"""What receiving spans costs: `python -m tests.bench.ingest [--spans N] [--senders N] [--json]`.

A server in a process of its own receives OTLP/HTTP requests of 512 agent spans (about 15 attributes on calls) as the
stock SDK encodes them. Printed: CPU seconds of the server process per 100,000 spans, spans a second, its memory, and
the balance of spans sent and stored. CPU seconds are the figure to compare; time depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

BATCH = 512


def agent_run(tracer: Tracer, number: int) -> None:
    """One agent run: four turns of a model call and a tool call with an HTTP request below it."""
    with tracer.start_as_current_span("invoke_agent planner", attributes={"gen_ai.agent.name": "planner"}):
        for turn in range(4):
            with tracer.start_as_current_span("chat model-1", attributes=chat(number, turn)):
                pass
            with tracer.start_as_current_span("execute_tool search", attributes=call(number, turn)) as span:
                with tracer.start_as_current_span("GET", attributes=fetch(number)):
                    pass
                span.add_event("note", {"turn": turn})
                if number % 10 == 0:
                    span.set_status(Status(StatusCode.ERROR, "400"))


def chat(number: int, turn: int) -> dict[str, Any]:
    """Attributes of a model call."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "model-1",
        "gen_ai.response.model": "model-1-2026",
        "gen_ai.provider.name": "example",
        "gen_ai.usage.input_tokens": 400 + number % 97,
        "gen_ai.usage.output_tokens": 40 + turn,
        "gen_ai.request.temperature": 0.3,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.response.id": f"answer-{number}-{turn}",
        "server.address": "model.example",
        "server.port": 443,
        "gen_ai.conversation.id": f"talk-{number}",
    }


def call(number: int, turn: int) -> dict[str, Any]:
    """Attributes of a tool call."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": f"call-{number}-{turn}",
        "gen_ai.tool.call.arguments": json.dumps({"query": f"word {number}" * 3, "limit": 10}),
        "gen_ai.tool.call.result": json.dumps({"items": list(range(20)), "text": "y" * (number % 120)}),
        "overclaim.claimed.outcome": "success",
        "overclaim.observed.outcome": "success",
        "overclaim.observed.grade": "inferred",
        "overclaim.evidence.kind": ["http_status"],
        "overclaim.evidence.rule": ["http.status"],
        "overclaim.evidence.value": ["200"],
        "overclaim.call.operation": f"{number:016x}",
        "overclaim.call.effect": "read",
        "overclaim.run.id": f"run-{number}",
    }


def fetch(number: int) -> dict[str, Any]:
    """Attributes of an HTTP request."""
    return {
        "http.request.method": "GET",
        "url.full": f"https://api.example/v1/items/{number}",
        "server.address": "api.example",
        "server.port": 443,
        "http.response.status_code": 200,
        "network.protocol.version": "1.1",
    }


def finished_spans(count: int) -> list[ReadableSpan]:
    """So many spans of agent runs."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "bench", "service.version": "1"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for number in range(count // 13 + 1):
        agent_run(provider.get_tracer("bench", "1"), number)
    return list(exporter.get_finished_spans())[:count]


def requests(spans: Sequence[ReadableSpan], *, as_json: bool) -> Iterator[bytes]:
    """The request bodies that carry these spans."""
    for start in range(0, len(spans), BATCH):
        message = encode_spans(spans[start : start + BATCH])
        yield otlp_json(message) if as_json else message.SerializeToString()


def otlp_json(message: Any) -> bytes:
    """A request in OTLP/JSON: protobuf's JSON with hex ids."""
    data = MessageToDict(message, use_integers_for_enums=True)
    import base64

    for resource in data["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in {"traceId", "spanId", "parentSpanId"} & span.keys():
                    span[key] = base64.b64decode(span[key]).hex()
    return json.dumps(data).encode()


def start_server(store: Path) -> tuple[subprocess.Popen[str], str]:
    """`overclaim serve` without detectors, and its HTTP address."""
    command = [sys.executable, "-m", "overclaim.cli", "serve", "--no-detect", "--store", str(store)]
    command += ["--http-port", "0", "--grpc-port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, process.stdout.readline().split()[1].removeprefix("http=")


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int, name: str) -> float:
    """VmRSS or VmHWM of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split(f"{name}:")[1].split()[0]) / 1024


def load(url: str, bodies: Sequence[bytes], senders: int, media_type: str) -> float:
    """Send all bodies; returns the seconds it took."""
    with httpx.Client(trust_env=False, timeout=60, headers={"content-type": media_type}) as client:

        def send(body: bytes) -> None:
            client.post(f"{url}/v1/traces", content=body).raise_for_status()

        start = time.perf_counter()
        with ThreadPoolExecutor(senders) as pool:
            list(pool.map(send, bodies))
        return time.perf_counter() - start


def measure(bodies: Sequence[bytes], senders: int, media_type: str) -> dict[str, float]:
    """Figures of one run."""
    with tempfile.TemporaryDirectory() as folder:
        process, url = start_server(Path(folder) / "store")
        try:
            idle = memory_mib(process.pid, "VmRSS")
            before = cpu_seconds(process.pid)
            seconds = load(url, bodies, senders, media_type)
            cpu = cpu_seconds(process.pid) - before
            spans = httpx.get(f"{url}/healthz", trust_env=False).json()["spans"]
            peak = memory_mib(process.pid, "VmHWM")
        finally:
            process.terminate()
            process.wait(10)
    return {"cpu": cpu, "seconds": seconds, "idle_mib": idle, "peak_mib": peak, **spans}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=40_960)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--json", action="store_true", help="OTLP/JSON instead of protobuf")
    args = parser.parse_args()
    bodies = list(requests(finished_spans(args.spans), as_json=args.json))
    found = measure(bodies, args.senders, "application/json" if args.json else "application/x-protobuf")
    print(f"{args.spans} spans in {len(bodies)} requests of {sum(map(len, bodies)) / len(bodies) / 1024:.0f} KiB")
    print(f"CPU seconds per 100k spans: {found['cpu'] / args.spans * 100_000:.2f}")
    print(f"spans a second:             {args.spans / found['seconds']:.0f}")
    print(f"memory idle / peak:         {found['idle_mib']:.0f} / {found['peak_mib']:.0f} MiB")
    print(f"sent {args.spans}, stored {found['stored']:.0f}, refused {found['refused']:.0f}")


if __name__ == "__main__":
    main()
