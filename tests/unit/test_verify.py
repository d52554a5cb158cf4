from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from recorded import Telemetry

import overclaim
from overclaim import Outcome
from overclaim._errors import UsageError
from overclaim._postconditions import CHECKS

OBSERVED = "overclaim.observed.outcome"
RULES = "overclaim.evidence.rule"


@pytest.fixture(autouse=True)
def no_checks() -> Iterator[None]:
    """Each test declares its own postconditions."""
    CHECKS.forget()
    yield
    CHECKS.forget()


@overclaim.tool
def create_user(email: str) -> dict[str, Any]:
    """A tool that is sure of itself."""
    return {"ok": True, "email": email}


@overclaim.tool
def find_user(email: str) -> dict[str, Any]:
    """A tool that a postcondition may use."""
    return {"email": email}


@overclaim.tool
async def create_order(number: str) -> dict[str, Any]:
    """An async tool."""
    await asyncio.sleep(0)
    return {"error": "boom", "number": number}


def labels(telemetry: Telemetry, name: str = "create_user") -> tuple[object, tuple[str, ...]]:
    """The observed outcome and the evidence rules of the only call of a tool."""
    attributes = telemetry.one(f"execute_tool {name}").attributes or {}
    return attributes[OBSERVED], tuple(attributes.get(RULES, ()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "outcome", "rule"),
    [
        (True, "success", "postcondition.held"),
        (False, "failure", "postcondition.failed"),
        (None, "success", "postcondition.unanswered"),
        (Outcome.SUCCESS, "success", "postcondition.held"),
        (Outcome.FAILURE, "failure", "postcondition.failed"),
        (Outcome.EMPTY, "failure", "postcondition.failed"),
        (Outcome.PENDING, "pending", "postcondition.pending"),
        (Outcome.UNKNOWN, "success", "postcondition.unanswered"),
        ("yes", "success", "postcondition.unanswered"),
    ],
)
def test_what_a_postcondition_says_becomes_the_outcome(
    telemetry: Telemetry, answer: object, outcome: str, rule: str
) -> None:
    """True, False, None and outcomes; anything else is no answer."""

    @overclaim.verify("create_user")
    def there(arguments: dict[str, Any], result: Any) -> object:
        assert arguments == {"email": "ann@example.com"}
        assert result["ok"]
        return answer

    assert create_user("ann@example.com") == {"ok": True, "email": "ann@example.com"}
    observed, rules = labels(telemetry)
    assert observed == outcome
    assert rule in rules


def test_direct_registration_patterns_and_several_names(telemetry: Telemetry) -> None:
    """A function may be given as an argument, for several tools, by patterns."""

    def never(arguments: dict[str, Any], result: Any) -> bool:
        return False

    assert overclaim.verify(["delete_*", "create_*"], never) is never
    create_user("ann@example.com")
    find_user("ann@example.com")
    assert labels(telemetry)[0] == "failure"
    assert labels(telemetry, "find_user")[0] == "success"


@pytest.mark.parametrize("asynchronous", [True, False])
def test_async_tools_are_asked_without_holding_up_the_loop(telemetry: Telemetry, asynchronous: bool) -> None:
    """While a postcondition waits, other tasks of the loop go on."""

    async def there_async(arguments: dict[str, Any], result: Any) -> bool:
        await asyncio.sleep(0.2)
        return arguments["number"] == "A-17"

    def there(arguments: dict[str, Any], result: Any) -> bool:
        time.sleep(0.2)
        return arguments["number"] == "A-17"

    overclaim.verify("create_order", there_async if asynchronous else there)

    async def main() -> int:
        turns = 0
        task = asyncio.ensure_future(create_order("A-17"))
        while not task.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert (await task)["number"] == "A-17"
        return turns

    assert asyncio.run(main()) > 5
    assert labels(telemetry, "create_order")[0] == "success"


def test_a_coroutine_function_serves_a_plain_tool(telemetry: Telemetry) -> None:
    """It runs in a loop of its own."""

    @overclaim.verify("create_user")
    async def there(arguments: dict[str, Any], result: Any) -> bool:
        await asyncio.sleep(0)
        return False

    create_user("ann@example.com")
    assert labels(telemetry)[0] == "failure"


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3), KeyboardInterrupt()])
def test_an_exception_in_a_postcondition_is_no_failure_of_the_tool(
    telemetry: Telemetry, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """The tool's result comes back, the call is judged without, and a warning says so once."""

    def broken(arguments: dict[str, Any], result: Any) -> bool:
        raise error

    broken.__name__ = f"broken_{type(error).__name__}"
    overclaim.verify("create_user", broken)
    assert create_user("ann@example.com")["ok"]
    create_user("ann@example.com")
    attributes = [span.attributes or {} for span in telemetry.named("execute_tool create_user")]
    assert [one[OBSERVED] for one in attributes] == ["success", "success"]
    assert "postcondition.unanswered" in attributes[0][RULES]  # type: ignore[operator]
    assert sum("gave no answer" in record.message for record in caplog.records) == 1


def test_a_postcondition_that_hangs_is_left_after_its_time(telemetry: Telemetry) -> None:
    """The tool's caller waits no longer than declared, and the span ends when the tool did."""
    release = threading.Event()

    @overclaim.verify("create_user", timeout=0.2)
    def hangs(arguments: dict[str, Any], result: Any) -> bool:
        release.wait(20)
        return True

    start = time.monotonic()
    create_user("ann@example.com")
    assert time.monotonic() - start < 5
    release.set()
    span = telemetry.one("execute_tool create_user")
    observed, rules = labels(telemetry)
    assert observed == "success"
    assert "postcondition.unanswered" in rules
    assert span.end_time is not None
    assert span.start_time is not None
    assert span.end_time - span.start_time < 150_000_000


def test_the_tools_own_exception_is_not_asked_about(telemetry: Telemetry) -> None:
    """A tool that raised did not return; its exception passes unchanged."""
    asked: list[object] = []
    overclaim.verify("explode", lambda arguments, result: asked.append(arguments))

    @overclaim.tool
    def explode() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError):
        explode()
    assert asked == []
    assert labels(telemetry, "explode")[0] == "failure"


def test_what_a_postcondition_calls_is_no_work_of_the_agent(telemetry: Telemetry) -> None:
    """Decorated tools and spans inside it make no call of the run."""

    @overclaim.verify("create_user")
    def there(arguments: dict[str, Any], result: Any) -> bool:
        with telemetry.tracer.start_as_current_span("execute_tool look", attributes={"gen_ai.tool.name": "look"}):
            return find_user(arguments["email"])["email"] == arguments["email"]

    with overclaim.run("agent") as run:
        create_user("ann@example.com")
        run.answer("I created ann@example.com.")
    assert telemetry.named("execute_tool find_user") == []
    assert (telemetry.one("invoke_agent agent").attributes or {})["overclaim.run.calls"] == 1


def test_a_postcondition_speaks_for_the_claim(telemetry: Telemetry) -> None:
    """The guard knows that the thing is not so, whatever the tool said."""
    overclaim.verify("create_user", lambda arguments, result: False)
    with overclaim.run("agent"):
        create_user("ann@example.com")
        assert overclaim.check("I created the user ann@example.com.").verdict is overclaim.Verdict.CONTRADICTED


def test_a_tool_inside_a_foreign_span_is_asked_once(telemetry: Telemetry) -> None:
    """One call that two instrumentors see has one postcondition."""
    asked: list[object] = []

    @overclaim.verify("create_user")
    def there(arguments: dict[str, Any], result: Any) -> bool:
        asked.append(arguments)
        return False

    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user"}
    with telemetry.tracer.start_as_current_span("execute_tool create_user", attributes=attributes):
        create_user("ann@example.com")
    assert len(asked) == 1
    assert labels(telemetry)[0] == "failure"


def foreign(telemetry: Telemetry) -> None:
    """A call that only another instrumentor sees, with content."""
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user",
        "gen_ai.tool.call.arguments": '{"email": "ann@example.com"}', "gen_ai.tool.call.result": '{"ok": true}',
    }  # fmt: skip
    with telemetry.tracer.start_as_current_span("execute_tool create_user", attributes=attributes):
        pass


def test_a_foreign_call_is_asked_about_outside_event_loops(telemetry: Telemetry) -> None:
    """Its arguments are read off the span; an event loop is never held up for it."""
    overclaim.verify("create_user", lambda arguments, result: arguments["email"] != "ann@example.com")
    foreign(telemetry)
    assert labels(telemetry)[0] == "failure"
    telemetry.exporter.clear()

    async def inside() -> None:
        foreign(telemetry)

    asyncio.run(inside())
    assert labels(telemetry)[0] == "success"
    assert "postcondition.unanswered" in labels(telemetry)[1]


def test_generators_are_asked_at_their_end(telemetry: Telemetry) -> None:
    """The result is what they yielded."""
    seen: list[object] = []
    overclaim.verify("stream*", lambda arguments, result: seen.append(result) or True)

    @overclaim.tool
    def stream() -> Iterator[str]:
        yield "a"
        yield "b"

    @overclaim.tool
    async def stream_async() -> Any:
        yield "c"
        yield "d"

    async def drain() -> list[str]:
        return [item async for item in stream_async()]

    assert list(stream()) == ["a", "b"]
    assert asyncio.run(drain()) == ["c", "d"]
    assert seen == ["ab", "cd"]


def test_a_plain_tool_inside_an_event_loop_is_not_asked_about(telemetry: Telemetry) -> None:
    """The loop would stand still meanwhile; in a thread of its own the tool is asked about as ever."""
    asked: list[object] = []
    overclaim.verify("create_user", lambda arguments, result: asked.append(arguments) or True)

    async def main() -> None:
        create_user("ann@example.com")
        assert asked == []
        await asyncio.to_thread(create_user, "ben@example.com")

    asyncio.run(main())
    assert asked == [{"email": "ben@example.com"}]
    rules = [(span.attributes or {})[RULES] for span in telemetry.named("execute_tool create_user")]
    assert ["postcondition.unanswered" in one for one in rules] == [True, False]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda: overclaim.verify(create_user), 'needs the name of the tool: @overclaim.verify("create_user")'),
        (lambda: overclaim.verify(""), "give the name of a tool, or several"),
        (lambda: overclaim.verify([]), "give the name of a tool, or several"),
        (lambda: overclaim.verify("a", timeout=0), "timeout=0): give seconds, more than 0 and at most 60"),
        (lambda: overclaim.verify("a", 3), "needs a function, but got int"),
        (lambda: overclaim.verify("a", lambda: True), "cannot take a call's arguments and result"),
    ],
)
def test_mistakes_are_told_where_they_are_made(declare: Any, said: str) -> None:
    """At the declaration, with the cure; never when the tool is called."""
    with pytest.raises(UsageError) as caught:
        declare()
    assert said in str(caught.value)
