"""Whatever breaks below an integration's hook, in the counters or in the guard, the host runs as without us."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

import overclaim
from overclaim import _provider
from overclaim._fail_open import faults
from overclaim._hooks import Open, Reply, agent_run, answered, tool_call
from overclaim.integrations.patching import Patches

HOOKS = [
    ("_hooks", "open_call"),
    ("_hooks", "open_run"),
    ("_hooks", "live_run"),
    ("_hooks", "_spec"),
    ("_hooks", "_by_name"),
    ("_calls", "asking"),
    ("_calls", "keep"),
    ("_calls", "shape_hash"),
    ("_calls", "observe"),
    ("_calls", "operation"),
    ("_calls", "call_labels"),
    ("_calls", "in_time"),
    ("_calls", "Inner"),
    ("_calls", "_Joined"),
    ("_verdicts", "verdict_labels"),
    ("_verdicts", "_seen"),
    ("_verdicts", "claimed_by"),
    ("_on_overclaim", "feedback"),
    ("_run_scope", "_Heard"),
    ("_run_scope", "set_value"),
    ("_record", "set_value"),
    ("_record", "set_span_in_context"),
    ("_record", "_still_of_use"),
    ("_record", "compact"),
    ("_record", "NonRecordingSpan"),
    ("_runs", "mentions"),
    ("_runs", "Call"),
    ("_runs", "_Seen"),
    ("_foreign", "call_labels"),
    ("_foreign", "Inner"),
]  # fmt: skip
FAILED = {"error": {"code": "invalid"}, "status": 400}
LIE = "I created the order."
TRUTH = "The order failed."


class Injected(Exception):
    """The fault."""


def boom(*_: Any, **__: Any) -> Any:
    """Fail."""
    raise Injected("injected")


def library() -> SimpleNamespace:
    """A framework: it calls tools in three ways, and runs an agent."""

    def call(tool: str, arguments: Any) -> Any:
        if tool == "broken":
            raise LookupError("theirs")
        return FAILED

    async def call_async(tool: str, arguments: Any) -> Any:
        await asyncio.sleep(0)
        return call(tool, arguments)

    def stream(tool: str, arguments: Any) -> Iterator[Any]:
        yield "part"
        yield "end"

    def run(framework: Any, text: str) -> str:
        return f"{text} {framework.call('create_order', {'n': 1})['status']}"

    return SimpleNamespace(call=call, call_async=call_async, stream=stream, run=run)


@pytest.fixture
def framework(telemetry: Any) -> Iterator[Any]:
    """The framework with hooks as integrations have them, and a program that reads the counters."""
    made = library()
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader], shutdown_on_exit=False)
    overclaim.instrument(tracer_provider=telemetry.provider, meter_provider=meters)
    patches = Patches("framework")

    def begin(args: Any, _: Any) -> Any:
        return tool_call(args[0], args[1], call_id="call-1", read=lambda result: Reply(result, is_error=False))

    for name in ("call", "call_async", "stream"):
        patches.around(made, name, begin)
    patches.around(made, "run", lambda args, _: agent_run("helper", answer=lambda result: str(result)))
    yield made
    patches.undo()
    meters.shutdown()


def host_program(framework: Any, tracer: Any) -> list[Any]:
    """A program on that framework; gives back all that it noticed."""
    seen: list[Any] = [framework.call("create_order", '{"n": 1}') is FAILED]
    try:
        framework.call("broken", "no json")
    except LookupError as error:
        seen.append((str(error), error.__context__))
    seen.append(asyncio.run(framework.call_async("create_order", {})) is FAILED)
    seen.append(list(framework.stream("read_order", None)))
    seen.append(framework.run(framework, "I did it:"))
    with tracer.start_as_current_span("execute_tool x", attributes={"gen_ai.operation.name": "execute_tool"}):
        seen.append(framework.call("x", {}) is FAILED)
    with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        seen.append(framework.run(framework, "Inside:"))
        answered(LIE)
    callbacks: Open = Open()
    callbacks.begin("a", tool_call("create_order", {"n": 2}))
    callbacks.returned("a", FAILED)
    callbacks.raised("never begun", LookupError())
    callbacks.begin("b", tool_call("create_order", {"n": 3}))
    callbacks.clear()
    return [*seen, *guarded_answers(framework)]


def guarded_answers(framework: Any) -> list[Any]:
    """What guarded agents say; the host must get an answer of its own agent, whichever one."""
    said: list[Any] = []

    @overclaim.run("again", on_overclaim="feedback")
    def again(feedback: str | None = None) -> str:
        framework.call("create_order", {"n": 1})
        return TRUTH if feedback else LIE

    @overclaim.run("raise", on_overclaim="raise")
    def raising() -> str:
        framework.call("create_order", {"n": 1})
        return LIE

    said.append(again() in (LIE, TRUTH))
    try:
        said.append(raising() == LIE)
    except overclaim.Overclaimed:
        said.append(True)
    with overclaim.run("block", on_overclaim="feedback") as run:
        framework.call("create_order", {"n": 1})
        said.append(isinstance(run.answer(LIE), str | None))
    return said


EXPECTED = [
    True, ("theirs", None), True, ["part", "end"], "I did it: 400", True, "Inside: 400", True, True, True,
]  # fmt: skip


def test_program_without_faults(framework: Any, telemetry: Any) -> None:
    """The host program notices nothing, and nothing of ours fails."""
    faults.clear()
    assert host_program(framework, telemetry.tracer) == EXPECTED
    assert not faults


@pytest.mark.parametrize(("module", "name"), HOOKS, ids=[f"{module}.{name}" for module, name in HOOKS])
def test_fault_below_a_hook(
    framework: Any, telemetry: Any, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    """Results, exceptions and answers are the host's own, whichever function of ours fails."""
    monkeypatch.setattr(importlib.import_module(f"overclaim.{module}"), name, boom)
    assert host_program(framework, telemetry.tracer) == EXPECTED


def test_a_hook_that_fails_itself(telemetry: Any) -> None:
    """An integration's own code that raises leaves the call alone, and the arguments reach the function once."""
    calls: list[int] = []
    made = SimpleNamespace(work=lambda value: calls.append(value) or value)
    patches = Patches("broken")
    patches.around(made, "work", boom)
    assert made.work(3) == 3
    assert calls == [3]
    patches.undo()


def test_what_finds_the_reply_or_the_answer_may_fail(telemetry: Any) -> None:
    """A `read` or an `answer` that raises ends call and run all the same, with the host's result."""
    made = SimpleNamespace(work=lambda: FAILED, run=lambda: LIE)
    patches = Patches("broken")
    patches.around(made, "work", lambda *_: tool_call("work", read=boom))
    patches.around(made, "run", lambda *_: agent_run("agent", answer=boom))
    assert made.work() is FAILED
    assert made.run() is LIE
    assert {span.name for span in telemetry.spans} == {"execute_tool work", "invoke_agent agent"}
    patches.undo()


def test_counters_that_fail_cost_no_label(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A meter of the program's that raises loses its numbers only: the labels of the call are on its span."""
    overclaim.instrument(tracer_provider=telemetry.provider, meter_provider=MeterProvider(shutdown_on_exit=False))
    monkeypatch.setattr("overclaim._runtime.RUNTIME.counters._calls", SimpleNamespace(add=boom))
    overclaim.tool(name="work")(lambda: FAILED)()
    assert telemetry.one("execute_tool work").attributes["overclaim.observed.outcome"] == "failure"


class NoMeters(MeterProvider):
    """A program's provider of meters that is broken."""

    def get_meter(self, *_: Any, **__: Any) -> Any:
        """Raise."""
        raise Injected


class NoProcessors(TracerProvider):
    """A provider that takes no more processors."""

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        """Raise, but not for those that are there from the start."""
        raise Injected


@pytest.mark.parametrize("broken", ["meters", "processors"])
def test_half_of_it_that_cannot_be_had_does_not_cost_the_other_half(broken: str) -> None:
    """Without counters, or without a look at the spans of others, the calls of tools are watched all the same."""
    made = (NoProcessors if broken == "processors" else TracerProvider)(shutdown_on_exit=False)
    overclaim.uninstrument()
    overclaim.instrument(tracer_provider=made, meter_provider=NoMeters() if broken == "meters" else None)
    try:
        with overclaim.run("agent"):
            overclaim.tool(name="create_order")(lambda: FAILED)()
            assert overclaim.check(LIE).verdict.accuses
    finally:
        overclaim.uninstrument()
        made.shutdown()


def test_a_processor_of_the_programs_that_fails_on_start(telemetry: Any) -> None:
    """It would take no tool down without us, for there would be no span; nor does it with us."""

    class Broken(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            raise Injected

    telemetry.provider.add_span_processor(Broken())
    assert overclaim.tool(lambda: FAILED)() is FAILED
    with overclaim.run("agent") as run:
        run.answer(LIE)


def test_a_fault_never_accuses(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a call could not be looked at, the run is incomplete: the claim about it is not called a lie."""
    monkeypatch.setattr("overclaim._calls.observe", boom)
    with overclaim.run("agent"):
        overclaim.tool(name="create_order")(lambda: {"id": 1})()
        assert not overclaim.check(LIE).verdict.accuses


def test_a_flush_that_fails_leaves_the_signal_to_the_program() -> None:
    """Under gevent nobody may wait where signals are handled: the program's own handler runs all the same."""
    heard: list[int] = []
    _provider._flushing(boom, lambda number, _: heard.append(number))(15, None)
    assert heard == [15]
