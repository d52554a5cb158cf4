"""`@overclaim.tool`: a span around every call of a tool, with what was claimed and what was observed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from overclaim._calls import open_call
from overclaim._errors import InputError, UsageError
from overclaim._fail_open import report
from overclaim._known_tools import register
from overclaim._runtime import RUNTIME
from overclaim._tool_spec import ToolSpec
from overclaim._wrapping import Arguments, Scope, wrap
from overclaim.outcome.model import ToolFacts
from overclaim.outcome.tool_rules import merged

if TYPE_CHECKING:
    from overclaim.expectations import ToolExpectation

F = TypeVar("F")


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    read_only: bool | None = None,
    expected_status: int | Iterable[int] = (),
    empty_ok: bool | None = None,
    reports_problems: bool | None = None,
    expect: ToolExpectation | Mapping[str, Any] | None = None,
) -> Callable[[F], F]: ...
def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    read_only: bool | None = None,
    expected_status: int | Iterable[int] = (),
    empty_ok: bool | None = None,
    reports_problems: bool | None = None,
    expect: ToolExpectation | Mapping[str, Any] | None = None,
) -> Any:
    """Watch a tool: every call becomes a span `execute_tool {name}` with its claimed and observed outcome.

    Works on functions, coroutine functions, generators, async generators, methods, class and static methods; what
    the tool returns, raises or yields is never changed. It does nothing until `overclaim.instrument()` ran.

    Args:
        function: The tool, when used without parentheses.
        name: The tool's name, by default the function's.
        read_only: Whether the tool leaves the world as it is; guessed from its name where not given.
        expected_status: HTTP statuses that are a fine answer for this tool: 404, or (404, 409).
        empty_ok: Whether an empty result is fine; False where it means that nothing was done.
        reports_problems: Whether it is the tool's job to report problems, as a linter's or a validator's, so that one
            that it reports is no failure of the call.
        expect: Whatever else an entry of `Expectations(tools=...)` may say of a tool, such as
            `{"success_when": {"field": "status", "equals": "active"}}`; what stands here as a keyword comes first.

    Raises:
        UsageError: Where the tool is declared (never where it is called), if an argument is none of the above.
    """
    if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"overclaim.tool(name={name!r}): the name must be a text")
    given = ToolFacts(
        _yes_no("read_only", read_only), _statuses(expected_status), _yes_no("empty_ok", empty_ok),
        reports_problems=_yes_no("reports_problems", reports_problems),
    )  # fmt: skip

    def decorate(target: Any) -> Any:
        _check_target(target)
        if isinstance(target, classmethod | staticmethod):
            wrapped = cast("classmethod[Any, Any, Any] | staticmethod[Any, Any]", target)
            return type(wrapped)(decorate(wrapped.__func__))  # pyright: ignore[reportArgumentType]
        spec = ToolSpec(target, name, given)
        if expect is not None:
            spec.declared = merged((given, _expected(spec.name, expect)))
        RUNTIME.watching = True
        register(spec.name, spec.description, spec.declared)
        return wrap(target, _starter(spec))

    return decorate if function is None else decorate(function)


def _expected(name: str, expect: ToolExpectation | Mapping[str, Any]) -> ToolFacts:
    """The facts of an expectation at a tool, whose postconditions are asked from now on."""
    from overclaim._postconditions import CHECKS
    from overclaim.expectations.loading import load

    try:
        whole = load({"tools": {name: expect}})
    except InputError as error:
        raise UsageError(f"overclaim.tool(expect=...) cannot be used: {error}") from None
    CHECKS.declare(whole.checks)
    return whole.entries[0].facts


def _yes_no(name: str, value: bool | None) -> bool | None:
    if value is None or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        return value
    raise UsageError(f"overclaim.tool({name}={value!r}): it must be True or False")


def _statuses(given: int | Iterable[int]) -> frozenset[int]:
    wanted: list[object] = [given] if isinstance(given, int | str) else list(given)
    statuses = frozenset(one for one in wanted if type(one) is int and 100 <= one <= 599)
    if len(statuses) == len(set(map(repr, wanted))):
        return statuses
    cure = "give numbers from 100 to 599, such as expected_status=404 or expected_status=(404, 409)"
    raise UsageError(f"overclaim.tool(expected_status={given!r}): {cure}")


def _check_target(target: object) -> None:
    if isinstance(target, str):
        raise UsageError(f"overclaim.tool({target!r}): a name goes in by keyword: @overclaim.tool(name={target!r})")
    if inspect.isclass(target):
        cure = "decorate the method that does the work"
        raise UsageError(f"overclaim.tool cannot watch a class ({target.__name__}): {cure}")
    if not callable(target) and not isinstance(target, classmethod | staticmethod):
        cure = "decorate the function that it calls"
        raise UsageError(f"overclaim.tool needs a function, but got {type(target).__name__}: {cure}")


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
