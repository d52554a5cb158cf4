"""The cases of rules as labelled runs with their spans, as a store takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from overclaim.outcome.model import Run
from overclaim.reading.spans import Span
from overclaim_detectors.rule import Case, Stretch

START = 1_767_268_800_000_000_000  # 2026-01-01 12:00:00 UTC
STEP = 1_000_000_000  # from one call to the next, in nanoseconds
CaseRun = tuple[Run, list[Span]]


def trace_of(number: int) -> str:
    """The trace of the case with this number."""
    return f"{number + 1:032x}"


def case_runs(case: Case, number: int) -> list[CaseRun]:
    """The run of a case and those within it, all in one trace, and those before it; each with its spans."""
    return [*_earlier(case, number), *_made(case, number, place=0, start=START, step=STEP)]


def _earlier(case: Case, number: int) -> Iterator[CaseRun]:
    """The runs of the same agent, each in a trace of its own, a minute after the other."""
    before = [one for times, one in case.earlier for _ in range(times)]
    for place, one in enumerate(before, 1):
        start = START - (len(before) + 1 - place) * 60 * STEP
        for run, spans in _made(one, number, place=256 + place, start=start, step=STEP):
            own = f"{number + 1:08x}{place:024x}"
            agent = f"case {trace_of(number)}"
            yield replace(run, trace_id=own, agent=agent), [replace(span, trace_id=own) for span in spans]


def _made(case: Case, number: int, place: int, start: int, step: int) -> Iterator[CaseRun]:
    """The run of a case at a time, and those within it, whose calls take a part of a call of it."""
    ids = tuple(f"{number + 1:06x}{place:04x}{index:06x}" for index in range(len(case.calls) + 1))
    run = case.run(trace_of(number), ids)
    yield run, _spans(case, run, start, step)
    for inner, (during, other) in enumerate(case.within, 1):
        begin = start + during * step + inner * step // 100
        yield from _made(other, number, place * 16 + inner, begin, step // 10 // (len(other.calls) + 1))


def _spans(case: Case, run: Run, start: int, step: int) -> list[Span]:
    """A span for the run, and one for each of its calls."""
    end = start + max(1, len(run.calls)) * step
    spans = [Span(run.trace_id, run.span_id, service="shop", start_ns=start, end_ns=end)]
    for one in run.calls:
        status = "Error" if one.index in case.red else "Ok" if one.index in case.ok else "Unset"
        begin = start + one.index * step
        made = Span(run.trace_id, one.span_id, run.span_id, service="shop", status=status)
        spans.append(replace(made, start_ns=begin, end_ns=begin + step * 9 // 10))
    return spans


def fleet_runs(case: Case, number: int, now: int) -> Iterator[CaseRun]:
    """All that runs in a case over time, up to now (Unix seconds), in an environment of its own."""
    made = 0
    for stretch in case.over_time:
        for at in _moments(stretch):
            made += 1
            yield _at(stretch, f"case {number}", f"{number + 1:016x}{made:016x}", now + round(at * 3600))


def _moments(stretch: Stretch) -> list[float]:
    steps = round((stretch.last - stretch.first) / stretch.every)
    return [stretch.first + step * stretch.every for step in range(steps + 1)]


def _at(stretch: Stretch, environment: str, trace_id: str, at: int) -> CaseRun:
    """One run of a stretch, which takes a second for each call."""
    ids = tuple(f"{trace_id[-12:]}{index:04x}" for index in range(len(stretch.run.calls) + 1))
    run = replace(stretch.run.run(trace_id, ids), agent=stretch.agent)
    head, *calls = _spans(stretch.run, run, at * 1_000_000_000, STEP)
    frame = {"deployment.environment.name": environment}
    given: dict[str, object] = {"gen_ai.tool.call.arguments": stretch.arguments} if stretch.arguments else {}
    head = replace(head, service=stretch.service, resource=frame)
    return run, [head, *(replace(one, service=stretch.service, attributes=given) for one in calls)]
