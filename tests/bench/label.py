"""How fast the labelling job understands spans, and what it spends its time on.

    python -m tests.bench.label [--spans 6500] [--rounds 5]

Runs of agents with 13 spans each: a call of the model, a tool call with arguments and result, and an HTTP request
below it, four times over; no two calls have the same content. They are labelled in memory, from the rows that the store
gives to the rows that it gets, so what ClickHouse does is not in the figures. "silent": the agent says nothing at its
end. "answered": it claims something, which is then compared with its calls. "labelled": our own SDK made the spans.

Spans and calls a second are of CPU time of this thread, the best of the rounds; the shares are by cProfile, which makes
short functions look dearer than they are.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
from collections.abc import Iterator, Mapping, Sequence
from time import thread_time
from typing import Any

from tests.bench.ingest.agent_runs import SPANS_PER_RUN, finished_spans
from tests.bench.overhead import given
from tests.bench.tables import markdown

from overclaim.outcome.normals import speak_of
from overclaim.reading.log_records import with_logs
from overclaim.reading.traces import runs
from overclaim_detectors import rows
from overclaim_detectors.rows import Rows

KINDS = ("silent", "answered", "labelled")
# What is printed, and the function that does it: part of its file's path, and its name.
STEPS = {
    "rows to spans": ("overclaim_detectors/rows.py", "span"),
    "which spans are one call": ("reading/span_calls.py", "_one_per_call"),
    "operation": ("outcome/operations.py", "operation"),
    "outcome of the result": ("results/observing.py", "observe"),
    "spans below the call": ("reading/span_evidence.py", "evidence_below"),
    "claims of the answer": ("claims/reading.py", "read"),
    "claims beside calls": ("binding/binder.py", "bind"),
    "of that, what calls mention": ("outcome/mentions.py", "mentions"),
    "rows of runs, calls and claims": ("overclaim_detectors/rows.py", "trace_rows"),
}
ANSWERS = (
    "I created the account ann{n}@example.com with the plan pro.",
    "All four accounts are set up now, the first one is u-{n}.",
    "I could not create the last account because the service answered 400.",
    "The account u-{n} was created, and I updated the plan of ann{n}@example.com to team.",
)
Trace = list[dict[str, Any]]


def main() -> None:
    """Print speed and shares of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=6_500, help="how many of each kind (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    found = [(kind, *measure(kind, asked.spans, asked.rounds)) for kind in KINDS]
    print(markdown(("", "spans a second", "calls a second"), ((kind, *speed) for kind, *speed in found)))
    profiles = [shares(traces(kind, asked.spans, asked.rounds)) for kind in KINDS]
    print("\n" + markdown(("share of the time", *KINDS), ((step, *(one[step] for one in profiles)) for step in STEPS)))


def measure(kind: str, spans: int, rounds: int) -> tuple[str, str]:
    """Spans and calls a second."""
    best, calls = float("inf"), 0
    for number in range(rounds):
        them = traces(kind, spans, number)
        gc.collect()
        started = thread_time()
        calls = len(label(them).calls)
        best = min(best, thread_time() - started)
    return f"{spans // SPANS_PER_RUN * SPANS_PER_RUN / best:,.0f}", f"{calls / best:,.0f}"


def shares(them: Sequence[Trace]) -> dict[str, str]:
    """The share of each step."""
    profile = cProfile.Profile()
    profile.runcall(label, them)
    stats: Any = pstats.Stats(profile)
    took: dict[tuple[str, str], float] = {(file, name): cost[3] for (file, _, name), cost in stats.stats.items()}
    whole = _of(took, __file__, label.__name__)
    return {step: f"{_of(took, *where) / whole:.0%}" for step, where in STEPS.items()}


def _of(took: Mapping[tuple[str, str], float], path: str, function: str) -> float:
    return sum(seconds for (file, name), seconds in took.items() if name == function and file.endswith(path))


def label(them: Sequence[Trace]) -> Rows:
    """What the labelling job does between reading and writing."""
    found = Rows()
    for trace in them:
        spans = [rows.span(row) for row in trace]
        its = runs(with_logs(spans, ()))
        any(map(speak_of, its))
        found.add(rows.trace_rows(its, spans, 1))
    return found


def traces(kind: str, spans: int, part: int) -> list[Trace]:
    """Rows of spans by trace. part: no two parts have the same content."""
    if kind == "labelled":
        return own(spans)
    count = spans // SPANS_PER_RUN
    return [list(foreign(part * count + number, answered=kind == "answered")) for number in range(count)]


def own(spans: int) -> list[Trace]:
    """What our SDK makes."""
    found: dict[int, Trace] = {}
    for span in finished_spans(spans // SPANS_PER_RUN * SPANS_PER_RUN):
        context: Any = span.context
        parent = span.parent.span_id if span.parent else 0
        made = row(context.trace_id, context.span_id, parent, span.name, dict(span.attributes or {}))
        found.setdefault(context.trace_id, []).append(made)
    return list(found.values())


def foreign(number: int, *, answered: bool) -> Iterator[dict[str, Any]]:
    """One run, as instrumentors of agents, models, tools and HTTP make it."""
    first = number * 4
    said = ANSWERS[number % len(ANSWERS)].format(n=first)
    talk = {"gen_ai.input.messages": message("user", f"Please create ann{first}@example.com and three more accounts.")}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"} | talk
    answer = {"gen_ai.output.messages": message("assistant", said)}
    yield row(number + 1, 1, 0, "invoke_agent clerk", agent | answer if answered else agent)
    for turn in range(4):
        at = turn * 3 + 2
        model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 400 + turn}
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user"}
        content = {"gen_ai.tool.call.id": f"c{turn}", **given(first + turn).attributes}
        request = {"http.request.method": "POST", "url.full": "https://a.example", "http.response.status_code": 201}
        yield row(number + 1, at, 1, "chat m", model)
        yield row(number + 1, at + 1, 1, "execute_tool create_user", tool | content)
        yield row(number + 1, at + 2, at + 1, "POST", request)


def message(role: str, text: str) -> str:
    """A list of one message, as span attributes have it."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def row(trace: int, span: int, parent: int, name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """A row of label/spans.sql."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
    return {
        "TraceId": f"{trace:032x}", "SpanId": f"{span:016x}", "ParentSpanId": f"{parent:016x}" if parent else "",
        "SpanName": name, "SpanKind": "Internal", "ServiceName": "bench", "ScopeName": "pydantic-ai",
        "Start": span * 1_000, "Duration": 500, "StatusCode": "Unset", "StatusMessage": "",
        "SpanAttributes": texts, "ResourceAttributes": {"service.version": "1"},
        "EventTimes": [], "EventNames": [], "EventAttributes": [],
        "LinkTraceIds": [], "LinkSpanIds": [], "LinkAttributes": [], "Dropped": 0,
    }  # fmt: skip


if __name__ == "__main__":
    main()
