"""What a watched tool call costs, as a ratio to a bare OpenTelemetry span with 10 attributes.

    python -m tests.bench.overhead [--rounds 15] [--calls 400]

All cases run interleaved in one process; the minimum over the rounds counts, in CPU time of this thread.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Sequence
from time import thread_time
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import overclaim

ATTRIBUTES = {f"bench.attribute.{number}": value for number, value in enumerate(("a", 1, True, 2.5, "text") * 2)}
RESULT = {"id": "u-17", "items": [{"sku": f"A-{n}", "price": n * 10, "name": "thing"} for n in range(16)], "next": None}
FOREIGN = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user", "gen_ai.tool.call.id": "c1"}
FOREIGN_RESULT = {
    "gen_ai.tool.call.arguments": '{"email": "ann@example.com"}',
    "gen_ai.tool.call.result": '{"id": "u-17"}',
}


class Discard(SpanExporter):
    """Exports nothing, so that only the path of the call is measured."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Drop them."""
        return SpanExportResult.SUCCESS


def provider() -> TracerProvider:
    """A provider like that of a service: batches, no network."""
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(Discard()))
    return made


def create_user(email: str, plan: str = "free", **_: Any) -> dict[str, Any]:
    """Create a user."""
    return RESULT


def cases() -> dict[str, Callable[[], Any]]:
    """One call each, by name."""
    bare, watched = provider().get_tracer("bench"), provider()
    overclaim.instrument(tracer_provider=watched, http_clients=False)
    foreign = watched.get_tracer("bench")
    tool = overclaim.tool(create_user)

    def bare_span() -> None:
        with bare.start_as_current_span("create_user", attributes=ATTRIBUTES):
            create_user("ann@example.com")

    def span_of(tracer: Any) -> Callable[[], None]:
        def call() -> None:
            with tracer.start_as_current_span("execute_tool create_user", attributes=FOREIGN) as span:
                span.set_attributes(FOREIGN_RESULT)

        return call

    return {
        "bare function": lambda: create_user("ann@example.com"),
        "bare span, 10 attributes": bare_span,
        "own tool span": lambda: tool("ann@example.com"),
        "foreign tool span, not watched": span_of(bare),
        "foreign tool span, watched": span_of(foreign),
        "other foreign span, watched": lambda: foreign.start_span("x").end(),
        "other foreign span, not watched": lambda: bare.start_span("x").end(),
    }


def measure(rounds: int, calls: int) -> dict[str, float]:
    """Seconds per call of each case, the minimum over interleaved rounds."""
    made = cases()
    best = dict.fromkeys(made, float("inf"))
    for _ in range(rounds):
        for name, call in made.items():
            gc.collect()
            started = thread_time()
            for _ in range(calls):
                call()
            best[name] = min(best[name], (thread_time() - started) / calls)
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=400)
    args = parser.parse_args()
    best = measure(args.rounds, args.calls)
    bare = best["bare span, 10 attributes"]
    for name, seconds in best.items():
        print(f"{name:34} {seconds * 1e6:8.2f} us  {seconds / bare:6.2f} x bare span")
    added = best["foreign tool span, watched"] - best["foreign tool span, not watched"]
    print(f"own tool span / bare span: {best['own tool span'] / bare:.2f} (goal 1.1)")
    print(f"enriching a foreign tool span adds {added / bare:.2f} of a bare span (goal 0.35)")


if __name__ == "__main__":
    main()
