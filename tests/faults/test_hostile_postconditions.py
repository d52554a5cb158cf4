"""Postconditions that do what no postcondition should: the tool's caller must not notice."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import opentelemetry.context as otel
import pytest
from recorded import Telemetry

import overclaim
from overclaim._errors import UsageError
from overclaim._places import Places
from overclaim._postconditions import CHECKS


@pytest.fixture(autouse=True)
def no_checks() -> Iterator[None]:
    """Each test declares its own postconditions."""
    CHECKS.forget()
    yield
    CHECKS.forget()


@overclaim.tool
def open_ticket(title: str) -> dict[str, Any]:
    """A tool."""
    return {"ok": True, "title": title}


@overclaim.tool
async def close_ticket(number: int) -> dict[str, Any]:
    """An async tool."""
    await asyncio.sleep(0)
    return {"ok": True, "number": number}


def rules(telemetry: Telemetry, name: str) -> list[tuple[str, ...]]:
    """The evidence rules of each call of a tool."""
    return [tuple((one.attributes or {}).get("overclaim.evidence.rule", ())) for one in telemetry.named(name)]  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), ValueError("boom")])
def test_what_an_async_postcondition_raises_stays_with_it(telemetry: Telemetry, error: BaseException) -> None:
    """Neither an exit nor a cancellation of its own reaches the tool's caller or stops the event loop."""

    @overclaim.verify("close_ticket")
    async def broken(arguments: dict[str, Any], result: Any) -> bool:
        await asyncio.sleep(0)
        raise error

    async def main() -> dict[str, Any]:
        return await close_ticket(17)

    assert asyncio.run(main()) == {"ok": True, "number": 17}
    assert "postcondition.unanswered" in rules(telemetry, "execute_tool close_ticket")[0]


def test_one_that_will_not_be_cancelled_is_left_behind(telemetry: Telemetry) -> None:
    """The wait ends when its time is over, whatever the postcondition does with its cancellation."""
    stubborn = 0

    @overclaim.verify("close_ticket", timeout=0.1)
    async def stays(arguments: dict[str, Any], result: Any) -> bool:
        nonlocal stubborn
        while stubborn < 3:
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                stubborn += 1
        return True

    async def main() -> float:
        start = time.monotonic()
        assert (await close_ticket(17))["ok"]
        waited = time.monotonic() - start
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            for _ in range(3):
                task.cancel()
                await asyncio.sleep(0.01)
        return waited

    assert asyncio.run(main()) < 5
    assert stubborn == 3


def test_the_context_of_the_caller_is_as_before(telemetry: Telemetry) -> None:
    """What a postcondition attaches and sets ends with it."""

    @overclaim.verify("close_ticket")
    async def careless(arguments: dict[str, Any], result: Any) -> bool:
        otel.attach(otel.set_value("left", "behind"))
        return True

    async def main() -> None:
        before = otel.get_current()
        await close_ticket(17)
        assert otel.get_current() == before

    asyncio.run(main())


@pytest.mark.parametrize("asynchronous", [True, False])
def test_two_hundred_tools_at_once_all_get_their_answer(telemetry: Telemetry, asynchronous: bool) -> None:
    """Each waits for its turn within its time; none goes unasked because others were first."""
    most, now, lock = 0, 0, threading.Lock()

    @overclaim.verify(["open_ticket", "close_ticket"], timeout=30)
    def slow(arguments: dict[str, Any], result: Any) -> bool:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return True

    async def main() -> None:
        await asyncio.gather(*(close_ticket(number) for number in range(200)))

    if asynchronous:
        asyncio.run(main())
    else:
        with ThreadPoolExecutor(200) as pool:
            list(pool.map(open_ticket, map(str, range(200))))
    found = rules(telemetry, "execute_tool close_ticket" if asynchronous else "execute_tool open_ticket")
    assert len(found) == 200
    assert all("postcondition.held" in one for one in found)
    assert most <= 32


def test_nobody_waits_behind_those_that_hang(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """When all threads hang beyond their time, a call is not held up any more; when they end, they are asked again."""
    monkeypatch.setattr("overclaim._asking.PLACES", Places(2))
    release = threading.Event()

    @overclaim.verify("open_ticket", timeout=0.2)
    def hangs(arguments: dict[str, Any], result: Any) -> bool:
        release.wait(20)
        return True

    open_ticket("a")
    open_ticket("b")
    start = time.monotonic()
    open_ticket("c")
    assert time.monotonic() - start < 0.1
    release.set()
    time.sleep(0.2)
    open_ticket("d")
    found = rules(telemetry, "execute_tool open_ticket")
    assert ["postcondition.held" in one for one in found] == [False, False, False, True]


def test_one_that_uses_the_tool_itself_is_not_asked_about_that(telemetry: Telemetry) -> None:
    """A postcondition may call the tool that it is about: that call has no postcondition and is none of the run."""

    @overclaim.verify("open_ticket")
    def again(arguments: dict[str, Any], result: Any) -> bool:
        return open_ticket(arguments["title"])["ok"]

    assert open_ticket("a")["ok"]
    assert len(telemetry.named("execute_tool open_ticket")) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_one_that_forks_leaves_one_call(telemetry: Telemetry) -> None:
    """The child ends with the postcondition; the parent's call is judged once."""

    @overclaim.verify("open_ticket")
    def forks(arguments: dict[str, Any], result: Any) -> bool:
        child = os.fork()
        if not child:
            os._exit(0)
        return os.waitpid(child, 0)[1] == 0

    open_ticket("a")
    assert rules(telemetry, "execute_tool open_ticket")[0][0] == "postcondition.held"


def test_one_that_is_declared_again_takes_its_own_place(telemetry: Telemetry) -> None:
    """A cell of a notebook that runs twice leaves one postcondition; two lambdas stay two."""
    asked: list[str] = []
    for word in ("first", "second"):
        namespace: dict[str, Any] = {"__name__": "notebook", "asked": asked, "word": word}
        exec("def there(arguments, result, word=word):\n    asked.append(word)\n    return True", namespace)
        overclaim.verify("open_ticket", namespace["there"])
        overclaim.verify("open_ticket", lambda arguments, result: asked.append("lambda") or True)
    open_ticket("a")
    assert sorted(asked) == ["lambda", "lambda", "second"]


def test_postconditions_declared_at_once_are_all_kept() -> None:
    """Threads that declare while others ask lose none."""

    def declare(number: int) -> None:
        overclaim.verify(f"tool_{number}", lambda arguments, result: True)
        CHECKS.of("tool_0")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(declare, range(400)))
    assert all(len(CHECKS.of(f"tool_{number}")) == 1 for number in range(400))


@pytest.mark.parametrize("tools", [5, None, b"create", ["a", 3], {}])
def test_names_that_are_none_are_told(tools: Any) -> None:
    """At the declaration, with what was given."""
    with pytest.raises(UsageError, match="give the name of a tool"):
        overclaim.verify(tools, lambda arguments, result: True)
