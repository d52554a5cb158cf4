"""Microsoft Agent Framework: what its tools give back, and what its agents answer.

Its own spans, where the program did not switch them off, are enriched: everything is heard inside of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Any, cast

from opentelemetry.context import get_current

from overclaim._fail_open import fail_open
from overclaim._hooks import Reply, agent_run, plain, tool_call
from overclaim._wrapping import Arguments, Scope, attached, enter, leave, wrap
from overclaim.integrations.conversations import goes_on
from overclaim.integrations.parts import Part
from overclaim.integrations.patching import Patches

__all__ = ["AGENTS", "TOOLS", "WORKFLOWS"]


def _watch_tools(patches: Patches) -> None:
    tools: Any = import_module("agent_framework._tools")
    patches.around(tools.FunctionTool, "_invoke_function", _tool)


def _watch_agents(patches: Patches) -> None:
    agents: Any = import_module("agent_framework._agents")
    patches.replace(agents.RawAgent, "run", _watched(_begin_agent))


def _watch_workflows(patches: Patches) -> None:
    workflows: Any = import_module("agent_framework._workflows._workflow")
    patches.replace(workflows.Workflow, "run", _watched(_begin_workflow))


TOOLS = Part("agent_framework", _watch_tools)
AGENTS = Part("agent_framework_agents", _watch_agents)
WORKFLOWS = Part("agent_framework_workflows", _watch_workflows)


def _tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool: Any = args[0]
    given: Mapping[str, Any] = args[1] if len(args) > 1 else kwargs["call_kwargs"]
    context = getattr(tool, "_context_parameter_name", None)
    named = {name: value for name, value in given.items() if name != context}
    return tool_call(tool.name, named, description=tool.description or "", read=_reply)


def _reply(result: Any) -> Reply:
    """Contents, such as those of an MCP server, by their text; what was declared an error in there stays one."""
    contents: list[Any] = cast("list[Any]", result) if isinstance(result, list) else [result]
    if not contents or not all(hasattr(one, "type") and hasattr(one, "text") for one in contents):
        return plain(cast("object", result))
    failed = any(one.type == "error" for one in contents)
    return Reply("\n".join(one.text for one in contents if one.text), is_error=failed or None)


Begun = Callable[[Any, Arguments, dict[str, Any]], Scope | None]


def _watched(begin: Begun) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Watch a `run`, which gives back what is to be awaited, or with `stream=True` what is to be iterated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("stream"):
                return _streamed(begin(self, args, kwargs), lambda: original(self, *args, **kwargs))
            return awaited((self, args, kwargs), original(self, *args, **kwargs))

        return run

    awaited = wrap(_result, lambda args, _: begin(*args[0]))
    return make


async def _result(_: Any, response: Awaitable[Any]) -> Any:
    return await response


def _streamed(scope: Scope | None, run: Callable[[], Any]) -> Any:
    if scope is None:
        return run()
    token = enter(scope)
    try:
        stream = run()
    except BaseException as error:
        leave(token)
        scope.raised(error)
        raise
    leave(token)
    _follow(stream, scope)
    return stream


@fail_open
def _begin_agent(agent: Any, args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    options: Any = getattr(agent, "default_options", None) or {}
    model: object = options.get("model")
    scope = agent_run(agent.name or "", model=model if isinstance(model, str) else None, answer=_answer)
    if _talked_before(args[0] if args else kwargs.get("messages"), kwargs.get("session")):
        goes_on(scope)
    return scope


def _talked_before(messages: Any, session: Any) -> bool:
    if session is not None and (session.service_session_id or session.state):
        return True
    listed = cast("list[Any]", messages) if isinstance(messages, list) else [messages]
    return any(getattr(one, "role", None) == "assistant" for one in listed)


@fail_open
def _begin_workflow(workflow: Any, args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """What its agents do is one task: that is one run. The last one's answer is the answer."""
    return agent_run(workflow.name or "", answer=_no_words)


def _no_words(_: object) -> None:
    """A workflow has no words of its own."""


def _answer(result: Any) -> str | None:
    """What the agent said last; what it said before its calls is not for the user."""
    whole: Any = import_module("agent_framework").AgentResponse
    messages: Any = (whole.from_updates(result) if isinstance(result, list) else result).messages
    spoken: list[str] = [one.text for one in messages if one.role == "assistant" and one.text]
    return spoken[-1] if spoken else None


@fail_open
def _follow(stream: Any, scope: Scope) -> None:
    """The run lasts until the stream ends; its context is current whenever the next piece is made.

    The answer is put together from the pieces: to ask the stream for its response would run the program's hooks.
    """
    pieces: list[Any] = stream._updates  # the list only: whoever drops the stream half-way must be free to

    now = scope.context

    @contextmanager
    def current() -> Generator[None]:
        nonlocal now
        token = attached(now) if now is not None else None
        try:
            yield
        finally:
            if now is not None:
                now = get_current()  # what the framework made current for the pieces to come
            leave(token)

    weakref.finalize(stream, scope.abandoned, pieces)
    held = weakref.ref(stream)

    def ended() -> None:
        error = getattr(held(), "_stream_error", None)
        if error is not None:
            scope.raised(error)
        else:
            scope.returned(pieces)

    stream.with_pull_context_manager(current).with_cleanup_hook(ended)
