"""Whatever kind of callable is made a tool, a call gives what it gave before, and what cannot be seen is no success."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

import pytest

import overclaim

FAILED = {"error": {"type": "card_declined", "message": "no"}, "status": 402}


class Plain:
    """An object that can be called."""

    def __call__(self, value: int) -> Any:
        """Fail softly."""
        return FAILED

    def reset(self) -> str:
        """Another method."""
        return "reset"


class Later:
    """An object whose call is to be awaited."""

    async def __call__(self, value: int) -> Any:
        """Fail softly, later."""
        await asyncio.sleep(0)
        return FAILED

    async def method(self, value: int) -> Any:
        """The same as a method."""
        return await self(value)


class Stream:
    """An object whose call is to be iterated over."""

    def __call__(self, value: int) -> Iterator[int]:
        """Yield two items."""
        yield value
        yield value + 1


async def later(bias: int, value: int) -> Any:
    """Fail softly, later."""
    return FAILED


def outcome(telemetry: Any) -> str:
    """What the only tool call came to."""
    (span,) = [one for one in telemetry.spans if one.name.startswith("execute_tool")]
    return span.attributes["overclaim.observed.outcome"]


def test_an_object_that_can_be_called(telemetry: Any) -> None:
    """Its result is the same object and is seen; its other methods are still there."""
    watched: Any = overclaim.tool(Plain())
    assert watched(1) is FAILED
    assert watched.reset() == "reset"
    assert outcome(telemetry) == "failure"


@pytest.mark.parametrize(
    "made", [Later(), Later().method, functools.partial(later, 1), functools.partial(Later(), 1)],
    ids=["object", "method", "partial", "partial of an object"],
)  # fmt: skip
def test_objects_whose_call_is_awaited(telemetry: Any, made: Any) -> None:
    """The awaited result is the same object; where its kind can be known beforehand, the outcome is seen as well."""
    watched: Any = overclaim.tool(name="work")(made)
    args = () if isinstance(made, functools.partial) and isinstance(made.func, Later) else (1,)
    assert asyncio.run(_of(watched(*args))) is FAILED
    assert outcome(telemetry) == ("unknown" if args == () else "failure")


async def _of(waiting: Awaitable[Any]) -> Any:
    return await waiting


def test_an_object_whose_call_is_iterated_over(telemetry: Any) -> None:
    """The items arrive, and the call lasts until the last."""
    watched: Any = overclaim.tool(Stream())
    assert list(watched(1)) == [1, 2]
    assert telemetry.one("execute_tool Stream").end_time


def test_a_partial_has_the_name_of_its_function(telemetry: Any) -> None:
    """Nobody's tool is called "partial"."""
    overclaim.tool(functools.partial(functools.partial(Plain().reset)))()
    assert telemetry.one("execute_tool reset")


def test_a_cache_keeps_its_methods(telemetry: Any) -> None:
    """What `functools.lru_cache` adds to a function can be called on the tool, and does what it did."""

    @overclaim.tool
    @functools.lru_cache
    def look_up(value: int) -> object:
        return object()

    first = look_up(1)
    assert look_up(1) is first
    look_up.cache_clear()
    assert look_up(1) is not first
    assert look_up.cache_info().misses == 1
    assert len(telemetry.named("execute_tool look_up")) == 3


def test_a_single_dispatch_function_keeps_its_register(telemetry: Any) -> None:
    """Implementations can be added after the decorator, and are found."""

    @overclaim.tool
    @functools.singledispatch
    def show(value: object) -> str:
        return "object"

    @show.register  # pyright: ignore[reportFunctionMemberAccess]
    def _(value: int) -> str:
        return "int"

    assert (show("x"), show(1)) == ("object", "int")


@contextlib.contextmanager
def opened(fails: bool = False) -> Iterator[str]:
    """A context manager."""
    yield "inside"
    if fails:
        raise LookupError("at the end")


@contextlib.asynccontextmanager
async def opened_async() -> AsyncIterator[str]:
    """An async context manager."""
    yield "inside"


def test_a_tool_that_gives_a_context_manager(telemetry: Any) -> None:
    """It works as before, and a call that only prepared it says nothing of how it went."""
    with overclaim.tool(opened)() as value:
        assert value == "inside"
    assert outcome(telemetry) == "unknown"


def test_a_tool_that_gives_an_async_context_manager(telemetry: Any) -> None:
    """The same with `async with`."""

    async def use() -> str:
        async with overclaim.tool(opened_async)() as value:
            return value

    assert asyncio.run(use()) == "inside"
    assert outcome(telemetry) == "unknown"


def test_a_context_manager_made_of_a_tool(telemetry: Any) -> None:
    """The other order: the call lasts as long as the block, and what the block raises goes through unchanged."""

    @contextlib.contextmanager
    @overclaim.tool
    def session() -> Iterator[str]:
        yield "inside"

    boom = LookupError("theirs")

    def use() -> None:
        with session() as value:
            assert value == "inside"
            assert not telemetry.spans
            raise boom

    with pytest.raises(LookupError) as caught:
        use()
    assert caught.value is boom
    assert outcome(telemetry) == "failure"


def givers() -> list[Any]:
    """Plain functions that give what is still to be awaited, iterated over or entered."""

    def coroutine() -> Any:
        return later(1, 2)

    def generator() -> Any:
        return iter([FAILED])

    def lazy() -> Any:
        return (one for one in [FAILED])

    def manager() -> Any:
        return contextlib.nullcontext(FAILED)

    return [coroutine, generator, lazy, manager]


@pytest.mark.parametrize("giver", givers(), ids=lambda one: one.__name__)
def test_what_is_still_to_come_is_neither_used_up_nor_a_success(telemetry: Any, giver: Any) -> None:
    """The very object comes back, unused; no outcome is made up for it."""
    kept: list[Any] = []

    def give() -> Any:
        kept.append(giver())
        return kept[0]

    result = overclaim.tool(give)()
    assert result is kept[0]
    if inspect.iscoroutine(result):
        assert inspect.getcoroutinestate(result) == inspect.CORO_CREATED
        result.close()
    elif giver.__name__ == "manager":
        with result as value:
            assert value is FAILED
    else:
        assert list(result) == [FAILED]
    assert outcome(telemetry) != "success"


def test_a_future_is_given_back_as_it_is(telemetry: Any) -> None:
    """A task that a plain function started is not awaited twice and not wrapped."""

    async def main() -> None:
        task = asyncio.ensure_future(later(1, 2))
        assert overclaim.tool(name="start")(lambda: task)() is task
        assert await task is FAILED

    asyncio.run(main())
    assert outcome(telemetry) == "unknown"
