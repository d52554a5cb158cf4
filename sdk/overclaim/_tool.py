"""`@overclaim.tool`: a span around every call of a tool, with what was claimed and what was observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast, overload

from overclaim._calls import open_call
from overclaim._fail_open import report
from overclaim._runtime import RUNTIME
from overclaim._tool_spec import ToolSpec
from overclaim._wrapping import Arguments, Scope, wrap
from overclaim.outcome.model import ToolFacts

F = TypeVar("F")


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    read_only: bool | None = None,
    expected_status: Iterable[int] = (),
    empty_ok: bool = False,
) -> Callable[[F], F]: ...
def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    read_only: bool | None = None,
    expected_status: Iterable[int] = (),
    empty_ok: bool = False,
) -> Any:
    """Watch a tool: every call becomes a span `execute_tool {name}` with its claimed and observed outcome.

    Works on functions, coroutine functions, generators, async generators, methods, class and static methods; what
    the tool returns, raises or yields is never changed. It does nothing until `overclaim.instrument()` ran.

    Args:
        function: The tool, when used without parentheses.
        name: The tool's name, by default the function's.
        read_only: Whether the tool leaves the world as it is; guessed from its name where not given.
        expected_status: HTTP statuses that are a fine answer for this tool, such as 404.
        empty_ok: Whether an empty result is a success.
    """
    facts = ToolFacts(read_only, frozenset(expected_status), empty_ok)

    def decorate(target: Any) -> Any:
        if isinstance(target, classmethod | staticmethod):
            wrapped = cast("classmethod[Any, Any, Any] | staticmethod[Any, Any]", target)
            return type(wrapped)(decorate(wrapped.__func__))  # pyright: ignore[reportArgumentType]
        RUNTIME.watching = True
        return wrap(target, _starter(ToolSpec(target, name, facts)))

    return decorate if function is None else decorate(function)


def _starter(spec: ToolSpec) -> Callable[[Arguments, dict[str, Any]], Scope | None]:
    def start(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
        if RUNTIME.tracer is None:
            return None
        try:
            return open_call(spec, spec.arguments(args, kwargs))
        except Exception as error:
            report("tool start", error)
            return None

    return start
