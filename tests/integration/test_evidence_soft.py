"""What a tool swallows, logs and waits for in vain: suspicions, which are kept and never decide; and cancellation."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import overclaim
from overclaim.evidence import error_logs, swallowed, timeouts

monitored = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in Python 3.12")


def shown(telemetry: Any, tool: str) -> tuple[str, list[tuple[str, str, str]]]:
    """What was observed of the last call of a tool, with kind, rule and value of all evidence."""
    found = telemetry.named(f"execute_tool {tool}")[-1].attributes
    lists = (found.get(f"overclaim.evidence.{name}", ()) for name in ("kind", "rule", "value"))
    return found["overclaim.observed.outcome"], list(zip(*lists, strict=True))


def call(work: Callable[[], object], name: str = "do_it") -> None:
    """Call a tool that does this and tells that all is well."""

    @overclaim.tool(name=name)
    def tool() -> str:
        work()
        return "done"

    tool()


def refuse() -> None:
    """Raise what programs tend to swallow."""
    raise ValueError("geheim")


def in_vain() -> None:
    """Swallow it by a handler."""
    try:
        refuse()
    except Exception:
        return


def in_vain_quietly() -> None:
    """Swallow it by a context manager."""
    with contextlib.suppress(ValueError):
        refuse()


async def in_vain_later() -> None:
    """Swallow it in a coroutine."""
    await asyncio.sleep(0)
    in_vain()


HANDLED = ("swallowed_exception", "exception.handled", "ValueError")


@monitored
@pytest.mark.parametrize("work", [in_vain, in_vain_quietly, lambda: asyncio.run(in_vain_later())])
def test_a_swallowed_exception_is_a_suspicion(telemetry: Any, work: Callable[[], object]) -> None:
    """It is shown by the name of its type, and the call stays the success that it told of."""
    call(work)
    assert shown(telemetry, "do_it") == ("success", [HANDLED])
    assert "geheim" not in str(dict(telemetry.one("execute_tool do_it").attributes))


@monitored
def test_the_same_thing_twice_is_one(telemetry: Any) -> None:
    """A loop that swallows a thousand exceptions leaves one fact, and a handful at most."""

    def many() -> None:
        for _ in range(1000):
            in_vain()
        for number in range(20):
            with contextlib.suppress(Exception):
                raise type(f"Trouble{number}", (Exception,), {})

    call(many)
    assert len(shown(telemetry, "do_it")[1]) == swallowed._MOST


def raised_on() -> None:
    """Everything that sees an exception without swallowing it."""
    try:
        with open(__file__), contextlib.ExitStack():
            try:
                refuse()
            except ValueError:
                raise
            finally:
                gone()
    finally:
        gone()


def gone() -> None:
    """Clear up."""


@monitored
def test_what_passes_through_is_not_swallowed(telemetry: Any) -> None:
    """`finally`, `with` and a handler that raises again only see it; the tool's own exception is what counts."""
    with pytest.raises(ValueError, match="geheim"):
        call(raised_on)
    (fact,) = shown(telemetry, "do_it")[1]
    assert fact[:2] == ("exception", "exception.raised")


def looks_around() -> None:
    """Exceptions that only steer a program, and those in the standard library."""
    with contextlib.suppress(KeyError):
        {}["x"]  # type: ignore[index]
    with contextlib.suppress(ImportError):
        import no_such_module  # type: ignore[import-not-found] # noqa: F401
    with contextlib.suppress(AttributeError):
        object().nothing  # type: ignore[attr-defined] # noqa: B018
    [*iter([1, 2])]
    next(iter([]), None)
    import mimetypes

    mimetypes.MimeTypes().guess_type("x.unknown")
    logging.getLogger("x").isEnabledFor(10)


@monitored
def test_looking_around_is_no_suspicion(telemetry: Any) -> None:
    """Lookups with a fallback are how programs are written."""
    call(looks_around)
    assert shown(telemetry, "do_it") == ("success", [])


@monitored
def test_outside_a_tool_and_off_nothing_is_noted(telemetry: Any) -> None:
    """The tool id is free again when it is switched off; a debugger's is left alone."""
    in_vain()
    held = swallowed._id
    assert held is not None
    assert sys.monitoring.get_tool(held) == "overclaim"
    overclaim.uninstrument()
    assert sys.monitoring.get_tool(held) is None
    assert swallowed._id is None
    for one in swallowed._IDS:
        sys.monitoring.use_tool_id(one, "somebody")
    try:
        assert "other tools" in swallowed.probe()
        overclaim.instrument(tracer_provider=telemetry.provider)
        call(in_vain)
        assert shown(telemetry, "do_it") == ("success", [])
    finally:
        for one in swallowed._IDS:
            sys.monitoring.free_tool_id(one)


@monitored
def test_a_fault_of_ours_is_not_theirs(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program handles its exceptions, whatever breaks here."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(swallowed, "tool_inside", broken)
    call(in_vain)
    assert shown(telemetry, "do_it") == ("success", [])


def test_without_monitoring_it_says_why() -> None:
    """Before Python 3.12 there is nothing to look with."""
    if sys.version_info < (3, 12):
        assert "3.12" in swallowed.probe()


log = logging.getLogger("shop.payments")


@pytest.mark.parametrize("name", ["user.ann@example.com", "for Ann", "+49 170 1234567", "a" * 65, "shop..x", "größe"])
def test_a_logger_that_is_named_after_somebody_is_not_named(telemetry: Any, name: str) -> None:
    """Of loggers only such names leave as modules have them."""
    call(lambda: logging.getLogger(name).error("x"))
    _, facts = shown(telemetry, "do_it")
    assert facts == [("log_record", "log.error", "ERROR")]


def test_an_error_record_is_a_suspicion(telemetry: Any) -> None:
    """Logger and level are shown, no word of the message, and nothing below ERROR."""

    def work() -> None:
        log.warning("geheim")
        log.error("geheim %s", "geheim")
        log.error("geheim once more")
        logging.getLogger("overclaim").error("ours")
        logging.getLogger("opentelemetry.sdk").error("the exporter's")
        logging.getLogger("shop.audit").critical("geheim")

    call(work)
    outcome, facts = shown(telemetry, "do_it")
    assert outcome == "success"
    assert facts == [
        ("log_record", "log.error", "shop.payments ERROR"),
        ("log_record", "log.error", "shop.audit CRITICAL"),
    ]
    assert "geheim" not in str(dict(telemetry.one("execute_tool do_it").attributes))


def test_records_are_as_ever(telemetry: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place that a record names is the program's, also outside a tool and when something breaks here."""
    log.error("one")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(error_logs, "tool_inside", broken)
    log.error("two")
    assert [(one.message, one.filename) for one in caplog.records if one.name == log.name] == [
        ("one", "test_evidence_soft.py"),
        ("two", "test_evidence_soft.py"),
    ]


LATE = ("swallowed_exception", "wait.timeout", "TimeoutError")


async def late_by_timeout() -> None:
    """Wait for too long by asyncio.timeout."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)


async def late_by_wait_for() -> None:
    """Wait for too long by asyncio.wait_for."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.sleep(5), 0.01)


def late_by_future() -> None:
    """Wait for too long for a future."""
    with contextlib.suppress(TimeoutError):
        concurrent.futures.Future[None]().result(0.01)


@pytest.mark.parametrize(
    "work", [lambda: asyncio.run(late_by_timeout()), lambda: asyncio.run(late_by_wait_for()), late_by_future]
)
def test_waiting_in_vain_is_a_suspicion(telemetry: Any, work: Callable[[], object]) -> None:
    """A tool that swallows a timeout may have done its work all the same, but it is told."""
    call(work)
    outcome, facts = shown(telemetry, "do_it")
    assert outcome == "success"
    assert LATE in facts


def test_waiting_in_time_is_nothing(telemetry: Any) -> None:
    """What comes in time leaves no trace, nor does a future whose own result is a timeout."""

    async def in_time() -> None:
        async with asyncio.timeout(5):
            await asyncio.wait_for(asyncio.sleep(0), 5)

    def failed() -> None:
        future: concurrent.futures.Future[None] = concurrent.futures.Future()
        future.set_exception(TimeoutError())
        with contextlib.suppress(TimeoutError):
            future.result(5)

    call(lambda: asyncio.run(in_time()), "wait")
    call(failed, "fail")
    assert shown(telemetry, "wait") == ("success", [])
    assert LATE not in shown(telemetry, "fail")[1]


@overclaim.tool
async def send_money(sent: bool = False) -> str:
    """A tool that takes long after it may have done its work."""
    if sent:
        overclaim.observe("http.request", "success")
    await asyncio.sleep(5)
    return "sent"


def test_a_timeout_around_a_tool(telemetry: Any) -> None:
    """The call was cancelled: nobody knows how far it came, so no claim over it is supported."""

    async def agent() -> overclaim.Judgement:
        with overclaim.run("payer"):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await send_money()
            return overclaim.check("I sent the money.")

    judgement = asyncio.run(agent())
    outcome, facts = shown(telemetry, "send_money")
    assert outcome == "unknown"
    assert facts == [("exception", "exception.cancelled", "CancelledError")]
    assert telemetry.one("execute_tool send_money").attributes["overclaim.claimed.outcome"] == "failure"
    assert judgement.verdict is overclaim.Verdict.INCOMPLETE


def test_a_cancelled_tool_is_no_success(telemetry: Any) -> None:
    """Even where something in it went well before."""
    from overclaim.outcome.model import Evidence, Grade, Outcome
    from overclaim.outcome.results.deciding import decide

    cut = Evidence("exception", "exception.cancelled", Outcome.UNKNOWN, Grade.STRUCTURED, "CancelledError")
    done = Evidence("http_status", "http.status_2xx", Outcome.SUCCESS, Grade.STRUCTURED, "200", "POST http://x/pay")
    held = Evidence("postcondition", "postcondition.held", Outcome.SUCCESS, Grade.STRUCTURED)
    refused = Evidence("http_status", "http.status_4xx", Outcome.FAILURE, Grade.STRUCTURED, "400", "POST http://x/pay")
    assert decide([done, cut], captured=False).outcome is Outcome.UNKNOWN
    assert decide([done, cut, held], captured=False).outcome is Outcome.SUCCESS
    assert decide([refused, cut], captured=False).outcome is Outcome.FAILURE


@pytest.mark.parametrize("error", [TimeoutError, concurrent.futures.TimeoutError, asyncio.TimeoutError])
def test_a_tool_that_ran_out_of_time_failed(telemetry: Any, error: type[Exception]) -> None:
    """A timeout that leaves a tool is told apart from other exceptions."""

    @overclaim.tool
    def fetch() -> None:
        raise error

    with pytest.raises(TimeoutError):
        fetch()
    assert shown(telemetry, "fetch") == ("failure", [("exception", "exception.timeout", "TimeoutError")])


def test_a_cancelled_future_ends_no_tool(telemetry: Any) -> None:
    """A tool in a thread goes on after nobody waits for it any more, and is judged by its own end."""
    go = threading.Event()

    @overclaim.tool
    def slow() -> str:
        go.wait(5)
        return "done"

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(slow)
        with pytest.raises(TimeoutError):
            future.result(0.05)
        go.set()
    assert shown(telemetry, "slow")[0] == "success"


def test_off_is_off(telemetry: Any) -> None:
    """Everything is the very same object again."""

    def functions() -> list[Any]:
        future = concurrent.futures.Future
        return [logging.Logger.callHandlers, asyncio.Timeout.__aexit__, asyncio.wait_for, future.result]

    watched = functions()
    overclaim.uninstrument()
    before = functions()
    assert watched[0] is not before[0]
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert functions() == before
    assert not timeouts._patches.on
