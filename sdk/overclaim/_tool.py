"""`@overclaim.tool`: a span around every call of a tool, with what was claimed and what was observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from overclaim._calls import open_call
from overclaim._errors import InputError, UsageError
from overclaim._fail_open import report
from overclaim._known_tools import register
from overclaim._mistakes import shown
from overclaim._runtime import RUNTIME
from overclaim._tool_spec import ToolSpec
from overclaim._wrapping import Arguments, Scope, wrap
from overclaim.outcome.model import ToolFacts
from overclaim.outcome.tool_rules import merged

if TYPE_CHECKING:
    from overclaim.expectations import ToolExpectation

F = TypeVar("F")
_MOST_STATUSES = 1000


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

    Works on functions, coroutine functions, generators, async generators, methods, class and static methods, and on
    objects that can be called; what the tool returns, raises or yields is never changed. Where a plain function gives
    what is still to be awaited, iterated over or entered, the outcome of the call is unknown. It does nothing until
    `overclaim.instrument()` ran.

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
    if name is not None and not issubclass(type(name), str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"overclaim.tool(name={shown(name)}): the name must be a text")
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
    from overclaim.expectations import ToolExpectation
    from overclaim.expectations.loading import load

    kind: Any = type(expect)
    if not issubclass(kind, (Mapping, ToolExpectation)):
        raise UsageError(f"overclaim.tool(expect={shown(expect)}): give a mapping or a ToolExpectation")
    try:
        whole = load({"tools": {name: expect}})
    except InputError as error:
        raise UsageError(f"overclaim.tool(expect=...) cannot be used: {error}") from None
    except Exception as error:  # it is nothing that can be read
        raise UsageError(f"overclaim.tool(expect={shown(expect)}) cannot be used: {type(error).__name__}") from None
    CHECKS.declare(whole.checks)
    return whole.entries[0].facts


def _yes_no(name: str, value: bool | None) -> bool | None:
    if value is None or type(value) is bool:  # pyright: ignore[reportUnnecessaryIsInstance]
        return value
    raise UsageError(f"overclaim.tool({name}={shown(value)}): it must be True or False")


def _statuses(given: int | Iterable[int]) -> frozenset[int]:
    try:
        one_only = issubclass(type(given), int | str)
        wanted: list[object] = [given] if one_only else list(islice(cast("Iterable[object]", given), _MOST_STATUSES))
    except Exception:  # nothing to go through
        wanted = [None]
    if all(type(one) is int and 100 <= one <= 599 for one in wanted):
        return frozenset(cast("list[int]", wanted))
    cure = "give numbers from 100 to 599, such as expected_status=404 or expected_status=(404, 409)"
    raise UsageError(f"overclaim.tool(expected_status={shown(given)}): {cure}")


def _check_target(target: object) -> None:
    if type(target) is str:
        said = shown(target)
        raise UsageError(f"overclaim.tool({said}): a name goes in by keyword: @overclaim.tool(name={said})")
    kind = type(target)  # whatever it is, it need not answer what it is
    if issubclass(kind, type):
        cure = "decorate the method that does the work"
        raise UsageError(f"overclaim.tool cannot watch a class ({getattr(target, '__name__', 'type')}): {cure}")
    if not callable(target) and not issubclass(kind, classmethod | staticmethod):
        cure = "decorate the function that it calls"
        raise UsageError(f"overclaim.tool needs a function, but got {kind.__name__}: {cure}")


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
