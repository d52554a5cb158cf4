"""Cancellations while a postcondition is asked: the caller gets what it would have got without one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from recorded import Telemetry

import overclaim
from overclaim._postconditions import CHECKS


@pytest.fixture(autouse=True, params=["async", "thread"])
def slow_check(request: pytest.FixtureRequest) -> Iterator[None]:
    """A postcondition that takes far longer than any caller waits, in the loop or in a thread."""
    CHECKS.forget()
    release = threading.Event()

    async def in_loop(arguments: dict[str, Any], result: Any) -> bool:
        await asyncio.sleep(20)
        return True

    def in_thread(arguments: dict[str, Any], result: Any) -> bool:
        return release.wait(20)

    overclaim.verify(["pay", "parts"], in_loop if request.param == "async" else in_thread, timeout=20)
    yield
    release.set()
    CHECKS.forget()


@overclaim.tool
async def pay(number: int) -> int:
    """A tool that is done at once."""
    await asyncio.sleep(0)
    return number


@overclaim.tool
async def parts() -> Any:
    """The same as a generator."""
    yield 1
    yield 2


def unanswered(telemetry: Telemetry, name: str = "pay") -> None:
    """The call of a tool is a success whose postcondition was not answered."""
    attributes = telemetry.one(f"execute_tool {name}").attributes or {}
    assert attributes["overclaim.observed.outcome"] == "success"
    assert "postcondition.unanswered" in attributes["overclaim.evidence.rule"]  # type: ignore[operator]


async def waited_for() -> int:
    """The usual time limit."""
    return await asyncio.wait_for(pay(7), 0.1)


async def timed() -> int:
    """The other time limit, around nothing else."""
    async with asyncio.timeout(0.1):
        return await pay(7)


async def task_cancelled() -> int:
    """A task that is nothing but the tool."""
    task = asyncio.create_task(pay(7))
    await asyncio.sleep(0.1)
    task.cancel()
    return await task


@pytest.mark.parametrize("caller", [waited_for, timed, task_cancelled])
def test_who_has_waited_long_enough_gets_the_result(telemetry: Telemetry, caller: Callable[[], Awaitable[int]]) -> None:
    """The tool was done in time, and nothing of the cancellation is left behind."""

    async def main() -> int:
        found = await caller()
        await asyncio.sleep(0.02)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return found

    start = time.monotonic()
    assert asyncio.run(main()) == 7
    assert time.monotonic() - start < 5
    unanswered(telemetry)


def test_what_follows_the_tool_is_cancelled(telemetry: Telemetry) -> None:
    """A limit around the tool and more ends at what comes after it, as it would have without a postcondition."""
    reached: list[int] = []

    async def main() -> None:
        async with asyncio.timeout(0.1):
            reached.append(await pay(7))
            await asyncio.sleep(20)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert reached == [7]
    unanswered(telemetry)


def test_a_loop_over_a_tool_can_be_cancelled(telemetry: Telemetry) -> None:
    """The request is handed on with its message, once; nobody has to ask twice."""
    said: list[tuple[object, ...]] = []

    async def forever() -> None:
        while True:
            await pay(7)
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError as error:
                said.append(error.args)
                await asyncio.sleep(0.01)  # it is not cancelled a second time
                raise

    async def main() -> None:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0.1)
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert task.cancelling() == 1

    asyncio.run(main())
    assert said == [("enough",)]
    unanswered(telemetry)


def test_a_task_group_ends_when_one_of_it_fails(telemetry: Telemetry) -> None:
    """The others are cancelled, have their result, and the group raises what failed."""
    reached: list[int] = []

    async def work() -> None:
        reached.append(await pay(7))
        await asyncio.sleep(20)
        reached.append(0)

    async def fails() -> None:
        await asyncio.sleep(0.1)
        raise LookupError

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(work())
            group.create_task(fails())

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(main())
    assert caught.group_contains(LookupError)
    assert reached == [7]
    unanswered(telemetry)


def test_a_gather_that_is_cancelled_says_so(telemetry: Telemetry) -> None:
    """It raises as ever, though each tool in it came to its end."""

    async def main() -> None:
        both = asyncio.gather(pay(7), asyncio.sleep(20))
        await asyncio.sleep(0.1)
        both.cancel()
        with pytest.raises(asyncio.CancelledError):
            await both

    asyncio.run(main())
    unanswered(telemetry)


def test_a_program_that_is_ended_ends(telemetry: Telemetry) -> None:
    """What the event loop cancels at its end is no trouble to it."""

    async def main() -> None:
        task = asyncio.create_task(pay(7))
        await asyncio.sleep(0.1)
        assert not task.done()

    start = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - start < 5
    unanswered(telemetry)


def test_an_async_generator_that_is_cancelled_has_ended(telemetry: Telemetry) -> None:
    """Its items are all there before it is asked about."""

    async def main() -> list[int]:
        found: list[int] = []
        async with asyncio.timeout(0.1):
            found.extend([item async for item in parts()])
        return found

    assert asyncio.run(main()) == [1, 2]
    unanswered(telemetry, "parts")


def test_a_cancellation_before_the_tool_is_done_is_as_ever(telemetry: Telemetry) -> None:
    """It reaches the tool, which is not asked about."""

    @overclaim.tool(name="pay")
    async def slow() -> None:
        await asyncio.sleep(20)

    async def main() -> None:
        await asyncio.wait_for(slow(), 0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    attributes = telemetry.one("execute_tool pay").attributes or {}
    assert "postcondition.unanswered" not in attributes["overclaim.evidence.rule"]  # type: ignore[operator]
