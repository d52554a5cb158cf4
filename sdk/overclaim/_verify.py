"""`overclaim.verify`: a function of the user's own that finds out whether a tool did its work."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar, cast, overload

from overclaim._errors import UsageError
from overclaim._mistakes import shown
from overclaim._postconditions import CHECKS, MAX_SECONDS, Check
from overclaim._scrub import clean

F = TypeVar("F", bound=Callable[..., Any])
_MOST = 1000
_LONGEST = 1000


@overload
def verify(tools: str | Sequence[str], /, *, timeout: float = 5.0) -> Callable[[F], F]: ...
@overload
def verify(tools: str | Sequence[str], function: F, /, *, timeout: float = 5.0) -> F: ...
def verify(tools: str | Sequence[str], function: Any = None, /, *, timeout: float = 5.0) -> Any:
    """Say how to find out whether a tool did its work: a postcondition, which outweighs what its result says.

    As `@overclaim.verify("create_user")` on a function, or as `overclaim.verify("create_user", function)`. After
    every call that returned, the function gets the call's arguments by name and its result, and tells whether it is
    so: True, False, None where it cannot know, or an `overclaim.Outcome`. It may be a coroutine function. It never
    changes what the tool gives back; an exception in it, or no answer in time, is noted as such and decides nothing.

    The tool's caller waits for it, though the tool's span keeps its own end. Where that waiting is cancelled, as by a
    timeout around an async tool, the caller gets the tool's result all the same, and the cancellation at its next wait.
    A plain tool that is called straight from a running event loop is not asked about, since the loop would stand still
    (evidence `postcondition.unanswered`, `event_loop`): make it async, or call it in a thread.

    It runs in a thread of its own (the coroutine function of an async tool in the tool's event loop, which it must not
    block), so what is bound to a thread must be opened in it. At most 32 threads ask at once; who comes later waits for
    a turn, within the same time. A function of a module that is declared again, as in a notebook, takes its own place.
    Tools that are not decorated but seen by another instrumentor are asked about outside event loops alone.

    Args:
        tools: The tool's name, or several; `*` stands for any characters.
        function: What finds out, where it is not decorated.
        timeout: Seconds after which there is no answer, at most 60.

    Raises:
        UsageError: Where it is declared (never where the tool is called), if an argument is none of the above.
    """
    patterns = _patterns(tools)
    if type(timeout) not in (int, float) or not 0 < timeout <= MAX_SECONDS:
        raise UsageError(f"overclaim.verify(timeout={shown(timeout)}): give seconds, more than 0 and at most 60")

    def register(asks: F) -> F:
        _check_function(asks)
        name = clean(getattr(asks, "__name__", type(asks).__name__))
        CHECKS.declare(Check(pattern, name, asks, float(timeout)) for pattern in patterns)
        return asks

    return register if function is None else register(function)


def _patterns(tools: str | Sequence[str]) -> tuple[str, ...]:
    if callable(tools):
        raise UsageError('overclaim.verify needs the name of the tool: @overclaim.verify("create_user")')
    kind: Any = type(tools)
    several = issubclass(kind, Iterable) and not issubclass(kind, str)
    try:
        named = tuple(islice(cast("Iterable[object]", tools), _MOST)) if several else (tools,)
    except Exception:  # nothing to go through
        named = (None,)
    texts = tuple(one for one in named if type(one) is str and len(one) <= _LONGEST and one.strip())
    if not texts or len(texts) < len(named):
        raise UsageError(f'overclaim.verify({shown(tools)}): give the name of a tool, or several: "create_user"')
    return texts


def _check_function(function: object) -> None:
    if not callable(function):
        raise UsageError(f"overclaim.verify needs a function, but got {type(function).__name__}")
    try:
        inspect.signature(function).bind({}, None)
    except ValueError:  # one without a signature
        return
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        what = f"{name} cannot take a call's arguments and result ({error})"
        raise UsageError(f"overclaim.verify: {what}: write it as def {name}(arguments, result)") from None
