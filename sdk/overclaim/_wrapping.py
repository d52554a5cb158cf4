"""Wrap a user's function in a scope without changing what it is.

The wrappers are plain closures, not proxy objects: they pickle by name, deep-copy, and keep the signature and
the kind of the function (coroutine, generator, async generator).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Protocol

from opentelemetry.context import Context, attach, detach

from overclaim._fail_open import report


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
    if inspect.iscoroutinefunction(function):
        wrapper = _coroutine(function, start)
    elif inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, start)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, start)
    else:
        wrapper = _plain(function, start)
    return functools.wraps(function)(wrapper)


def enter(scope: Scope) -> Any:
    """Make the scope's context current; gives back the token for `leave`."""
    if scope.context is None:
        return None
    try:
        return attach(scope.context)
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
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
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
        scope.returned(result)
        return result

    return wrapper


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


# The context is current only while the body runs, never while the consumer holds the generator: so it cannot
# leak into the consumer, and a generator that is closed elsewhere has nothing to restore.
def _generator(function: Callable[..., Any], start: Start) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        scope = start(args, kwargs)
        if scope is None:
            unwatched: Generator[Any, Any, Any] = function(*args, **kwargs)
            return (yield from unwatched)
        return (yield from _drive(scope, function, args, kwargs))

    return wrapper


def _drive(
    scope: Scope, function: Callable[..., Any], args: Arguments, kwargs: dict[str, Any]
) -> Generator[Any, Any, Any]:
    items = _Items()
    try:
        generator = function(*args, **kwargs)
        step, value = generator.send, None
        while True:
            token = enter(scope)
            try:
                item = step(value)
            finally:
                leave(token)
            items.add(item)
            try:
                value = yield item
                step = generator.send
            except GeneratorExit:
                _close(scope, generator)
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


def _close(scope: Scope, generator: Generator[Any, Any, Any]) -> None:
    token = enter(scope)
    try:
        generator.close()
    finally:
        leave(token)


def _async_generator(function: Callable[..., Any], start: Start) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        scope: Scope = start(args, kwargs) or _NOTHING
        items = _Items()
        try:
            generator = function(*args, **kwargs)
            step, value = generator.asend, None
            while True:
                token = enter(scope)
                try:
                    item = await step(value)
                finally:
                    leave(token)
                items.add(item)
                try:
                    value = yield item
                    step = generator.asend
                except GeneratorExit:
                    await generator.aclose()
                    raise
                except BaseException as thrown:
                    step, value = generator.athrow, thrown
        except StopAsyncIteration:
            scope.returned(items.result())
        except GeneratorExit:
            scope.abandoned(items.result())
            raise
        except BaseException as error:
            scope.raised(error)
            raise

    return wrapper
