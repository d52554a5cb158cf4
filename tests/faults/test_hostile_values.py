"""Whatever a tool is given, returns or raises: the call is watched, nothing is changed, and it costs little."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from io import BytesIO
from typing import Any

import pytest

import overclaim
from overclaim._errors import UsageError

SECONDS = 0.25  # for one call, with content on; the usual is below 5 ms, but the machines of CI stumble
MEGA = "x" * 100_000_000


class TouchedError(Exception):
    """Somebody ran the code of a hostile object."""


def touched(*_: Any, **__: Any) -> Any:
    """Stand for a method that must not be called."""
    raise TouchedError


class Touchy:
    """An object all of whose methods raise."""

    __repr__ = __str__ = __bool__ = __len__ = __iter__ = __getitem__ = __getattr__ = touched
    __float__ = __int__ = __index__ = __format__ = __contains__ = touched  # pyright: ignore[reportAssignmentType]
    # `__eq__` and `__hash__` are those of a value that cannot be compared.
    __eq__ = touched
    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Guarded(Touchy):
    """An object that cannot even be asked for its attributes."""

    __getattribute__ = touched


class Liar:
    """An object that says that it is a dict, by code that raises."""

    @property
    def __class__(self) -> Any:  # pyright: ignore
        """Raise."""
        raise TouchedError


class Pretender:
    """An object that says that it is a text."""

    __class__ = str  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


class LazyDict(dict[str, Any]):
    """A dict that loads what it holds when somebody looks."""

    items = values = keys = __iter__ = __len__ = __getitem__ = get = copy = __contains__ = touched


class LazyList(list[Any]):
    """A list that loads what it holds when somebody looks."""

    __iter__ = __len__ = __getitem__ = __contains__ = __bool__ = touched


class OddText(str):
    """A text with methods of its own."""

    __slots__ = ()
    __len__ = __getitem__ = __iter__ = lower = strip = encode = __str__ = __contains__ = touched  # pyright: ignore[reportAssignmentType]


class OddInt(int):
    """A number with methods of its own."""

    __str__ = __repr__ = __format__ = __eq__ = __lt__ = __sub__ = __bool__ = touched
    __hash__ = int.__hash__


class Colour(Enum):
    """A value of an enumeration."""

    RED = ("red", 1)


class Slotted:
    """An object without a dictionary."""

    __slots__ = ("name", "unset")

    def __init__(self) -> None:
        self.name = "Ann"


class Recursive:
    """An object that holds itself."""

    def __init__(self) -> None:
        self.me = self
        self.all = [self, {"me": self}]


def deep(levels: int) -> Any:
    """A value of so many levels."""
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value


def wide() -> Any:
    """A small value that is endless to whoever walks it."""
    value: Any = ["v"] * 64
    for _ in range(8):
        value = [value] * 64
    return value


def looped() -> Any:
    """A dict that holds itself."""
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def numbers() -> Iterator[int]:
    """Nobody but the program may take its numbers."""
    yield from range(3)


def odd_keys() -> dict[Any, Any]:
    """Keys that are no texts."""
    return {None: 1, 1.5: 2, (1, "password"): "x", b"token": "y", Colour.RED: 3, frozenset[int](): 4}


def frame() -> Any:
    """A data frame, or an array where pandas is missing."""
    return pytest.importorskip("pandas").DataFrame({"a": [1, 2]})


def array() -> Any:
    """An array, whose truth nobody may ask for."""
    return pytest.importorskip("numpy").zeros((3, 3))


def same(one: object, other: object) -> bool:
    """Whether two are one, asked here so that a failing test does not show a hostile object."""
    return one is other


MAKERS: dict[str, Callable[[], Any]] = {
    "touchy": Touchy,
    "guarded": Guarded,
    "liar": Liar,
    "pretender": Pretender,
    "lazy dict": lambda: LazyDict(a=1),
    "lazy list": lambda: LazyList([1, 2]),
    "odd text": lambda: OddText("Error: refused"),
    "odd int": lambda: OddInt(404),
    "enum": lambda: Colour.RED,
    "slots": Slotted,
    "recursive": Recursive,
    "deep": lambda: deep(10_000),
    "wide": wide,
    "loop": looped,
    "generator": numbers,
    "100 MB": lambda: MEGA,
    "100 MB of JSON": lambda: '{"a": "' + MEGA + '"}',
    "100 MB of bytes": lambda: bytes(100_000_000),
    "memory": lambda: memoryview(bytearray(1000)),
    "a million keys": lambda: dict.fromkeys(range(1_000_000)),
    "a million items": lambda: [0] * 1_000_000,
    "surrogate": lambda: "Error: \ud800",
    "NUL": lambda: "a\0b",
    "bidi": lambda: "\u202eabc",
    "controls": lambda: "\x1b[31m\r\n",
    "huge int": lambda: 10**100_000,
    "huge in dict": lambda: {"status": 10**100_000, "count": -(10**5000)},
    "nan": lambda: Decimal("NaN"),
    "signalling": lambda: Decimal("sNaN"),
    "inf": lambda: float("inf"),
    "date": lambda: datetime(2026, 1, 1, tzinfo=UTC),
    "set": lambda: {1, "a"},
    "frozenset": lambda: frozenset({(1, 2)}),
    "odd keys": odd_keys,
    "file": lambda: sys.__stderr__,
    "buffer": lambda: BytesIO(b"abc"),
    "class": lambda: Touchy,
    "function": lambda: deep,
    "module": lambda: pytest,
    "frame": frame,
    "array": array,
    "exception": lambda: ValueError("no"),
    "deep JSON": lambda: "[" * 10_000 + "]" * 10_000,
    "deep dict": lambda: {"error": deep(10_000)},
    "code": lambda: {"error": Touchy(), "status": Liar(), "code": Guarded()},
    "long key": lambda: {"k" * 1_000_000: 1},
    "not closed": lambda: '{"password": "' + "\\" * 5000,
    "patterns": lambda: "a." * 50_000 + "a://" * 50_000 + "1 " * 50_000 + "password=" * 50_000,
    "half JSON": lambda: '{"a":' * 3000,
    "quotes": lambda: '\\"' * 50_000,
}


@pytest.fixture(params=[False, True], ids=["content off", "content on"])
def watched(request: pytest.FixtureRequest, telemetry: Any) -> Any:
    """Spans, with content off and on."""
    overclaim.instrument(tracer_provider=telemetry.provider, capture_content=request.param)
    return telemetry


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_any_value_goes_through_a_tool(watched: Any, make: Callable[[], Any]) -> None:
    """The same object comes back, its code is not run, the call is counted, and the time is short."""
    value = make()

    @overclaim.tool
    def pass_on(given: Any) -> Any:
        return value

    with overclaim.run("clerk") as run:
        began = time.thread_time()
        given = pass_on(value)
        took = time.thread_time() - began
        run.answer("I created the user.")
    assert same(given, value)
    assert took < SECONDS
    span = watched.one("execute_tool pass_on")
    assert span.attributes["overclaim.claimed.outcome"]
    assert span.attributes["overclaim.call.args_shape"]
    assert watched.one("invoke_agent clerk").attributes["overclaim.run.calls"] == 1
    assert sum(map(len, map(str, span.attributes.values()))) < 8_000
    if type(value) is type(numbers()):
        assert list(value) == [0, 1, 2]


class MuteError(Exception):
    """An error that cannot be told."""

    __str__ = __repr__ = touched


class LongError(Exception):
    """An error with a text of 100 MB."""

    def __str__(self) -> str:
        return MEGA


ERRORS: dict[str, Callable[[], BaseException]] = {
    "mute": MuteError,
    "long": LongError,
    "surrogate": lambda: ValueError("\ud800\0"),
    "long name": lambda: type("E" * 1_000_000, (Exception,), {})("x"),
    "odd name": lambda: type("Bad\nError", (Exception,), {"__module__": 5})("x"),
    "cause of itself": lambda: _own_cause(),
}


def _own_cause() -> Exception:
    error = ValueError("x")
    error.__context__ = error
    return error


@pytest.mark.parametrize("make", ERRORS.values(), ids=ERRORS)
def test_any_exception_leaves_a_tool(watched: Any, make: Callable[[], BaseException]) -> None:
    """The program gets its own exception, and the span says that there was one, in few words."""
    error = make()

    @overclaim.tool
    def fail() -> None:
        raise error

    began = time.thread_time()
    raised: BaseException | None = None
    try:
        fail()
    except BaseException as caught:
        raised = caught
    assert time.thread_time() - began < SECONDS
    assert same(raised, error)
    (span,) = watched.spans
    assert span.status.status_code.name == "ERROR"
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert 0 < len(span.attributes["error.type"]) <= 256
    assert span.attributes["error.type"].encode().isascii()
    assert sum(map(len, map(str, span.attributes.values()))) < 8_000


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_any_value_of_a_framework(watched: Any, make: Callable[[], Any]) -> None:
    """A hook that is handed anything as name, arguments, id, description or result neither raises nor waits."""
    from overclaim._hooks import Reply, agent_run, answered, tool_call

    value = make()
    began = time.thread_time()
    handed: list[tuple[Any, Any]] = [(value, {}), ("look_up", value), ("look_up", {"a": value})]
    for given in handed:
        scope = tool_call(*given, call_id=value, description=value, read=lambda got: Reply(got, error_text=value))
        if scope is not None:
            scope.returned(value)
    scope = agent_run(value, model=value, version=value, answer=lambda result: result)
    answered(value)
    if scope is not None:
        scope.returned(value)
    assert time.thread_time() - began < 4 * SECONDS
    for span in watched.spans:
        assert len(span.name) < 300
        assert all(len(str(one)) < 20_000 for one in span.attributes.values())


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_any_value_in_the_public_functions(watched: Any, make: Callable[[], Any]) -> None:
    """Whatever a program states at run time, it goes on; a value that is none gives a warning."""
    value = make()

    @overclaim.tool
    def work() -> str:
        overclaim.observe(value)
        overclaim.observe("success", rule=value, value=value)
        return "done"

    began = time.thread_time()
    with overclaim.run("x" if is_function(value) else value, id=value, version=value, model=value) as run:
        work()
        overclaim.claim(value)
        overclaim.claim(action=value)
        overclaim.claim(outcome=value)
        overclaim.claim("I created Ann.", about=value)
        overclaim.claim(action="create", targets=value)
        overclaim.check(value)
        run.answer(value)
    assert time.thread_time() - began < 6 * SECONDS
    assert watched.spans[-1].name.startswith("invoke_agent")


def is_function(value: Any) -> bool:
    """Whether it would be taken for a function to decorate."""
    return callable(value)


def _holds(arguments: Any, result: Any) -> bool:
    return True


DECLARED: dict[str, Callable[[Any], Any]] = {
    "tool name": lambda value: overclaim.tool(name=value),
    "tool": lambda value: overclaim.tool(value),
    "read_only": lambda value: overclaim.tool(read_only=value),
    "expected_status": lambda value: overclaim.tool(expected_status=value),
    "expect": lambda value: overclaim.tool(name="a", expect=value)(lambda: None),
    "on_overclaim": lambda value: overclaim.run("a", on_overclaim=value),
    "retries": lambda value: overclaim.run("a", retries=value),
    "verify": lambda value: overclaim.verify(value, _holds),
    "timeout": lambda value: overclaim.verify("a", timeout=value),
}
ODD = ["touchy", "guarded", "liar", "pretender", "lazy dict", "lazy list", "odd int", "100 MB", "huge int", "surrogate"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("declare", DECLARED.values(), ids=DECLARED)
def test_a_mistake_where_things_are_declared(declare: Callable[[Any], Any], odd: str) -> None:
    """It raises UsageError with a short text, or is taken; nothing else comes out of it."""
    began, told = time.thread_time(), ""
    try:
        declare(MAKERS[odd]())
    except UsageError as error:
        told = str(error)
    assert len(told) < 600
    assert time.thread_time() - began < 4 * SECONDS
