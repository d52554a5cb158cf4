"""What a watched tool call costs, as a ratio to a bare OpenTelemetry span with 10 attributes.

    python -m tests.bench.overhead [--rounds 15] [--calls 400]

All cases run interleaved in one process, and no two calls have the same arguments or the same result: they come from a
pool of prepared ones, made with new values for each round, in four sizes that take turns. The minimum over the rounds
counts, in CPU time of this thread; beside it stands the CPU time of the whole process, which also holds what other
threads do later, such as exporting.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable, Sequence
from itertools import count
from time import process_time, thread_time
from typing import Any, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import overclaim

ATTRIBUTES = {f"bench.attribute.{number}": value for number, value in enumerate(("a", 1, True, 2.5, "text") * 2)}
FOREIGN = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user", "gen_ai.tool.call.id": "c1"}
BARE = "bare span, 10 attributes"


class Given(NamedTuple):
    """One call: its arguments, its result, and both as another instrumentor's attributes."""

    email: str
    plan: str
    result: dict[str, Any]
    attributes: dict[str, str]


Work = Callable[[Given], Any]


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


def create_user(email: str, plan: str, result: dict[str, Any]) -> dict[str, Any]:
    """Create a user."""
    return result


def result_of(number: int) -> dict[str, Any]:
    """A result with values of its own: a few fields, or up to 16 items."""
    places = range(number % 4 * 5)
    items = [{"sku": f"A-{number}-{n}", "price": number + n * 10, "name": f"thing {number} {n}"} for n in places]
    user = {"id": f"u-{number}", "email": f"ann{number}@example.com", "created_at": f"2026-03-{number % 28 + 1:02}"}
    return {**user, "items": items, "next": None} if items else user


def given(number: int) -> Given:
    """The call of this number, which is like no other."""
    email, plan, result = f"ann{number}@example.com", ("free", "team", "pro")[number % 3], result_of(number)
    arguments = json.dumps({"email": email, "plan": plan})
    attributes = {"gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": json.dumps(result)}
    return Given(email, plan, result, attributes)


def cases() -> dict[str, Work]:
    """One call each, by name."""
    bare, watched = provider().get_tracer("bench"), provider()
    overclaim.instrument(tracer_provider=watched, http_clients=False)
    foreign = watched.get_tracer("bench")
    # The result is handed in beside the arguments, or it would be one of them.
    results: list[dict[str, Any]] = []

    @overclaim.tool(name="create_user")
    def tool(email: str, plan: str) -> dict[str, Any]:
        """Create a user."""
        return create_user(email, plan, results.pop())

    def bare_span(one: Given) -> None:
        with bare.start_as_current_span("create_user", attributes=ATTRIBUTES):
            create_user(*one[:3])

    def own(one: Given) -> None:
        results.append(one.result)
        tool(one.email, one.plan)

    def span_of(tracer: Any) -> Work:
        def call(one: Given) -> None:
            with tracer.start_as_current_span("execute_tool create_user", attributes=FOREIGN) as span:
                span.set_attributes(one.attributes)

        return call

    return {
        "bare function": lambda one: create_user(*one[:3]),
        BARE: bare_span,
        "own tool span": own,
        "foreign tool span, not watched": span_of(bare),
        "foreign tool span, watched": span_of(foreign),
        "other foreign span, watched": lambda one: foreign.start_span("x").end(),
        "other foreign span, not watched": lambda one: bare.start_span("x").end(),
    }


def in_runs(made: dict[str, Work]) -> dict[str, Callable[[Sequence[Given]], None]]:
    """Each case for many calls; those of tools also within runs of 20 calls, the run's own span and end included."""

    def each(work: Work) -> Callable[[Sequence[Given]], None]:
        def all_of_them(them: Sequence[Given]) -> None:
            for one in them:
                work(one)

        return all_of_them

    def runs(work: Work) -> Callable[[Sequence[Given]], None]:
        def all_of_them(them: Sequence[Given]) -> None:
            for start in range(0, len(them), 20):
                with overclaim.run("bench"):
                    for one in them[start : start + 20]:
                        work(one)

        return all_of_them

    plain = {name: each(work) for name, work in made.items()}
    tools = ("own tool span", "foreign tool span, watched")
    return plain | {f"{name}, in a run": runs(made[name]) for name in tools}


class Cost(NamedTuple):
    """Seconds of a call, of this thread and of the whole process."""

    thread: float
    process: float


def measure(rounds: int, calls: int) -> dict[str, Cost]:
    """The cost of each case, the minimum over interleaved rounds."""
    made = in_runs(cases())
    best = dict.fromkeys(made, Cost(float("inf"), float("inf")))
    numbers = count()
    for _ in range(rounds):
        for name, work in made.items():
            them = [given(next(numbers)) for _ in range(calls)]
            gc.collect()
            before = thread_time(), process_time()
            work(them)
            spent = (thread_time() - before[0]) / calls, (process_time() - before[1]) / calls
            best[name] = Cost(min(best[name].thread, spent[0]), min(best[name].process, spent[1]))
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=400)
    args = parser.parse_args()
    best = measure(args.rounds, args.calls)
    bare = best[BARE]
    for name, cost in best.items():
        in_process = f"process {cost.process / bare.process:6.2f} x"
        print(f"{name:36} {cost.thread * 1e6:8.2f} us  {cost.thread / bare.thread:6.2f} x bare span  {in_process}")
    added = best["foreign tool span, watched"].thread - best["foreign tool span, not watched"].thread
    other = best["other foreign span, watched"].thread - best["other foreign span, not watched"].thread
    print(f"own tool span / bare span: {best['own tool span'].thread / bare.thread:.2f} (goal 1.1)")
    print(f"enriching a foreign tool span adds {added / bare.thread:.2f} of a bare span (goal 0.35)")
    print(f"any other foreign span: adds {other / bare.thread:.2f} of a bare span")


if __name__ == "__main__":
    main()
