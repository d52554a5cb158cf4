"""However long a program works, what we keep stays small; and nothing of ours waits for anything."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import signal
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import context as otel
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import overclaim
from overclaim import _runs
from overclaim._fail_open import faults
from overclaim._hooks import Open, tool_call
from overclaim._record import Record
from overclaim._runs import RunState

KIB = 1024


@pytest.fixture(autouse=True)
def watched() -> Iterator[TracerProvider]:
    """A provider that lets spans go at once."""
    provider = TracerProvider(shutdown_on_exit=False)
    overclaim.instrument(tracer_provider=provider, http_clients=False)
    yield provider
    overclaim.uninstrument()
    provider.shutdown()


@overclaim.tool
def create_order(number: int) -> dict[str, Any]:
    """Create an order."""
    return {"id": number, "status": "created"}


@overclaim.tool
def rows(count: int) -> Iterator[int]:
    """Yield numbers."""
    yield from range(count)


def alive(kind: type) -> int:
    """How many objects of a kind there are."""
    gc.collect()
    return sum(isinstance(one, kind) for one in gc.get_objects())


def growth(work: Callable[[], None]) -> int:
    """By how many bytes the second round of some work leaves memory larger than the first one did."""
    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_many_runs_leave_nothing() -> None:
    """A service that runs agents all day does not grow."""

    def work() -> None:
        for number in range(300):
            with overclaim.run("agent", id=f"run {number}") as run:
                create_order(number)
                run.answer(f"I created order {number}.")

    assert growth(work) < 256 * KIB
    assert alive(RunState) <= 2


def test_a_run_of_very_many_calls_is_bounded() -> None:
    """Beyond the first thousands of calls a run keeps nothing more of them, and says that it is incomplete."""
    with overclaim.run("agent") as run:
        for number in range(2500):
            create_order(number)
        state = run._scope.state if run._scope is not None else None
        assert state is not None
        assert len(state.calls) == len(state.contexts) == _runs.MAX_CALLS
        assert not state.complete
        assert not overclaim.check("I deleted the account.").verdict.accuses


def test_spans_and_generators_that_never_end_are_let_go(watched: TracerProvider) -> None:
    """What the program drops, we drop: spans that nobody ends, generators and coroutines that nobody finishes."""
    tracer = watched.get_tracer("somebody.else")

    @overclaim.tool
    async def later() -> None:
        await asyncio.sleep(0)

    def work() -> None:
        for number in range(300):
            tracer.start_span("execute_tool x", attributes={"gen_ai.operation.name": "execute_tool"})
            next(rows(number + 1))
            later().close()
        gc.collect()

    assert growth(work) < 256 * KIB
    assert alive(Record) < 10


def test_calls_whose_end_is_never_told_are_given_up() -> None:
    """A framework that tells only of beginnings fills a bounded list."""
    calls = Open(current=False)
    for number in range(5000):
        calls.begin(number, tool_call("create_order"))
    assert alive(Record) <= 4096 + 10
    calls.clear()
    assert alive(Record) < 10


def steps(watched: TracerProvider) -> dict[str, Callable[[Callable[[], None]], None]]:
    """Jobs which start the next one from within: by a call, by spans of others, by a run."""
    tracer = watched.get_tracer("somebody.else")

    def by_call(then: Callable[[], None]) -> None:
        overclaim.tool(name="job")(then)()

    def by_span(then: Callable[[], None]) -> None:
        with tracer.start_as_current_span("job"):
            then()

    def by_agent(then: Callable[[], None]) -> None:
        with tracer.start_as_current_span("job", attributes={"gen_ai.operation.name": "invoke_agent"}):
            then()

    def by_run(then: Callable[[], None]) -> None:
        with overclaim.run("job"):
            then()

    return {"call": by_call, "span": by_span, "agent": by_agent, "run": by_run}


@pytest.mark.parametrize("kind", ["call", "span", "agent", "run", "all"])
def test_jobs_that_start_the_next_one_do_not_pile_up(watched: TracerProvider, kind: str) -> None:
    """As `loop.call_later` or a task does: each inherits the context of the one before, which has ended by then."""
    faults.clear()
    made = steps(watched)
    step = list(made.values()) if kind == "all" else [made[kind]]
    waiting: list[contextvars.Context] = []
    contextvars.Context().run(step[0], lambda: waiting.append(contextvars.copy_context()))
    for number in range(1500):
        next_one = waiting.pop()
        next_one.run(step[number % len(step)], lambda: waiting.append(contextvars.copy_context()))
    assert alive(Record) < 20
    assert alive(RunState) < 10
    assert not faults


def test_a_run_that_an_ended_one_left_running_is_a_run_of_its_own() -> None:
    """Nobody waits for it any more, so its lie is its own."""
    kept: list[contextvars.Context] = []
    with overclaim.run("first") as first:
        kept.append(contextvars.copy_context())
    seen: list[Any] = []

    def follow_up() -> None:
        with overclaim.run("second") as run:
            seen.append(run._scope.state if run._scope is not None else None)

    kept[0].run(follow_up)
    assert seen[0].outer is None
    assert seen[0].marks["overclaim.run.id"] != first.id


def test_what_a_garbage_collection_ends_in_the_middle_of_ours_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dropped generator is closed wherever Python happens to collect it, such as while a call is being numbered."""
    real = _runs.Call
    left = [rows(3) for _ in range(3)]

    def collected(**parts: Any) -> Any:
        if left:
            left.pop().close()
        return real(**parts)

    def work() -> None:
        with overclaim.run("agent"):
            for one in left:
                next(one)
            create_order(1)
            create_order(2)
            found.extend(overclaim.check("I created the orders.").run.calls)

    found: list[Any] = []
    monkeypatch.setattr(_runs, "Call", collected)
    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it waits for itself"
    assert [call.index for call in found] == list(range(5))


def test_a_signal_handler_may_call_a_tool_while_a_call_ends() -> None:
    """Many times, at places that nobody chose, and each call has one number."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    handled = 0

    def handler(*_: Any) -> None:
        nonlocal handled
        create_order(0)
        handled += 1

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
    try:
        with overclaim.run("agent") as run:
            for number in range(400):
                create_order(number)
            signal.setitimer(signal.ITIMER_REAL, 0)
            calls = overclaim.check("Done.").run.calls
            state = run._scope.state if run._scope is not None else None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert state is not None
    assert len(calls) == len(state.contexts)
    assert 400 <= len(calls) <= 400 + handled  # within a call of the same tool it is the same call
    assert [call.index for call in calls] == list(range(len(calls)))
    assert state.open == 0


class Stuck(SpanExporter, MetricExporter):
    """A destination that does not answer until it is let go."""

    def __init__(self) -> None:
        MetricExporter.__init__(self)
        self.entered, self.let_go = threading.Event(), threading.Event()

    def export(self, *_: Any, **__: Any) -> Any:
        """Wait."""
        self.entered.set()
        self.let_go.wait(30)
        return SpanExportResult.SUCCESS

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Stop waiting."""
        self.let_go.set()

    def force_flush(self, *_: Any, **__: Any) -> bool:
        """Nothing is kept."""
        return True


class StuckMetrics(Stuck):
    """The same for metrics."""

    def export(self, *_: Any, **__: Any) -> Any:
        """Wait."""
        super().export()
        return MetricExportResult.SUCCESS


def test_exporters_that_hang_delay_no_call() -> None:
    """Spans and metrics wait in bounded queues; calls, runs and questions go on meanwhile. What is lost is theirs."""
    spans, metrics = Stuck(), StuckMetrics()
    provider = TracerProvider(shutdown_on_exit=False)
    batch = BatchSpanProcessor(spans, max_queue_size=64, schedule_delay_millis=10, max_export_batch_size=8)
    provider.add_span_processor(batch)
    reader = PeriodicExportingMetricReader(metrics, export_interval_millis=20)
    meters = MeterProvider([reader], shutdown_on_exit=False)
    overclaim.uninstrument()
    overclaim.instrument(tracer_provider=provider, meter_provider=meters, http_clients=False)
    logging.disable(logging.WARNING)
    try:
        create_order(0)
        assert spans.entered.wait(10)
        assert metrics.entered.wait(10)
        slowest = 0.0
        for number in range(200):
            started = time.perf_counter()
            with overclaim.run("agent") as run:
                create_order(number)
                run.answer("I created it.")
            slowest = max(slowest, time.perf_counter() - started)
        assert slowest < 2  # one that waited would take 30
    finally:
        logging.disable(logging.NOTSET)
        spans.let_go.set()
        metrics.let_go.set()
        meters.shutdown()
        provider.shutdown()


def test_exporters_that_raise_are_nobodys_business(caplog: pytest.LogCaptureFixture) -> None:
    """A call whose span cannot be sent gives its result."""

    class Broken(Stuck):
        def export(self, *_: Any, **__: Any) -> Any:
            raise OSError("no disk")

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Broken(), schedule_delay_millis=5))
    overclaim.uninstrument()
    overclaim.instrument(tracer_provider=provider, http_clients=False)
    assert create_order(1)["id"] == 1
    provider.shutdown()


HUGE: dict[str, Callable[[], Any]] = {
    "text": lambda: "a line of a log\n" * 2_000_000,
    "rows": lambda: [{"id": number, "name": "x", "tags": ["a", "b"]} for number in range(200_000)],
    "mapping": lambda: {f"key {number}": number for number in range(300_000)},
    "deep": lambda: _deep(20_000),
    "bytes": lambda: bytes(50_000_000),
    "set": lambda: set(range(500_000)),
}


def _deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("kind", HUGE)
def test_large_results_cost_a_bounded_look(kind: str) -> None:
    """The time of a call with a huge argument and result stays far below what reading it all would take."""
    value = HUGE[kind]()
    started = time.process_time()
    with overclaim.run("agent") as run:
        assert overclaim.tool(lambda given: given)(value) is value
        run.answer("I created the order.")
    assert time.process_time() - started < 1.5


def test_the_programs_own_context_variables_stay() -> None:
    """What a tool sets is set for its caller, as without us; what is current in OpenTelemetry is as it was."""
    mine = contextvars.ContextVar("mine", default="unset")

    @overclaim.tool
    def work() -> None:
        mine.set("by the tool")

    @overclaim.tool
    async def work_async() -> None:
        mine.set("by the coroutine")

    @overclaim.tool
    def stream() -> Iterator[int]:
        mine.set("by the generator")
        yield 1

    async def main() -> str:
        await work_async()
        return mine.get()

    def check() -> None:
        before = otel.get_current()
        work()
        assert mine.get() == "by the tool"
        assert asyncio.run(main()) == "by the coroutine"
        assert list(stream()) == [1]
        assert mine.get() == "by the generator"
        with overclaim.run("agent"):
            mine.set("in the run")
        assert mine.get() == "in the run"
        assert otel.get_current() == before

    contextvars.copy_context().run(check)
