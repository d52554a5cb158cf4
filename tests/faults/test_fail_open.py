"""Whatever breaks inside our hooks, the host program runs as if we were not there."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from time import process_time
from typing import Any

import pytest
from opentelemetry.sdk.trace import Span, Tracer
from opentelemetry.trace import INVALID_SPAN, SpanKind, get_current_span

import overclaim
from overclaim import _mistakes
from overclaim._fail_open import faults

# Every function of ours that runs inside somebody else's call.
HOOKS = [
    ("_calls", name)
    for name in (
        "current_record", "current_run", "get_current", "set_span_in_context", "carried", "Record", "operation",
        "shape_hash", "observe", "exception_evidence", "claimed_outcome", "call_labels", "failure_type", "type_name",
        "keep", "settled", "record_error",
    )
] + [
    ("_calls", "run_of_thread"),
    ("integrations.threads", "get_current"),
    ("integrations.threads", "remember_run"),
    ("_mistakes", "_place"),
    ("_tool", "open_call"),
    ("_wrapping", "attach"),
    ("_labels", "operation_label"),
    ("_hashing", "keyed_hash"),
    ("_labels", "scrub"),
    ("_processor", "watch"),
    ("_processor", "Watched"),
    ("_processor", "current_record"),
    ("_processor", "role"),
    ("_processor", "finish_tool"),
    ("_processor", "finish_agent"),
    ("_processor", "open_agent"),
    ("_processor", "from_span"),
    ("_foreign", "operation"),
    ("_foreign", "observe"),
    ("_foreign", "conclude"),
    ("_claims", "read"),
    ("_claims", "bind"),
    ("_claims", "send"),
    ("_claims", "explicit"),
    ("_run", "begin_run"),
    ("_run_scope", "carried"),
    ("_run_scope", "conclude"),
    ("_run_scope", "run_labels"),
    ("_run_scope", "roll_up"),
    ("_run_scope", "current_record"),
    ("_run_scope", "counting"),
    ("_run_scope", "on_end"),
    ("_statements", "declare"),
    ("_statements", "live_run"),
    ("_guard", "live_run"),
    ("_verdicts", "claimed_by"),
]  # fmt: skip
POST = {"http.request.method": "POST", "url.full": "http://x/", "http.response.status_code": 400}
AGENT = {"gen_ai.operation.name": "invoke_agent"}
TOOL = {"gen_ai.operation.name": "execute_tool"}
ANSWER = '[{"role": "assistant", "parts": [{"type": "text", "content": "I created the user."}]}]'
SPAN_METHODS = ["set_attributes", "set_attribute", "set_status", "add_event", "is_recording", "get_span_context"]


class Injected(Exception):
    """The fault."""


@pytest.fixture(autouse=True)
def nothing_said_yet() -> Iterator[None]:
    """Warnings about a place come again in each test."""
    _mistakes._said.clear()
    yield
    _mistakes._said.clear()


def boom(*_: Any, **__: Any) -> Any:
    """Fail."""
    raise Injected("injected")


def elsewhere(work: Any) -> list[Any]:
    """What a tool gives back in an executor and in a thread."""
    with ThreadPoolExecutor(1) as pool:
        seen = [pool.submit(work, 4).result()]
    thread = threading.Thread(target=lambda: seen.append(work(5)))
    thread.start()
    thread.join()
    return seen


def host_program(tracer: Any) -> list[Any]:
    """A program that uses everything of ours; gives back all that it noticed."""
    seen: list[Any] = []

    @overclaim.tool
    def work(value: int) -> dict[str, int]:
        overclaim.observe("success", value="fine")
        with tracer.start_as_current_span("POST", kind=SpanKind.CLIENT) as span:
            span.set_attributes(POST)
        return {"value": value}

    @overclaim.tool
    def fail() -> None:
        raise LookupError("theirs")

    @overclaim.tool
    async def later(value: int) -> int:
        await asyncio.sleep(0)
        return value

    @overclaim.tool
    def several() -> Any:
        got = yield 1
        yield got
        return "end"

    @overclaim.run("agent")
    def agent() -> str:
        seen.extend([work(1), elsewhere(work)])
        try:
            fail()
        except LookupError as error:
            seen.append((str(error), error.__context__))
        seen.append(asyncio.run(later(2)))
        generator = several()
        seen.append((next(generator), generator.send("x")))
        try:
            next(generator)
        except StopIteration as stop:
            seen.append(stop.value)
        overclaim.observe("sucess")
        overclaim.claim("I created the user.")
        seen.append(overclaim.check("I looked at it.").verdict.accuses)
        return "I created the user."

    seen.append(work(0))
    seen.append(agent())
    with overclaim.run("block") as run:
        run.answer("All done.")
        seen.append("block")
    with tracer.start_as_current_span("helper", attributes=AGENT) as span:
        with tracer.start_as_current_span("execute_tool t", attributes=TOOL) as tool:
            tool.set_attribute("gen_ai.tool.call.result", '{"error": "x"}')
            seen.append(work(3))
        span.set_attribute("gen_ai.output.messages", ANSWER)
    seen.append(get_current_span() is INVALID_SPAN)
    return seen


EXPECTED = [
    {"value": 0}, {"value": 1}, [{"value": 4}, {"value": 5}], ("theirs", None), 2, (1, "x"), "end", False,
    "I created the user.", "block", {"value": 3}, True,
]  # fmt: skip


def test_program_without_faults(telemetry: Any) -> None:
    """The host program notices nothing of us, and nothing of ours fails."""
    faults.clear()
    assert host_program(telemetry.tracer) == EXPECTED
    assert not faults


@pytest.mark.parametrize(("module", "name"), HOOKS, ids=[f"{module}.{name}" for module, name in HOOKS])
def test_fault_in_a_hook(telemetry: Any, monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> None:
    """A fault in any function of ours leaves results, exceptions and the current span as they were."""
    faults.clear()
    monkeypatch.setattr(importlib.import_module(f"overclaim.{module}"), name, boom)
    assert host_program(telemetry.tracer) == EXPECTED
    assert faults, "the fault was never reached"


@pytest.mark.parametrize("method", SPAN_METHODS)
def test_fault_in_a_span_of_ours(telemetry: Any, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """A span whose methods fail does not reach the tool."""
    real = getattr(Span, method)

    def only_ours(span: Any, *args: Any, **kwargs: Any) -> Any:
        if span.instrumentation_scope.name == "overclaim":
            raise Injected
        return real(span, *args, **kwargs)

    monkeypatch.setattr(Span, method, only_ours)
    assert host_program(telemetry.tracer)[:-1] == EXPECTED[:-1]


def test_fault_in_the_tracer(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracer that starts no spans for us leaves the program alone."""
    real = Tracer.start_span

    def only_ours(tracer: Any, *args: Any, **kwargs: Any) -> Any:
        if tracer._instrumentation_scope.name == "overclaim":
            raise Injected
        return real(tracer, *args, **kwargs)

    monkeypatch.setattr(Tracer, "start_span", only_ours)
    assert host_program(telemetry.tracer) == EXPECTED


def test_fault_in_somebodys_processor_is_theirs(telemetry: Any) -> None:
    """A processor of the user's that fails on end does not take the tool's result with it."""
    from opentelemetry.sdk.trace import SpanProcessor

    class Broken(SpanProcessor):
        def on_end(self, span: Any) -> None:
            raise Injected

    telemetry.provider.add_span_processor(Broken())

    @overclaim.tool
    def work() -> int:
        return 1

    assert work() == 1


def test_interrupt_inside_a_hook_belongs_to_the_host(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C that arrives while we work is not swallowed."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("overclaim._calls.observe", interrupted)

    @overclaim.tool
    def work() -> int:
        return 1

    with pytest.raises(KeyboardInterrupt):
        work()


class Endless(dict[str, object]):
    """A mapping of two stored keys that never stops being iterated over."""

    def __iter__(self) -> Iterator[str]:
        """Yield keys for ever."""
        return iter(lambda: "key", None)

    def items(self) -> Any:
        """Yield pairs for ever."""
        return iter(lambda: ("key", 1), None)


class Liar:
    """An object that answers the question for its class with an error."""

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Raise."""
        raise ValueError("no class")


def test_a_mapping_without_end_is_looked_at_only_as_it_is_stored(telemetry: Any) -> None:
    """An endless mapping as argument and result costs a bounded look and comes back as it is."""
    value = Endless(a=1, b=2)
    started = process_time()
    assert overclaim.tool(lambda given: given)(value) is value
    assert process_time() - started < 2


def test_an_answer_that_lies_about_its_class_does_not_reach_the_host(telemetry: Any) -> None:
    """run.answer takes anything without raising, and so does a claim with endless targets."""
    with overclaim.run("agent") as run:
        run.answer(Liar())  # pyright: ignore[reportArgumentType]
        overclaim.claim("I sent it.", targets=repeat("x"))
    assert telemetry.one("invoke_agent agent").end_time
