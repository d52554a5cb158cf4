"""A guard for agents of LangChain: an answer that claims too much goes back to the model, which may mend it.

create_agent(model, tools, middleware=[guard()])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from overclaim._errors import UsageError
from overclaim._fail_open import fail_open
from overclaim._guard import check, feedback
from overclaim.integrations.langchain import messages_in
from overclaim.integrations.langgraph import answer_in

__all__ = ["guard"]

_MARK = "overclaim_guard"


def guard(*, retries: int = 1) -> Any:
    """A middleware that asks, when the agent is done, whether its answer is borne out by the calls of the run.

    Where it is not, a message tells the model what its calls show, and the agent goes on from there. An answer that
    still claims too much passes then, with its verdict on the run's span. Without `overclaim.instrument()` every answer
    passes. What the agent said first stays among its messages, with what it was told.

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

    return OverclaimGuard()


@fail_open
def _sent_back(state: Any, retries: int) -> dict[str, Any] | None:
    """What to tell the model and where to go on; None where the answer passes."""
    answer = answer_in(state)
    if not answer or _times_told(messages_in(state)) >= retries:
        return None
    told = feedback(check(answer))
    if not told:
        return None
    message = import_module("langchain_core.messages").HumanMessage(told, additional_kwargs={_MARK: True})
    return {"messages": [message], "jump_to": "model"}


def _times_told(messages: list[Any]) -> int:
    """How often the model was told since the user spoke last."""
    count = 0
    for message in reversed(messages):
        if getattr(message, "type", None) != "human":
            continue
        if not message.additional_kwargs.get(_MARK):
            break
        count += 1
    return count
