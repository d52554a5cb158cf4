"""A guard for the OpenAI Agents SDK: an answer that claims too much goes back to the agent, which may mend it.

result = await run(agent, "Create a payment intent for 12.50 EUR.")
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from opentelemetry.context import get_current, set_value

import overclaim
from overclaim._errors import UsageError
from overclaim._fail_open import fail_open
from overclaim._guard import check, feedback
from overclaim._wrapping import attached, leave
from overclaim.integrations.openai_agents import AGAIN, answer_of

__all__ = ["run"]

_log = logging.getLogger("overclaim")

# With these the conversation is kept elsewhere, so that only what is new is handed over.
_KEPT = ("session", "conversation_id")


async def run(agent: Any, input: Any, *, retries: int = 1, **options: Any) -> Any:
    """As `Runner.run(agent, input, **options)`, but an answer that the calls do not bear out goes back to the agent.

    It is told what its calls show, and runs again from where it was, all as one run of which the last answer counts. An
    answer that still claims too much passes then, with its verdict on the run's span. Without `overclaim.instrument()`
    every answer passes. The result is that of the last time; `new_items` of the ones before are in its `input`. Where
    the agent cannot answer again, such as for `max_turns`, a guardrail or an outage, the answer before that passes.

    Args:
        agent: the agent to begin with; the one that answered is the one that is told.
        input: what `Runner.run` takes.
        retries: how often the agent may answer again.
        options: what else `Runner.run` takes.

    Raises:
        UsageError: retries is no number of 0 or more.
    """
    runner: Any = import_module("agents").Runner
    if type(retries) is not int or retries < 0:
        raise UsageError(f"overclaim.guards.openai_agents.run(retries={retries!r}): give a number of 0 or more")
    async with overclaim.run(str(getattr(agent, "name", "") or "")) as watched:
        result = await runner.run(agent, input, **options)
        for _ in range(retries):
            told = _objection(result)
            if not told:
                break
            again = await _again(runner, result, told, options)
            if again is None:
                break
            result = again
        answer = answer_of(result)
        if answer:
            watched.answer(answer)
        return result


@fail_open
def _objection(result: Any) -> str | None:
    """What to tell the agent about its answer; None or "" where that passes."""
    answer = answer_of(result)
    return feedback(check(answer)) if answer else None


async def _again(runner: Any, result: Any, told: str, options: dict[str, Any]) -> Any:
    """Let the agent go on; None where it comes to no answer, since that is no fault of the program."""
    token = attached(set_value(AGAIN, True, get_current()))
    try:
        input, more = _next(result, told, options)
        return await runner.run(result.last_agent, input, **more)
    except Exception as error:
        _log.warning("overclaim: the agent could not answer again (%s); its answer passes", type(error).__name__)
        return None
    finally:
        leave(token)


def _next(result: Any, told: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Input and options with which the agent goes on: the whole conversation, or what is new where it is kept."""
    message = {"role": "user", "content": told}
    if options.get("previous_response_id") or options.get("auto_previous_response_id"):
        return [message], {**options, "previous_response_id": result.last_response_id}
    if any(options.get(name) for name in _KEPT):
        return [message], options
    return [*result.to_input_list(), message], options
