"""A guard for agents of LangChain: an answer that claims too much goes back to the model, which may mend it.

create_agent(model, tools, middleware=[guard()])
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from overclaim._errors import UsageError
from overclaim._fail_open import fail_open
from overclaim._guard import check, feedback
from overclaim.integrations.langchain import is_interrupt, messages_in
from overclaim.integrations.langgraph import answer_in, doubt_unseen

__all__ = ["guard"]

_MARK = "overclaim_guard"
_SCRATCHPAD = "__pregel_scratchpad"
_log = logging.getLogger("overclaim")


def guard(*, retries: int = 1) -> Any:
    """A middleware that asks, when the agent is done, whether its answer is borne out by the calls of the run.

    Where it is not, a message tells the model what its calls show, and the agent goes on from there. An answer that
    still claims too much passes then, with its verdict on the run's span. Without `overclaim.instrument()` every answer
    passes. What the agent said first stays among its messages, with what it was told. Where the model cannot answer
    again, for an outage or since the graph's `recursion_limit` is near, what it said first is the answer.
    The guard is a step of the graph, which counts for that limit.

    Args:
        retries: how often the model may answer again to one message of the user.

    Raises:
        UsageError: retries is no number of 0 or more.
    """
    if type(retries) is not int or retries < 0:
        raise UsageError(f"overclaim.guards.langchain.guard(retries={retries!r}): give a number of 0 or more")

    agents: Any = import_module("langchain.agents.middleware")
    base: Any = agents.AgentMiddleware

    class OverclaimGuard(base):
        """Sends an answer back that claims too much."""

        @agents.hook_config(can_jump_to=["model"])
        def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            """Ask about the answer."""
            return _sent_back(state, retries)

        @agents.hook_config(can_jump_to=["model"])
        async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            """The same; nothing here takes time."""
            return _sent_back(state, retries)

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            """Let the model answer again only where that comes to an end."""
            if (first := _first_answer(request)) is None:
                return handler(request)
            try:
                reply = handler(request)
            except Exception as error:
                return _instead(first, error)
            return first if _asks_too_late(request, reply) else reply

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            """The same, awaited."""
            if (first := _first_answer(request)) is None:
                return await handler(request)
            try:
                reply = await handler(request)
            except Exception as error:
                return _instead(first, error)
            return first if _asks_too_late(request, reply) else reply

    return OverclaimGuard()


@fail_open
def _sent_back(state: Any, retries: int) -> dict[str, Any] | None:
    """What to tell the model and where to go on; None where the answer passes."""
    answer, messages = answer_in(state), messages_in(state)
    if not answer or _times_told(messages) >= retries or _mark(messages[-1]):
        return None
    doubt_unseen(messages)
    told = feedback(check(answer))
    used, left = _steps() if told else (0, 0)
    if not told or left < used:
        return None
    message = import_module("langchain_core.messages").HumanMessage(told, additional_kwargs={_MARK: used})
    return {"messages": [message], "jump_to": "model"}


def _steps() -> tuple[int, int]:
    """How many steps the graph has taken up to here in this run, and how many it may take after this one."""
    config: Any = import_module("langgraph.config").get_config()
    limit: int = config["recursion_limit"]
    pad: Any = config.get("configurable", {}).get(_SCRATCHPAD)
    step = config.get("metadata", {}).get("langgraph_step", limit)
    ahead = pad.stop - pad.step if pad is not None else limit - step
    return max(limit - ahead, 1), ahead - 1


@fail_open
def _first_answer(request: Any) -> Any:
    """What the model said before it was told what its calls show, as a message; None where it was not told."""
    messages = messages_in(request.state)
    told = [index for index, message in enumerate(messages) if getattr(message, "type", None) == "human"]
    if not told or not told[-1] or not _mark(messages[told[-1]]):
        return None
    first: Any = messages[told[-1] - 1]
    return first.model_copy(update={"id": None, "additional_kwargs": {**first.additional_kwargs, _MARK: True}})


def _instead(first: Any, error: Exception) -> Any:
    """The first answer in the place of none; an interrupt only waits for a person."""
    if is_interrupt(error):
        raise error
    _log.warning("overclaim: the model could not answer again (%s); its answer passes", type(error).__name__)
    return first


@fail_open
def _asks_too_late(request: Any, reply: Any) -> bool:
    """Whether the model asks for tools where there are not enough steps left to run them and to end after that."""
    messages: list[Any] = getattr(reply, "result", None) or [reply]
    if not any(getattr(message, "tool_calls", None) for message in messages):
        return False
    used = max(int(_mark(message)) for message in messages_in(request.state))
    return _steps()[1] <= used


def _mark(message: Any) -> int | bool:
    """What the guard noted on a message: of what it told, the steps until then; 0 where nothing."""
    noted: Any = getattr(message, "additional_kwargs", None)
    return cast("Mapping[str, Any]", noted).get(_MARK, 0) if isinstance(noted, Mapping) else 0


def _times_told(messages: list[Any]) -> int:
    """How often the model was told since the user spoke last."""
    count = 0
    for message in reversed(messages):
        if getattr(message, "type", None) != "human":
            continue
        if not _mark(message):
            break
        count += 1
    return count
