"""A guard for agents of Pydantic AI: an answer that claims too much goes back to the model, which may mend it.

It is an output validator: `agent.output_validator(guard())`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from overclaim._errors import UsageError
from overclaim._guard import check, feedback
from overclaim.integrations.pydantic_ai import spoken

__all__ = ["guard"]

_MOST_RUNS = 1024


def guard(*, retries: int = 1) -> Callable[[Any, Any], Awaitable[Any]]:
    """An output validator that asks whether the answer is borne out by the calls of the run.

    Where it is not, the model is told what its calls show, and answers again. An answer that still claims too much
    passes then, with its verdict on the run's span: a run never fails because of the guard, which also leaves off
    where the agent has no retries of its outputs left. Without `overclaim.instrument()` every answer passes.

    Args:
        retries: how often the model may answer again in one run. Each takes one of the agent's own output retries, so
            an agent that needs those for other validators as well wants more of them: `Agent(retries=...)`.

    Raises:
        UsageError: retries is no number of 0 or more.
    """
    if type(retries) is not int or retries < 0:
        raise UsageError(f"overclaim.guards.pydantic_ai.guard(retries={retries!r}): give a number of 0 or more")
    asked: OrderedDict[Any, int] = OrderedDict()

    async def borne_out(ctx: Any, output: Any) -> Any:
        if ctx.partial_output or ctx.retry >= ctx.max_retries or asked.get(ctx.run_id, 0) >= retries:
            return output
        told = _objection(output)
        if told:
            _count(asked, ctx.run_id)
            raise _retry(told)
        return output

    return borne_out


def _objection(output: Any) -> str:
    """What to tell the model of its answer; "" where nothing speaks against it."""
    said = spoken(output)
    judgement = check(said) if said else None
    return feedback(judgement) if judgement is not None and judgement.verdict.accuses else ""


def _count(asked: OrderedDict[Any, int], run_id: Any) -> None:
    asked[run_id] = asked.pop(run_id, 0) + 1
    if len(asked) > _MOST_RUNS:
        asked.popitem(last=False)


def _retry(told: str) -> Exception:
    return import_module("pydantic_ai").ModelRetry(told)
