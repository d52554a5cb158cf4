"""What a run does when its agent's answer claims too much: `overclaim.run(on_overclaim=...)`.

All of it is opt-in: without it nothing is asked, and the answer passes as it is.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

from overclaim import _mistakes, _verdicts
from overclaim._errors import Overclaimed, UsageError
from overclaim._fail_open import fail_open
from overclaim._runs import RunState
from overclaim.outcome.feedback import feedback
from overclaim.outcome.model import Judgement

Action = Literal["annotate", "feedback", "raise"]
OnOverclaim = Action | Callable[[Judgement], Any]
_ACTIONS: Final = ("annotate", "feedback", "raise")
_AGAIN: Final = "feedback"


class Guard:
    """What is done about an answer that claims too much. retries: how often the agent may answer again."""

    __slots__ = ("_act", "asks_again", "awaits", "retries")

    def __init__(self, act: OnOverclaim, retries: int) -> None:
        self._act = act
        self.awaits = inspect.iscoroutinefunction(act)
        self.asks_again = type(act) is str and act == _AGAIN
        self.retries = retries if self.asks_again else 0

    def accused(self, state: RunState, answer: str) -> Accusation | None:
        """The verdict on an answer, None where it accuses nothing or could not be had."""
        judgement = _asked(state, answer)
        accuses = judgement is not None and judgement.verdict.accuses
        return Accusation(judgement, state, answer) if accuses and judgement is not None else None

    def act(self, accusation: Accusation) -> Any:
        """Do what was asked for; gives back what a callable gave.

        Raises:
            Overclaimed: where that was asked for; and whatever a callable raises.
        """
        judgement = accusation.judgement
        with accusation.kept():
            if type(self._act) is str and self._act == "raise":
                raise Overclaimed(judgement, words(judgement) or "")
            return self._act(judgement) if callable(self._act) else None

    async def act_async(self, accusation: Accusation) -> None:
        """The same, for a callable that may have to be awaited."""
        acted = self.act(accusation)
        if inspect.isawaitable(acted):
            with accusation.kept():
                await acted


class Accusation(NamedTuple):
    """An answer that claims too much."""

    judgement: Judgement
    state: RunState
    answer: str

    @contextmanager
    def kept(self) -> Generator[None, None, None]:
        """Take the answer for given where an error stops it, or nobody would ever see what was stopped."""
        try:
            yield
        except BaseException:
            self.state.say(self.answer)
            raise


def guard(on_overclaim: object, retries: object) -> Guard | None:
    """The guard that arguments of `overclaim.run` ask for.

    Raises:
        UsageError: an argument is none that is allowed.
    """
    if type(retries) is not int or retries < 0:
        raise UsageError(f"overclaim.run(retries={_mistakes.shown(retries)}): give a number of 0 or more")
    if on_overclaim is None:
        return None
    if callable(on_overclaim) or (type(on_overclaim) is str and on_overclaim in _ACTIONS):
        return Guard(on_overclaim, retries)  # pyright: ignore[reportArgumentType]
    cure = 'give "annotate", "feedback", "raise", or a function that takes the overclaim.Judgement'
    raise UsageError(f"overclaim.run(on_overclaim={_mistakes.shown(on_overclaim)}): {cure}")


def guarded(
    function: Callable[..., Any], guard: Guard, run: Callable[[], RunState | None], read: Callable[[Any], str | None]
) -> Callable[..., Any]:
    """The function, with its answer asked about before it is given back; goes inside the run's own wrapper.

    run: the run that is open around the call. read: finds the answer in a result.

    Raises:
        UsageError: the function cannot be asked again, or gives its answer piece by piece.
    """
    _check_function(function, guard)
    if inspect.iscoroutinefunction(function):
        return _guarded_coroutine(function, guard, run, read)

    @functools.wraps(function)
    def ask(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        for left in reversed(range(guard.retries + 1)):
            accusation = _accused(guard, run(), read, result)
            if accusation is None:
                break
            guard.act(accusation)
            if left and (told := words(accusation.judgement)):
                result = function(*args, **{**kwargs, _AGAIN: told})
        return result

    return ask


def _guarded_coroutine(
    function: Callable[..., Any], guard: Guard, run: Callable[[], RunState | None], read: Callable[[Any], str | None]
) -> Callable[..., Any]:
    @functools.wraps(function)
    async def ask(*args: Any, **kwargs: Any) -> Any:
        result = await function(*args, **kwargs)
        for left in reversed(range(guard.retries + 1)):
            accusation = _accused(guard, run(), read, result)
            if accusation is None:
                break
            await guard.act_async(accusation)
            if left and (told := words(accusation.judgement)):
                result = await function(*args, **{**kwargs, _AGAIN: told})
        return result

    return ask


def _accused(guard: Guard, state: RunState | None, read: Callable[[Any], str | None], result: Any) -> Accusation | None:
    said = _read(read, result)
    return guard.accused(state, said) if state is not None and isinstance(said, str) else None


@fail_open
def _read(read: Callable[[Any], str | None], result: Any) -> str | None:
    return read(result)


@fail_open
def words(judgement: Judgement) -> str:
    """What to tell the agent about an answer that claims too much; None where even that goes wrong."""
    return feedback(judgement)


@fail_open
def _asked(state: RunState, answer: str) -> Judgement:
    return _verdicts.on_draft(state, answer)


def _check_function(function: Callable[..., Any], guard: Guard) -> None:
    name = getattr(function, "__name__", "the function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        cure = "open the run by `with overclaim.run(...) as run:` and call run.answer(text) before you send the text"
        raise UsageError(f"overclaim.run(on_overclaim=...) cannot hold back what {name} yields: {cure}")
    if guard.awaits and not inspect.iscoroutinefunction(function):
        raise UsageError(f"overclaim.run(on_overclaim=...): nobody can await it in {name}: give a plain function")
    if guard.asks_again and not _takes_feedback(function):
        cure = f"give {name} a parameter `feedback: str | None = None` and hand it to the agent's model"
        raise UsageError(f'overclaim.run(on_overclaim="feedback") has no way to tell {name}: {cure}')


def _takes_feedback(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    named = parameters.get(_AGAIN)
    keyword = named is not None and named.kind is not inspect.Parameter.POSITIONAL_ONLY
    return keyword or any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
