"""Google ADK: what its tools give back, and what its agents answer.

Its own spans show neither unless content may leave. A tool runs inside its tool span through one of two functions,
whatever it is made of (function, class, MCP, another agent). A run is one invocation of a runner: agents that hand over
to each other, take turns or work at once belong to one. Plugins would be the public hook; but they are given to each
runner, and the first one that answers keeps the others from hearing, so these functions are patched.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from importlib import import_module
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._hooks import Reply, agent_run, plain, tool_call
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.conversations import Recalling, goes_on_here
from overclaim.integrations.patching import Patches

__all__ = ["off", "on", "probe"]

_PATCHES = Patches("google_adk")
_WHERE = "google.adk.flows.llm_flows.tools"
_TOOLS = (
    ("_caller", "_call_tool_async"),
    ("_live_caller", "_call_tool_async"),
    ("_live_caller", "_call_tool_in_thread_pool"),
)
_FAILED = ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
_MOST_OPEN = 1024
# What was answered last in each invocation that is under way. Bounded, since one may be given up in the middle.
_answers: OrderedDict[str, str] = OrderedDict()


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch tools and runners."""
    runners: Any = import_module("google.adk.runners")
    plugins: Any = import_module("google.adk.plugins.plugin_manager")
    try:
        for where, name in _TOOLS:
            _PATCHES.around(import_module(f"{_WHERE}.{where}"), name, _tool)
        _PATCHES.around(runners.Runner, "run_async", _run)
        _PATCHES.around(plugins.PluginManager, "run_on_event_callback", _event)
        _PATCHES.around(plugins.PluginManager, "run_before_run_callback", _begun)
        _PATCHES.around(import_module("google.adk.agents.context").Context, "search_memory", _remembered)
        _PATCHES.around(plugins.PluginManager, "run_before_tool_callback", _before_tool)
        _PATCHES.around(import_module(f"{_WHERE}._caller"), "_run_callbacks", _before_tool)
    except AttributeError:
        off()
        raise


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()
    _answers.clear()


def _tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool, given, context = _call(*args, **kwargs)
    return tool_call(
        tool.name, given, call_id=context.function_call_id, description=tool.description or "",
        read=partial(_reply, tool, context),
    )  # fmt: skip


def _call(tool: Any, args: Any, tool_context: Any, max_workers: object = None) -> tuple[Any, Any, Any]:
    return tool, args, tool_context


def _reply(tool: Any, context: Any, result: Any) -> Reply:
    """What a tool gives back. One that asks its user first, or gives its result later, has none yet."""
    asks = context.actions.requested_auth_configs or context.actions.requested_tool_confirmations
    if asks or (tool.is_long_running and not result):
        return Reply(None, captured=False)
    detect = getattr(tool, "_detect_error_in_response", None)
    flagged = detect is not None and bool(detect(result))
    return plain(result)._replace(is_error=flagged or None)


class _Before:
    """What is asked before a tool runs. Where that answers, the tool does not run, and this is the call."""

    context = None

    def __init__(self, tool: Any, given: Any, context: Any) -> None:
        self._called = tool, given, context

    @fail_open
    def returned(self, result: object) -> None:
        """It may have answered for the tool."""
        if result is None:
            return
        call = _tool(self._called, {})
        if call is not None:
            call.returned(result)

    def raised(self, error: BaseException) -> None:
        """It failed; no tool has run."""

    def abandoned(self, result: object) -> None:
        """Only generators are."""


def _before_tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    if "tool_response" in kwargs:  # what is asked after a tool has run
        return None
    given = kwargs["args"] if "args" in kwargs else kwargs["tool_args"]
    return _Before(kwargs["tool"], given, kwargs["tool_context"])


def _begun(args: Arguments, kwargs: dict[str, Any]) -> None:
    """An invocation begins; its session may have come with what the agent said and did before."""
    events: Any = kwargs["invocation_context"].session.events
    if any(event.author != "user" or event.actions.compaction for event in events):
        goes_on_here()


def _remembered(args: Arguments, kwargs: dict[str, Any]) -> Scope:
    """A memory tells of what was said and done in other sessions."""
    return Recalling(_memories)


def _memories(found: Any) -> bool:
    return bool(found.memories)


def _run(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    runner: Any = args[0]
    agent: Any = runner.agent
    model: Any = getattr(agent, "model", None)
    named = model if isinstance(model, str) else getattr(model, "model", None)
    return agent_run(
        str(getattr(agent, "name", None) or runner.app_name or ""),
        model=named if isinstance(named, str) and named else None,
        answer=_answer,
    )


def _event(args: Arguments, kwargs: dict[str, Any]) -> None:
    """Keep what an agent tells its user: a final response, of which the last one in an invocation counts."""
    event: Any = kwargs["event"]
    if event.content is not None and not event.partial:
        _run_elsewhere(event.content.parts or ())
    if event.author == "user" or not event.is_final_response() or event.content is None:
        return
    said = "".join(part.text for part in event.content.parts or () if part.text and not part.thought)
    if said:
        key: str = kwargs["invocation_context"].invocation_id
        _answers[key] = said
        _answers.move_to_end(key)
        while len(_answers) > _MOST_OPEN:
            _answers.popitem(last=False)


def _run_elsewhere(parts: Any) -> None:
    """Note the code that the model's provider or an executor ran. What it did beyond its output does not show."""
    codes = [part.executable_code.code for part in parts if part.executable_code]
    for part in parts:
        if part.executable_code or getattr(part, "tool_call", None):
            goes_on_here()
        if part.code_execution_result is None:
            continue
        call = tool_call("code_execution", {"code": codes.pop(0)} if codes else None, read=_printed)
        if call is not None:
            call.returned(part.code_execution_result)


def _printed(result: Any) -> Reply:
    failed = str(getattr(result.outcome, "value", result.outcome)) in _FAILED
    return plain(result.output)._replace(is_error=True if failed else None)


def _answer(last: Any) -> str | None:
    """The answer of the invocation that a runner's last event belongs to."""
    return _answers.pop(getattr(last, "invocation_id", ""), None)
