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
_SPENT = ("input_tokens", "output_tokens", "total_tokens", "cost")


def guard(*, retries: int = 1) -> Callable[[Any, Any], Awaitable[Any]]:
    """An output validator that asks whether the answer is borne out by the calls of the run.

    Where it is not, the model is told what its calls show, and answers again. An answer that still claims too much
    passes then, with its verdict on the run's span: a run does not fail because of the guard, which also leaves off
    where the agent has no retries of its outputs left, or where its usage limits may not allow for two more requests
    and a call of a tool. Without `overclaim.instrument()` every answer passes.

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
        if told and _has_room(ctx):
            _count(asked, ctx.run_id)
            raise _retry(told)
        return output

    return borne_out


def _objection(output: Any) -> str:
    """What to tell the model of its answer; "" where nothing speaks against it."""
    said = spoken(output)
    judgement = check(said) if said else None
    return feedback(judgement) if judgement is not None and judgement.verdict.accuses else ""


def _has_room(ctx: Any) -> bool:
    """Whether the agent may go on: the model asked again, perhaps a tool called again, and the model after that.

    Requests grow with the conversation, so one may take twice what they took on average so far.
    """
    limits, usage = ctx.usage_limits, ctx.usage
    if limits is None:
        return True
    requests = max(usage.requests, 1)
    read = limits.per_request_input_tokens_limit
    if read is not None and 2 * usage.input_tokens > read * requests:
        return False
    rooms = ((limits.request_limit, usage.requests, 2), (limits.tool_calls_limit, usage.tool_calls, 1))
    more = 1 + 4 / requests
    spent = ((getattr(limits, f"{what}_limit"), getattr(usage, what)) for what in _SPENT)
    return all(limit is None or used + needed <= limit for limit, used, needed in rooms) and all(
        limit is None or used is None or float(used) * more <= limit for limit, used in spent
    )


def _count(asked: OrderedDict[Any, int], run_id: Any) -> None:
    asked[run_id] = asked.pop(run_id, 0) + 1
    if len(asked) > _MOST_RUNS:
        asked.popitem(last=False)


def _retry(told: str) -> Exception:
    return import_module("pydantic_ai").ModelRetry(told)
