"""Laws of `@overclaim.tool`: a wrapped function is the function, whatever it does."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider

import overclaim

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=12,
)
KINDS = [ValueError, KeyError, OSError, RuntimeError, KeyboardInterrupt, SystemExit, asyncio.CancelledError]
ERRORS = st.sampled_from(KINDS)
RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module", autouse=True)
def watched() -> Iterator[None]:
    """One provider for all examples; it exports nothing."""
    provider = TracerProvider(shutdown_on_exit=False)
    overclaim.instrument(tracer_provider=provider, http_clients=False)
    yield
    overclaim.uninstrument()
    provider.shutdown()


@overclaim.tool
def echo(value: Any) -> Any:
    """Give it back."""
    return value


@overclaim.tool
async def echo_async(value: Any) -> Any:
    """Give it back, later."""
    await asyncio.sleep(0)
    return value


@RELAXED
@given(VALUES)
def test_results_are_the_same_objects(value: Any) -> None:
    """Sync and async, in a run or not, the caller gets the very object that the tool returned."""
    assert echo(value) is value
    with overclaim.run("agent") as run:
        assert echo(value) is value
        assert asyncio.run(echo_async(value)) is value
        run.answer(str(value)[:200])


@RELAXED
@given(ERRORS, st.text())
def test_exceptions_are_the_same_objects(kind: type[BaseException], text: str) -> None:
    """The caller gets the very exception, with the context and cause that it had."""
    cause = LookupError("cause")
    boom = kind(text)

    @overclaim.tool
    def fail() -> None:
        raise boom from cause

    with pytest.raises(kind) as caught:
        fail()
    assert caught.value is boom
    assert boom.__cause__ is cause
    assert boom.__context__ is None


def scripted(script: list[tuple[str, Any]]) -> Callable[[], Any]:
    """A generator function that follows a script and tells what it was sent and thrown."""

    def follow() -> Any:
        heard: list[Any] = []
        for kind, value in script:
            if kind == "raise":
                raise ValueError(value)
            try:
                heard.append((yield value))
            except LookupError as thrown:
                heard.append(type(thrown).__name__)
        return heard

    return follow


def play(generator: Any, moves: list[str]) -> list[Any]:
    """Drive a generator by a list of moves and note all that comes back."""
    log: list[Any] = []
    for move in ["next", *moves]:
        try:
            if move == "next":
                log.append(next(generator))
            elif move == "send":
                log.append(generator.send("sent"))
            elif move == "throw":
                log.append(generator.throw(LookupError("thrown")))
            else:
                log.append(generator.close())
        except StopIteration as stop:
            log.append(("stop", stop.value))
        except (ValueError, LookupError, TypeError) as error:
            log.append((type(error).__name__, str(error)))
    return log


@RELAXED
@given(
    st.lists(st.tuples(st.sampled_from(["yield", "yield", "raise"]), st.integers()), max_size=5),
    st.lists(st.sampled_from(["next", "send", "throw", "close"]), max_size=7),
)
def test_generators_behave_the_same(script: list[tuple[str, Any]], moves: list[str]) -> None:
    """Any sequence of next, send, throw and close has the same answers with and without the wrapper."""
    follow = scripted(script)
    assert play(overclaim.tool(follow)(), moves) == play(follow(), moves)


async def play_async(generator: Any, moves: list[str]) -> list[Any]:
    """As `play`, for async generators."""
    log: list[Any] = []
    for move in ["next", *moves]:
        try:
            if move == "send" and log:
                log.append(await generator.asend("sent"))
            elif move == "throw":
                log.append(await generator.athrow(LookupError("thrown")))
            elif move == "close":
                log.append(await generator.aclose())
            else:
                log.append(await anext(generator))
        except StopAsyncIteration:
            log.append("stop")
        except (ValueError, LookupError, TypeError) as error:
            log.append((type(error).__name__, str(error)))
    await generator.aclose()
    return log


@RELAXED
@given(
    st.lists(st.tuples(st.sampled_from(["yield", "yield", "raise"]), st.integers()), max_size=5),
    st.lists(st.sampled_from(["next", "send", "throw", "close"]), max_size=7),
)
def test_async_generators_behave_the_same(script: list[tuple[str, Any]], moves: list[str]) -> None:
    """The same law for async generators."""

    async def follow() -> Any:
        for kind, value in script:
            if kind == "raise":
                raise ValueError(value)
            try:
                got = yield value
            except LookupError as thrown:
                got = type(thrown).__name__
            if got is not None:
                yield got

    assert asyncio.run(play_async(overclaim.tool(follow)(), moves)) == asyncio.run(play_async(follow(), moves))


def plain(a: int, /, b: str = "x", *rest: int, key: bool = False, **more: object) -> dict[str, int]:
    """A function with every kind of parameter."""
    return {}


async def coroutine(a: int) -> None:
    """A coroutine function."""


def generator(a: int) -> Any:
    """A generator function."""
    yield a


async def async_generator(a: int) -> Any:
    """An async generator function."""
    yield a


@pytest.mark.parametrize("function", [plain, coroutine, generator, async_generator])
def test_function_looks_the_same(function: Any) -> None:
    """Signature, name, docstring, module and kind are kept."""
    for wrapped in (overclaim.tool(function), overclaim.run("agent")(function)):
        assert inspect.signature(wrapped) == inspect.signature(function)
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
            assert getattr(wrapped, name) == getattr(function, name)
        for kind in ("iscoroutinefunction", "isgeneratorfunction", "isasyncgenfunction", "isfunction"):
            assert getattr(inspect, kind)(wrapped) == getattr(inspect, kind)(function)


def test_wrapped_functions_pickle_and_copy() -> None:
    """A decorated module-level function pickles by its name, and deep copies are the function."""
    assert copy.deepcopy(echo) is echo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(echo, "__module__", "echo_module")
        import sys
        import types

        module = types.ModuleType("echo_module")
        module.echo = echo  # type: ignore[attr-defined]
        patch.setitem(sys.modules, "echo_module", module)
        assert pickle.loads(pickle.dumps(echo)) is echo


@RELAXED
@given(st.integers(), st.text(), st.lists(st.integers()), st.dictionaries(st.text(min_size=1), st.integers()))
def test_arguments_arrive_as_given(a: int, b: str, rest: list[int], more: dict[str, int]) -> None:
    """Positional, keyword, surplus and named surplus arguments all arrive."""
    more = {f"x{key}": value for key, value in more.items()}

    def take(a: int, /, b: str, *rest: int, key: int, **more: int) -> Any:
        return a, b, rest, key, more

    assert overclaim.tool(take)(a, b, *rest, key=a, **more) == take(a, b, *rest, key=a, **more)


@pytest.mark.parametrize("function", [plain, coroutine, generator, async_generator])
@pytest.mark.parametrize("decorate", [overclaim.tool, overclaim.run("agent")], ids=["tool", "run"])
def test_wrong_arguments_raise_at_the_call(function: Any, decorate: Any) -> None:
    """Whatever its kind, a function called with wrong arguments raises its own TypeError before anything runs."""
    wrapped = decorate(function)
    for args, kwargs in (((), {}), ((1,), {"a": 1, "nonsense": 2}) if function is not plain else ((), {"a": 1})):
        with pytest.raises(TypeError) as expected:
            function(*args, **kwargs)
        with pytest.raises(TypeError) as caught:
            wrapped(*args, **kwargs)
        assert str(caught.value) == str(expected.value)


def every_kind() -> list[Callable[..., Any]]:
    """Generator and coroutine functions with all kinds of parameters, which give back what they got."""

    def posonly(a: Any, b: Any = 2, /, c: Any = 3) -> Any:
        yield (a, b, c)

    def keyword_only(*, a: Any, b: Any = 2) -> Any:
        yield (a, b)

    def surplus(a: Any, *args: Any, b: Any = 2, **kwargs: Any) -> Any:
        yield (a, args, b, kwargs)

    def method(self: Any, kwargs: Any = 1, args: Any = 2) -> Any:
        yield (self, kwargs, args)

    async def later(a: Any, /, *args: Any, b: Any = 2, **kwargs: Any) -> Any:
        return (a, args, b, kwargs)

    async def stream(a: Any, *args: Any, b: Any = 2, **kwargs: Any) -> Any:
        yield (a, args, b, kwargs)

    return [posonly, keyword_only, surplus, method, later, stream]


def given_to(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function of `every_kind` got, or the text of its TypeError."""
    try:
        called = function(*args, **kwargs)
    except TypeError as error:
        return str(error)
    if inspect.isgenerator(called):
        return list(called)
    if inspect.iscoroutine(called):
        return asyncio.run(called)

    async def first() -> Any:
        return [item async for item in called]

    return asyncio.run(first())


NAMES = st.sampled_from(["a", "b", "c", "args", "kwargs", "self", "other"])


@RELAXED
@given(st.sampled_from(every_kind()), st.lists(st.integers(), max_size=4), st.dictionaries(NAMES, st.integers()))
def test_any_call_arrives_or_is_refused_as_before(
    function: Callable[..., Any], args: list[int], kwargs: dict[str, int]
) -> None:
    """Any arguments reach a generator or a coroutine unchanged, or raise the same TypeError at the call."""
    wrapped = overclaim.tool(function)
    assert given_to(wrapped, tuple(args), kwargs) == given_to(function, tuple(args), kwargs)


def test_wrong_arguments_raise_as_before() -> None:
    """A call with wrong arguments raises the function's own TypeError."""
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        echo()
