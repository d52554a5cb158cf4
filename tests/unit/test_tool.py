"""`@overclaim.tool`: what its span says, and that the tool stays what it was."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

import overclaim


@overclaim.tool
def create_user(email: str, plan: str = "free") -> dict[str, Any]:
    """Create a user."""
    return {"id": "u-17", "email": email, "plan": plan}


def test_span_follows_the_conventions(telemetry: Any) -> None:
    """A call becomes one internal span `execute_tool NAME` with the GenAI attributes and no status."""
    assert create_user("ann@example.com")["id"] == "u-17"
    span = telemetry.one("execute_tool create_user")
    assert span.kind is SpanKind.INTERNAL
    assert span.attributes["gen_ai.operation.name"] == "execute_tool"
    assert span.attributes["gen_ai.tool.name"] == "create_user"
    assert span.attributes["gen_ai.tool.type"] == "function"
    assert span.status.status_code is StatusCode.UNSET
    assert "error.type" not in span.attributes


def test_normal_return_is_a_success_by_inference(telemetry: Any) -> None:
    """A normal result without a sign of failure claims success and is an inferred success."""
    create_user("ann@example.com")
    attributes = telemetry.one("execute_tool create_user").attributes
    assert attributes["overclaim.claimed.outcome"] == "success"
    assert attributes["overclaim.claimed.source"] == "tool_return"
    assert attributes["overclaim.observed.outcome"] == "success"
    assert attributes["overclaim.call.effect"] == "write"


def test_nothing_readable_leaves_by_default(telemetry: Any) -> None:
    """With content off, no argument, result or exception message is on the span."""

    @overclaim.tool
    def pay(card: str) -> None:
        raise ValueError(f"card {card} refused, password=hunter2")

    with pytest.raises(ValueError, match="refused"):
        pay("4242424242424242")
    create_user("ann@example.com")
    for span in telemetry.spans:
        text = span.to_json()
        assert "ann@example.com" not in text
        assert "4242" not in text
        assert "hunter2" not in text


def test_same_target_gives_the_same_hash(telemetry: Any) -> None:
    """Operations are hashed with a key: equal for equal targets, different for others."""
    for email in ("ann@example.com", "ann@example.com", "bob@example.com"):
        create_user(email)
    first, second, third = (span.attributes for span in telemetry.spans)
    assert first["overclaim.call.operation"] == second["overclaim.call.operation"]
    assert first["overclaim.call.operation"] != third["overclaim.call.operation"]
    assert first["overclaim.call.args_shape"] == third["overclaim.call.args_shape"]
    assert all(len(value) == 16 for value in first["overclaim.call.targets"])


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("create_user", {"email": "ann@example.com"}, "create"),
        ("http_request", {"method": "DELETE", "url": "https://api.example.com/users/7"}, "delete"),
        ("frobnicate", {"value": 3}, "call"),
    ],
)
def test_operation_label_names_the_action(telemetry: Any, name: str, arguments: dict[str, Any], action: str) -> None:
    """Before the hash stands the canonical action, or `call` where there is none."""

    @overclaim.tool(name=name)
    def work(**given: Any) -> str:
        return "fine"

    work(**arguments)
    label = telemetry.one(f"execute_tool {name}").attributes["overclaim.call.operation"]
    assert label.startswith(f"{action}:")
    assert len(label.partition(":")[2]) == 16


def test_exception_is_recorded_and_raised_untouched(telemetry: Any) -> None:
    """The very same exception object reaches the caller; the span is an error of that type."""
    boom = KeyError("secret")

    @overclaim.tool
    def fail() -> None:
        raise boom

    with pytest.raises(KeyError) as caught:
        fail()
    assert caught.value is boom
    span = telemetry.one("execute_tool fail")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "KeyError"
    assert [event.name for event in span.events] == ["exception"]
    assert span.attributes["overclaim.claimed.outcome"] == "failure"
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.attributes["overclaim.observed.grade"] == "structured"


def test_structured_failure_in_the_result_is_an_error_span(telemetry: Any) -> None:
    """A returned error envelope is a failure of the tool: ERROR with its status as error.type."""

    @overclaim.tool
    def confirm_payment(amount: str) -> dict[str, Any]:
        return {"isError": True, "content": [{"type": "text", "text": f"bad amount {amount}"}]}

    assert confirm_payment("12,5")["isError"] is True
    span = telemetry.one("execute_tool confirm_payment")
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.attributes["overclaim.claimed.outcome"] == "failure"
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"]
    assert "12,5" not in (span.status.description or "")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_interrupts_pass_and_the_span_ends(telemetry: Any, error: BaseException) -> None:
    """KeyboardInterrupt and SystemExit go through; the span still ends, and the next call is a root again."""

    @overclaim.tool
    def stop() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        stop()
    assert caught.value is error
    create_user("ann@example.com")
    assert telemetry.one("execute_tool stop").attributes["error.type"] == type(error).__name__
    assert telemetry.one("execute_tool create_user").parent is None


def test_coroutine_tool(telemetry: Any) -> None:
    """A coroutine function stays one, and its span covers the awaiting."""

    @overclaim.tool
    async def fetch(url: str) -> str:
        with telemetry.tracer.start_as_current_span("inside"):
            await asyncio.sleep(0)
        return "ok"

    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(fetch("x")) == "ok"
    assert telemetry.one("inside").parent.span_id == telemetry.one("execute_tool fetch").context.span_id


def test_cancelled_tool_says_so(telemetry: Any) -> None:
    """A cancelled task stays cancelled, and its span says CancelledError."""

    @overclaim.tool
    async def wait() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert "CancelledError" in telemetry.one("execute_tool wait").attributes["error.type"]


def test_parallel_tasks_keep_their_own_spans(telemetry: Any) -> None:
    """Children of tools that run at the same time end up below the right tool."""

    @overclaim.tool
    async def work(number: int) -> int:
        with telemetry.tracer.start_as_current_span(f"child {number}"):
            await asyncio.sleep(0.001 * (3 - number))
        return number

    async def main() -> list[int]:
        return await asyncio.gather(*(work(number) for number in range(3)))

    assert asyncio.run(main()) == [0, 1, 2]
    parents = {telemetry.one(f"child {number}").parent.span_id for number in range(3)}
    assert parents == {span.context.span_id for span in telemetry.named("execute_tool work")}


def test_generator_keeps_send_and_return_value(telemetry: Any) -> None:
    """A generator tool can still be sent to, and its return value arrives at `yield from`."""

    @overclaim.tool
    def count() -> Any:
        got = yield 1
        yield got
        return "end"

    assert inspect.isgeneratorfunction(count)
    generator = count()
    assert next(generator) == 1
    assert generator.send("hello") == "hello"
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"
    assert telemetry.one("execute_tool count").attributes["overclaim.observed.outcome"] == "success"


def test_generator_context_does_not_leak(telemetry: Any) -> None:
    """Between two items the consumer is outside the tool's span, while the body is inside it."""

    @overclaim.tool
    def lines() -> Any:
        for number in range(2):
            with telemetry.tracer.start_as_current_span(f"inside {number}"):
                pass
            yield number

    for number in lines():
        with telemetry.tracer.start_as_current_span(f"outside {number}"):
            pass
    tool = telemetry.one("execute_tool lines")
    assert telemetry.one("inside 1").parent.span_id == tool.context.span_id
    assert telemetry.one("outside 1").parent is None


@pytest.mark.parametrize("kind", ["generator", "async generator"])
def test_a_span_that_a_generator_holds_open_stays_around_what_follows(telemetry: Any, kind: str) -> None:
    """A span of the body that is open while an item is handed out is current again in the next step, and at the end."""

    def below(name: str) -> None:
        with telemetry.tracer.start_as_current_span(name):
            pass

    @overclaim.tool
    def lines() -> Any:
        with telemetry.tracer.start_as_current_span("held"):
            try:
                yield 1
                below("next step")
                yield 2
            finally:
                below("clean-up")

    @overclaim.tool
    async def stream() -> Any:
        with telemetry.tracer.start_as_current_span("held"):
            try:
                yield 1
                below("next step")
                yield 2
            finally:
                below("clean-up")

    async def main() -> None:
        items = stream()
        await anext(items)
        await anext(items)
        await items.aclose()

    if kind == "generator":
        items = lines()
        next(items)
        next(items)
        items.close()
    else:
        asyncio.run(main())
    held = telemetry.one("held").context.span_id
    assert telemetry.one("next step").parent.span_id == held
    assert telemetry.one("clean-up").parent.span_id == held


def test_abandoned_generator_ends_its_span(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A generator that is dropped half-way ends its span without an error and without a log line."""

    @overclaim.tool
    def lines() -> Any:
        yield 1
        yield 2

    generator = lines()
    next(generator)
    del generator
    span = telemetry.one("execute_tool lines")
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes["overclaim.observed.outcome"] == "unknown"
    assert not caplog.records


def test_async_generator(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """An async generator stays one; read to its end or dropped half-way, its span ends."""

    @overclaim.tool
    async def stream() -> Any:
        yield "a"
        yield "b"

    async def main() -> list[str]:
        async for _ in stream():
            break
        return [item async for item in stream()]

    assert inspect.isasyncgenfunction(stream)
    assert asyncio.run(main()) == ["a", "b"]
    assert len(telemetry.named("execute_tool stream")) == 2
    assert not caplog.records


def test_methods_of_all_kinds(telemetry: Any) -> None:
    """Methods, class methods and static methods work, and self is no argument."""

    class Shop:
        @overclaim.tool
        def buy(self, item: str) -> str:
            return item

        @overclaim.tool
        @classmethod
        def open(cls, city: str) -> str:
            return city

        @overclaim.tool
        @staticmethod
        def close(city: str) -> str:
            return city

        @classmethod
        @overclaim.tool
        def move(cls, city: str) -> str:
            return city

    assert (Shop().buy("x"), Shop.open("y"), Shop.close("z"), Shop.move("w")) == ("x", "y", "z", "w")
    shapes = {span.attributes["overclaim.call.args_shape"] for span in telemetry.spans}
    assert [span.name for span in telemetry.spans] == [f"execute_tool {n}" for n in ("buy", "open", "close", "move")]
    assert len(shapes) == 2  # {item:s} and three times {city:s}


def test_defaults_are_arguments_too(telemetry: Any) -> None:
    """A call that leaves a default out is the same operation as one that gives it, for functions of every kind."""

    @overclaim.tool
    def close(ticket: str = "T-17", *, force: bool = False) -> str:
        return ticket

    @overclaim.tool(name="close")
    async def close_async(ticket: str = "T-17", *, force: bool = False) -> str:
        return ticket

    @overclaim.tool(name="close")
    def close_each(ticket: str = "T-17", *, force: bool = False) -> Any:
        yield ticket

    close()
    close("T-17")
    close(force=False, ticket="T-17")
    asyncio.run(close_async())
    list(close_each("T-17"))
    labels = [span.attributes for span in telemetry.named("execute_tool close")]
    assert len(labels) == 5
    assert len({one["overclaim.call.operation"] for one in labels}) == 1
    assert len({one["overclaim.call.args_shape"] for one in labels}) == 1
    assert all(one["overclaim.call.targets"] for one in labels)


def test_declared_facts_count(telemetry: Any) -> None:
    """A tool declared to be read-only has effect read, whatever its name."""

    @overclaim.tool(name="create_report", read_only=True)
    def report() -> str:
        return "all is well"

    report()
    assert telemetry.one("execute_tool create_report").attributes["overclaim.call.effect"] == "read"


def test_observe_declares_the_outcome(telemetry: Any) -> None:
    """`overclaim.observe` inside a tool decides its outcome."""

    @overclaim.tool
    def upload(name: str) -> str:
        overclaim.observe("failure", rule="upload.checksum", value="mismatch")
        return "uploaded"

    upload("x")
    span = telemetry.one("execute_tool upload")
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.attributes["overclaim.claimed.outcome"] == "success"
    assert span.attributes["overclaim.evidence.rule"] == ("upload.checksum",)
    assert span.attributes["error.type"] == "mismatch"


def test_nested_call_of_the_same_tool_is_one_call(telemetry: Any) -> None:
    """An overriding method that calls its decorated parent method makes one span."""

    class Base:
        @overclaim.tool
        def search(self) -> str:
            return "found"

    class Special(Base):
        @overclaim.tool
        def search(self) -> str:
            return super().search()

    assert Special().search() == "found"
    assert len(telemetry.named("execute_tool search")) == 1


def test_hostile_values_do_not_reach_the_caller(telemetry: Any) -> None:
    """Arguments and results that cannot be printed, compared or walked leave the call as it is."""

    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

        __str__ = __repr__

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no eq")

        __hash__ = None  # type: ignore[assignment]

    @overclaim.tool
    def echo(value: Any) -> Any:
        return value

    loop: list[Any] = []
    loop.append(loop)
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"a": deep}
    for value in (Hostile(), loop, deep, {(1, 2): "x"}, "\ud800", "x" * 5_000_000, float("nan"), b"\xff"):
        assert echo(value) is value
    assert len(telemetry.named("execute_tool echo")) == 8
    assert all(len(span.to_json()) < 5000 for span in telemetry.spans)


def test_nothing_happens_before_instrument() -> None:
    """Without `instrument()` a decorated tool just runs."""
    assert create_user("ann@example.com")["plan"] == "free"
