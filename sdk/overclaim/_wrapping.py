"""Wrap a user's function in a scope without changing what it is.

The wrappers are plain functions, not proxy objects: they pickle by name, deep-copy, and keep the signature and
the kind of the function (coroutine, generator, async generator). Wrong arguments raise at the call, as ever.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from types import FunctionType
from typing import Any, Protocol

from opentelemetry.context import Context, attach, detach, get_current

from overclaim._fail_open import report
from overclaim._forwarding import forwarding


class Scope(Protocol):
    """What surrounds one call. No method may raise, and only the first of the endings counts."""

    @property
    def context(self) -> Context | None:
        """What is current while the function runs."""
        ...

    def returned(self, result: object) -> None:
        """The function returned this."""
        ...

    def raised(self, error: BaseException) -> None:
        """The function raised this."""
        ...

    def abandoned(self, result: object) -> None:
        """The consumer closed the generator before its end; `result` is what it yielded so far."""
        ...


Arguments = tuple[Any, ...]
Start = Callable[[Arguments, dict[str, Any]], Scope | None]


def wrap(function: Callable[..., Any], start: Start) -> Callable[..., Any]:
    """A function of the same kind that opens a scope around every call; `start` may decline with None."""
    for is_kind, watched in _KINDS:
        if is_kind(function) or is_kind(type(function).__call__):  # an object that can be called
            wrapper = watched(function, start)
            break
    else:
        wrapper = _plain(function, start)
    wrapped = functools.wraps(function)(wrapper)
    if not isinstance(function, FunctionType):
        _keep_methods(function, wrapped)
    return wrapped


def _keep_methods(function: Callable[..., Any], wrapped: Callable[..., Any]) -> None:
    """Hand on what else an object that can be called offers, such as the `cache_clear` of `functools.lru_cache`."""
    kind = type(function)
    for name in dir(kind):
        if not name.startswith("_") and not hasattr(wrapped, name) and inspect.isroutine(getattr(kind, name, None)):
            setattr(wrapped, name, getattr(function, name))


def enter(scope: Scope) -> Any:
    """Make the scope's context current; gives back the token for `leave`."""
    return None if scope.context is None else attached(scope.context)


def attached(context: Context) -> Any:
    """Make a context current; gives back the token for `leave`."""
    try:
        return attach(context)
    except Exception as error:
        report("enter", error)
        return None


def leave(token: Any) -> None:
    """Restore the context from before. A token of another task or thread is dropped without a log line."""
    if token is None:
        return
    try:
        token.var.reset(token)
    except (ValueError, RuntimeError):
        return
    except AttributeError:  # a context implementation of the user's without tokens of the standard library
        detach(token)


def _plain(function: Callable[..., Any], start: Start) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        scope = start(args, kwargs)
        if scope is None:
            return function(*args, **kwargs)
        token = enter(scope)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            leave(token)
            scope.raised(error)
            raise
        leave(token)
        scope.returned(result)
        return result

    return wrapper


def _coroutine(function: Callable[..., Any], start: Start) -> Callable[..., Any]:
    template = "async def wrapper({parameters}):\n    return await __run({args}, {kwargs})"

    async def run(args: Arguments, kwargs: dict[str, Any]) -> Any:
        scope = start(args, kwargs)
        if scope is None:
            return await function(*args, **kwargs)
        token = enter(scope)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            leave(token)
            scope.raised(error)
            raise
        leave(token)
        await asked(scope, result)
        scope.returned(result)
        return result

    return forwarding(function, template, __run=run)


async def asked(scope: Scope, result: object) -> None:
    """Let a scope ask what takes time before the call counts as over. A cancellation there is the host's."""
    ask = getattr(scope, "ask", None)
    waiting = ask(result) if ask is not None else None
    if waiting is None:
        return
    try:
        await waiting
    except BaseException:
        scope.returned(result)
        raise


class _Nothing:
    """The scope of a call that is not watched."""

    context = None

    def returned(self, result: object) -> None:
        """Nothing to note."""

    def raised(self, error: BaseException) -> None:
        """Nothing to note."""

    def abandoned(self, result: object) -> None:
        """Nothing to note."""


_NOTHING = _Nothing()


class _Items:
    """What a generator yielded, bounded: its texts joined, or else its last item."""

    __slots__ = ("_last", "_size", "_texts")
    _LIMIT = 65_536

    def __init__(self) -> None:
        self._texts: list[str] | None = []
        self._size = 0
        self._last: object = None

    def add(self, item: object) -> None:
        self._last = item
        if self._texts is None:
            return
        if type(item) is not str:
            self._texts = None
        elif self._size < self._LIMIT:
            self._texts.append(item)
            self._size += len(item)

    def result(self) -> object:
        return "".join(self._texts) if self._texts else self._last


class _Inside:
    """What is current while the body of a generator runs: the scope's context, then what the body left current."""

    __slots__ = ("_context",)

    def __init__(self, scope: Scope) -> None:
        self._context = scope.context

    def enter(self) -> Any:
        return None if self._context is None else attached(self._context)

    def leave(self, token: Any) -> None:
        if token is not None:
            self._context = get_current()
            leave(token)


# The context is current only while the body runs, never while the consumer holds the generator: so it cannot
# leak into the consumer, and a generator that is closed elsewhere has nothing to restore.
def _generator(function: Callable[..., Any], start: Start) -> Callable[..., Any]:
    template = "def wrapper({parameters}):\n    return (yield from __run({args}, {kwargs}))"

    def run(args: Arguments, kwargs: dict[str, Any]) -> Generator[Any, Any, Any]:
        scope = start(args, kwargs)
        if scope is None:
            return function(*args, **kwargs)
        return _drive(scope, function, args, kwargs)

    return forwarding(function, template, __run=run)


def _drive(
    scope: Scope, function: Callable[..., Any], args: Arguments, kwargs: dict[str, Any]
) -> Generator[Any, Any, Any]:
    items, inside = _Items(), _Inside(scope)
    try:
        generator = function(*args, **kwargs)
        step, value = generator.send, None
        while True:
            token = inside.enter()
            try:
                item = step(value)
            finally:
                inside.leave(token)
            items.add(item)
            try:
                value = yield item
                step = generator.send
            except GeneratorExit:
                _close(inside, generator)
                raise
            except BaseException as thrown:
                step, value = generator.throw, thrown
    except StopIteration as stop:
        scope.returned(items.result() if stop.value is None else stop.value)
        return stop.value
    except GeneratorExit:
        scope.abandoned(items.result())
        raise
    except BaseException as error:
        scope.raised(error)
        raise


def _close(inside: _Inside, generator: Generator[Any, Any, Any]) -> None:
    token = inside.enter()
    try:
        generator.close()
    finally:
        inside.leave(token)


# `yield from` does not exist for async generators, so the wrapper itself hands on what is sent and thrown in.
_ASYNC_GENERATOR = """
async def wrapper({parameters}):
    __steps = __open({args}, {kwargs})
    while await __steps.move():
        try:
            __steps.send((yield __steps.item))
        except GeneratorExit:
            await __steps.close()
            raise
        except BaseException as __error:
            __steps.throw(__error)
"""


def _async_generator(function: Callable[..., Any], start: Start) -> Callable[..., Any]:
    def steps(args: Arguments, kwargs: dict[str, Any]) -> _Steps:
        return _Steps(start(args, kwargs) or _NOTHING, function(*args, **kwargs))

    return forwarding(function, _ASYNC_GENERATOR, __open=steps)


class _Steps:
    """An async generator that is driven step by step inside a scope."""

    __slots__ = ("_generator", "_inside", "_items", "_scope", "_step", "_value", "item")

    def __init__(self, scope: Scope, generator: AsyncGenerator[Any, Any]) -> None:
        self._scope, self._generator = scope, generator
        self._items, self._inside = _Items(), _Inside(scope)
        self._step: Callable[[Any], Awaitable[Any]] = generator.asend
        self._value: Any = None
        self.item: Any = None

    async def move(self) -> bool:
        """Take the next step; False at the end."""
        try:
            token = self._inside.enter()
            try:
                self.item = await self._step(self._value)
            finally:
                self._inside.leave(token)
        except StopAsyncIteration:
            await asked(self._scope, self._items.result())
            self._scope.returned(self._items.result())
            return False
        except BaseException as error:
            self._scope.raised(error)
            raise
        self._items.add(self.item)
        return True

    def send(self, value: object) -> None:
        """Let the next step hand this in."""
        self._step, self._value = self._generator.asend, value

    def throw(self, error: BaseException) -> None:
        """Let the next step throw this in."""
        self._step, self._value = self._generator.athrow, error

    async def close(self) -> None:
        """Close the generator before its end."""
        try:
            token = self._inside.enter()
            try:
                await self._generator.aclose()
            finally:
                self._inside.leave(token)
        except BaseException as error:
            self._scope.raised(error)
            raise
        self._scope.abandoned(self._items.result())


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Callable[..., Any], Start], Callable[..., Any]]], ...] = (
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isasyncgenfunction, _async_generator),
    (inspect.isgeneratorfunction, _generator),
)
