"""Generators, async generators and streams, which decorators of other tools break."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

import overclaim


@overclaim.tool
async def numbers(count: int, pause: float = 0.0) -> AsyncIterator[int]:
    """An async generator."""
    for number in range(count):
        await asyncio.sleep(pause)
        yield number


def test_p16_an_async_generator_stays_one(telemetry: Any) -> None:
    """traceloop/openllmetry#2290: it is iterated, not awaited."""

    async def collect() -> list[int]:
        return [number async for number in numbers(3)]

    assert asyncio.run(collect()) == [0, 1, 2]


def test_p17_an_abandoned_async_generator_logs_no_error(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """traceloop/openllmetry#3061: no failed detach, and the span arrives."""

    async def first() -> None:
        async for _ in numbers(5):
            break
        await asyncio.sleep(0)

    with caplog.at_level(logging.WARNING):
        asyncio.run(first())
        gc.collect()
    assert not caplog.records
    assert telemetry.named("execute_tool numbers")


def test_p20_nested_async_generators_nest(telemetry: Any) -> None:
    """langfuse/langfuse#7749: the inner stream is a child, and spans last as long as their streams."""

    @overclaim.tool
    async def outer() -> AsyncIterator[int]:
        async for number in numbers(2, 0.02):
            yield number

    async def drain() -> None:
        async for _ in outer():
            pass

    asyncio.run(drain())
    inner, around = telemetry.one("execute_tool numbers"), telemetry.one("execute_tool outer")
    assert inner.parent.span_id == around.context.span_id
    assert inner.end_time - inner.start_time >= 30_000_000


def test_p21_a_stream_whose_consumer_is_cancelled_cleans_up_once_in_its_own_context(telemetry: Any) -> None:
    """langfuse/langfuse-python#1791: the finally block runs once, with the context in which the stream began."""
    request: ContextVar[str] = ContextVar("request", default="")
    cleaned: list[str] = []

    @overclaim.tool
    async def stream() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.sleep(10)
        finally:
            cleaned.append(request.get())

    async def consume(name: str) -> None:
        request.set(name)
        async for _ in stream():
            pass

    async def cancel() -> None:
        task = asyncio.create_task(consume("first"))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.create_task(asyncio.sleep(0))

    asyncio.run(cancel())
    gc.collect()
    assert cleaned == ["first"]
    assert len(telemetry.named("execute_tool stream")) == 1


def test_p22_what_a_generator_returns_is_kept(telemetry: Any) -> None:
    """langfuse/langfuse#6800: StopIteration carries the value."""

    @overclaim.tool
    def one() -> Iterator[int]:
        yield 1
        return "RV"

    stream = one()
    next(stream)
    with pytest.raises(StopIteration) as stop:
        next(stream)
    assert stop.value.value == "RV"


def test_p23_a_generator_as_argument_is_not_used_up(telemetry: Any) -> None:
    """langfuse/langfuse#1855: the tool still sees every item."""
    assert overclaim.tool(lambda items: list(items))(number for number in range(3)) == [0, 1, 2]


def test_p25_calls_inside_an_async_generator_share_its_trace(telemetry: Any) -> None:
    """comet-ml/opik#1128: one trace."""

    @overclaim.tool
    def inner() -> int:
        return 1

    @overclaim.tool
    async def stream() -> AsyncIterator[int]:
        for _ in range(2):
            yield inner()

    async def drain() -> None:
        async for _ in stream():
            pass

    asyncio.run(drain())
    assert len({span.context.trace_id for span in telemetry.spans}) == 1
    assert len(telemetry.spans) == 3


def test_p26_a_stream_whose_consumer_leaves_still_ends_its_span(telemetry: Any) -> None:
    """comet-ml/opik#5524: no span stays open, and nothing says that all went well."""

    @overclaim.tool
    def events() -> Iterator[str]:
        while True:
            yield "data: {}\n\n"

    stream = events()
    next(stream)
    del stream
    gc.collect()
    assert telemetry.one("execute_tool events").attributes["overclaim.observed.outcome"] == "unknown"
