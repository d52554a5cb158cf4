"""`overclaim.run`: what a program tells us about a run of its agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, overload

from opentelemetry.trace import INVALID_SPAN, Span

from overclaim import _mistakes
from overclaim._fail_open import fail_open
from overclaim._on_overclaim import Accusation, Guard, OnOverclaim, guard, guarded, words
from overclaim._run_scope import Answer, Place, RunScope, begin_run, live_run, text_in
from overclaim._wrapping import Arguments, Scope, enter, leave, wrap

F = TypeVar("F", bound=Callable[..., Any])
_NO_ASYNC = "the function is a coroutine function: call `await run.answer_async(text)`"


class AgentRun:
    """One run of an agent: a context manager (`with`, `async with`) and a decorator. Made by `overclaim.run`.

    As a decorator, a text that the function returns (or the texts that it yields) is the agent's answer, or else what
    `answer` makes of its result.
    """

    def __init__(
        self, name: object, run_id: object, version: object, model: object, answer: Answer | None = None,
        guard: Guard | None = None,
    ) -> None:  # fmt: skip
        self._name, self._run_id, self._version, self._model = name, run_id, version, model
        self._read, self._guard = _reader(answer), guard
        self._told = 0
        self._scope: RunScope | None = None
        self._token: Any = None

    @property
    def id(self) -> str:
        """The id of the run; empty before it starts."""
        return self._scope.state.id if self._scope is not None else ""

    @property
    def span(self) -> Span:
        """The agent span, to add own attributes to it."""
        return self._scope.state.span if self._scope is not None else INVALID_SPAN

    def answer(self, text: str) -> str | None:
        """Say what the agent tells its user. Its claims are compared with the calls when the run ends.

        Where the run was opened with `on_overclaim`, the answer is asked about first. With "feedback", an answer that
        claims too much is not taken: this gives back what to tell the agent, at most `retries` times a run; else None.

        Raises:
            Overclaimed: with on_overclaim="raise", if the answer claims too much.
        """
        accusation = self._accused(text)
        acted = self._guard.act(accusation) if accusation is not None and self._guard is not None else None
        if inspect.isawaitable(acted):
            _mistakes.warn("overclaim.run(on_overclaim=...)", type(acted).__name__, _NO_ASYNC)
            getattr(acted, "close", lambda: None)()
        return self._taken(text, accusation)

    async def answer_async(self, text: str) -> str | None:
        """As `answer`, for an `on_overclaim` that is a coroutine function."""
        accusation = self._accused(text)
        if accusation is not None and self._guard is not None:
            await self._guard.act_async(accusation)
        return self._taken(text, accusation)

    def _accused(self, text: str) -> Accusation | None:
        if self._guard is None or self._scope is None or not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            return None
        return self._guard.accused(self._scope.state, text)

    def _taken(self, text: str, accusation: Accusation | None) -> str | None:
        left = self._guard is not None and self._told < self._guard.retries
        if left and accusation is not None and (told := words(accusation.judgement)):
            self._told += 1
            return told
        if not issubclass(type(text), str):  # pyright: ignore[reportUnnecessaryIsInstance] # isinstance would ask the object for its __class__
            _mistakes.warn("run.answer", text, "give the text that the agent's user sees")
        elif self._scope is not None:
            self._scope.state.say(text)
        return None

    def __enter__(self) -> AgentRun:
        self._told = 0
        self._scope = self._open()
        if self._scope is not None:
            self._token = enter(self._scope)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave(self._token)
        self._token = None
        if self._scope is None:
            return
        if error is None:
            self._scope.end(None)
        else:
            self._scope.raised(error)

    async def __aenter__(self) -> AgentRun:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Make every call of the function a run."""
        if self._name is None:
            self._name = getattr(function, "__name__", None)

        place = _defined_at(function)
        watched: Callable[..., Any] = function
        if self._guard is not None:
            watched = guarded(function, self._guard, live_run, self._read or text_in)

        def start(_: Arguments, __: dict[str, Any]) -> Scope | None:
            return self._open(place)

        return wrap(watched, start)  # pyright: ignore[reportReturnType]

    @fail_open
    def _open(self, place: Place | None = None) -> RunScope | None:
        scope = begin_run(self._name, self._run_id, self._version, self._model)
        if scope is not None:
            scope.answer, scope.place = self._read, place
        return scope


@overload
def run(name: F, /) -> F: ...
@overload
def run(
    name: str | None = None,
    *,
    id: object = None,
    version: object = None,
    model: object = None,
    answer: Answer | None = None,
    on_overclaim: OnOverclaim | None = None,
    retries: int = 1,
) -> AgentRun: ...
def run(
    name: Any = None,
    *,
    id: object = None,
    version: object = None,
    model: object = None,
    answer: Answer | None = None,
    on_overclaim: OnOverclaim | None = None,
    retries: int = 1,
) -> Any:
    """One run of an agent, as `with overclaim.run("agent") as run:` or as a decorator, with or without parentheses.

    What the agent tells its user is what is compared with its calls: give it by `run.answer(text)` within `with`. A
    decorated function returns or yields it; where its result is no text, `answer` says which text in it that is. A
    result that is neither gives a WARNING of the logger "overclaim", once per place.

    Args:
        name: The agent's name, by default that of the decorated function.
        id: Your own id of the run; made up where not given. What is no text is taken by its `str()`, as are the
            other arguments.
        version: The agent's version.
        model: The model that the agent uses.
        answer: For decorated functions: takes the result and gives the answer in it, such as
            `lambda result: result["text"]`; None where there is none. The result itself is passed on unchanged.
        on_overclaim: What to do where the answer claims more than the calls show. "annotate" puts the verdict on the
            agent span. "feedback" lets the agent answer again: a decorated function is called once more with
            `feedback=` what to tell its model, and `run.answer` gives that text back. "raise" raises
            `overclaim.Overclaimed`, before the answer is out. A function is called with the `overclaim.Judgement`; in
            a coroutine function it may be one, too. By default nothing is asked.
        retries: How often "feedback" lets the agent answer again; what it says then is given out.

    Raises:
        UsageError: Where the run is declared (never while the agent works), if an argument is none of the above.
    """
    if callable(name):
        return AgentRun(None, id, version, model)(name)
    return AgentRun(name, id, version, model, answer, guard(on_overclaim, retries))


def _reader(answer: Answer | None) -> Answer | None:
    if answer is None or callable(answer):
        return answer
    _mistakes.warn("overclaim.run(answer=...)", answer, "give a function that takes the result and gives the answer")
    return None


def _defined_at(function: Callable[..., Any]) -> Place | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else None
