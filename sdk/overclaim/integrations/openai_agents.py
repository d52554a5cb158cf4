"""OpenAI Agents: every call of a tool, and what each run ends with as the answer; agents in agents nest.

The tracing hook of the library hears neither of results that are not to be traced, nor of anything where tracing is
off, nor of errors that became a text for the model. So the patches are around the place where function tools, MCP
tools and agents used as tools are invoked, and around runs. Tools that OpenAI hosts and those that are no functions
(shells, computers) are read off the items of the run when it ends.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Mapping
from importlib import import_module
from typing import Any, Final, cast

from opentelemetry.context import Context, create_key, get_current, get_value, set_value
from opentelemetry.trace import TracerProvider

from overclaim import _hooks
from overclaim._announced import Announced
from overclaim._calls import declare
from overclaim._fail_open import fail_open, report
from overclaim._hooks import Reply
from overclaim._labels import type_name
from overclaim._wrapping import Arguments, Scope, attached, leave
from overclaim.integrations.answers import text_of
from overclaim.integrations.conversations import goes_back
from overclaim.integrations.patching import Patches
from overclaim.outcome.results.observing import exception_evidence

_PATCHES: Final = Patches("openai_agents")
_CALL: Final = create_key("overclaim-openai-agents-call")
_RUN: Final = create_key("overclaim-openai-agents-run")
# Set where the next run goes on with what another one did inside the same run of ours.
AGAIN: Final = create_key("overclaim-openai-agents-again")
_PREPARING: Final = "prepare_input_with_session"
_PREPARE: Final = ("agents.run", "agents.run_internal.run_loop")
_KEPT: Final = ("conversation_id", "previous_response_id", "is_resumed_state")
_INVOKED: Final = ("_invoke_function_tool_with_metadata", "invoke_function_tool")  # the inner one, where there is one
_FAILED: Final = "maybe_invoke_function_tool_failure_error_function"
_TOOLS: Final = ("agents.tool", "agents.run_internal.tool_execution")
_FUNCTION: Final = "function_call"
_TRACED: Final = "function"
_BAD: Final = ("failed", "incomplete")


def probe() -> str:
    """Say why it cannot be used."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch all runs and tools."""
    try:
        for name in _TOOLS:
            module = import_module(name)
            _PATCHES.around(module, next(filter(vars(module).__contains__, _INVOKED), _INVOKED[0]), _call)
            _PATCHES.around(module, _FAILED, _failed)
        tracing = import_module("agents.tracing.provider")
        _PATCHES.around(tracing.SynchronousMultiTracingProcessor, "on_span_start", _announce)
        runs = import_module("agents.run")
        _PATCHES.around(runs.AgentRunner, "run", _run)
        _PATCHES.around(runs, "start_streaming", _streamed)
    except BaseException:
        off()
        raise
    _watch_mcp()
    _watch_sessions()


def off() -> None:
    """Leave them alone again."""
    _PATCHES.undo()


def _watch_mcp() -> None:
    """Learn the error mark of MCP tools, which the library drops; only where MCP is there, and on its own."""
    util = sys.modules.get("agents.mcp.util")
    if util is None:
        return
    try:
        _PATCHES.around(util, "result_structured_content", _mcp_result)
    except AttributeError as error:
        report("openai_agents mcp", error)


def _watch_sessions() -> None:
    """Learn what a session holds when a run begins; where that cannot be, each may hold what was done before."""
    try:
        for name in _PREPARE:
            _PATCHES.around(import_module(name), _PREPARING, _prepare)
    except (AttributeError, ImportError) as error:
        report("openai_agents sessions", error)


class _Prepared:
    """A session and what is new are put together."""

    context = None

    def returned(self, result: Any) -> None:
        """The items that the model will see are known."""
        if _spoke_before(result[0]):
            goes_back()

    def raised(self, error: BaseException) -> None:
        """There is no run then."""

    def abandoned(self, result: object) -> None:
        """Only generators are; this is none."""


def _prepare(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    run = get_value(_RUN)
    return None if isinstance(run, _Run) and run.again else _Prepared()


def _announce(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """Tracing tells everybody of a call; where several open spans for it, they are about one call."""
    data: Any = getattr(args[1], "span_data", None)
    if getattr(data, "type", "") != _TRACED:
        return None
    told = Announced(data.name)
    told.begin()
    return told


class _Call:
    """One invocation of a function tool. failed: whether the library turned an error into a text for the model."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.context: Context = set_value(_CALL, self, scope.context or get_current())
        self.failed = False

    def ask(self, result: Any) -> Awaitable[None] | None:
        """Ask the postconditions ahead of `returned`."""
        ask = getattr(self._scope, "ask", None)
        return ask(self._reply(result)) if ask is not None else None

    def returned(self, result: object) -> None:
        """The tool gave something back, or an error was turned into it."""
        self._scope.returned(self._reply(result))

    def raised(self, error: BaseException) -> None:
        """The tool raised."""
        self._scope.raised(error)

    def abandoned(self, result: object) -> None:
        """Only generators are; an invocation is none."""
        self._scope.abandoned(result)

    def _reply(self, result: Any) -> Reply:
        given = getattr(result, "output", result)
        if self.failed or getattr(result, "is_sdk_generated_error", False):
            return Reply(given, is_error=True, error_text=given if isinstance(given, str) else None)
        return _hooks.plain(given)


def _call(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool: Any = kwargs["function_tool"]
    context: Any = kwargs.get("context")
    call_id: Any = getattr(context, "tool_call_id", None)
    run = get_value(_RUN)
    if isinstance(run, _Run):
        run.seen.add(call_id)
    scope = _hooks.tool_call(
        tool.name, kwargs.get("arguments"), call_id=call_id if isinstance(call_id, str) else None,
        description=str(getattr(tool, "description", "") or ""), read=_as_read,
    )  # fmt: skip
    return _Call(scope) if scope is not None else None


def _as_read(reply: Any) -> Reply:
    return reply if isinstance(reply, Reply) else _hooks.plain(reply)


def _call_here() -> _Call | None:
    found = get_value(_CALL)
    return found if isinstance(found, _Call) else None


def _failed(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """An error is about to become a text for the model."""
    call, error = _call_here(), kwargs.get("error")
    if call is not None and isinstance(error, BaseException):
        call.failed = True
        declare(exception_evidence(type_name(error)))
    return None


def _mcp_result(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """An MCP server has answered."""
    call, result = _call_here(), args[0]
    if call is not None and (getattr(result, "isError", None) or getattr(result, "is_error", None)):
        call.failed = True
    return None


class _Run:
    """A run of an agent. What it ends with also tells of the tools that nobody invoked here.

    again: whether it goes on with what was done in this run. seen: the model's ids of the calls that were seen.
    """

    def __init__(self, scope: Scope, streamed: Any = None) -> None:
        self._scope, self._result = scope, streamed
        self.again = get_value(AGAIN) is True
        self.seen: set[object] = set()
        self.context: Context = set_value(AGAIN, None, set_value(_RUN, self, scope.context or get_current()))

    def returned(self, result: object) -> None:
        """The run is at its end."""
        came_to: Any = result if self._result is None else self._result
        self._look(came_to)
        self._scope.returned(came_to)

    def raised(self, error: BaseException) -> None:
        """It ended with an exception."""
        self._look(getattr(error, "run_data", None))
        self._scope.raised(error)

    def abandoned(self, result: object) -> None:
        """Only generators are; a run is none."""
        self._scope.abandoned(None)

    @fail_open
    def _look(self, result: Any) -> None:
        token = attached(self.context)
        items: Any = getattr(result, "new_items", None) or ()
        try:
            if _asked(items) - self.seen:
                goes_back()
            hosted_calls(items)
        finally:
            leave(token)


def _run(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    agent: Any = args[1] if len(args) > 1 else kwargs.get("starting_agent")
    return _begun(agent, args[2] if len(args) > 2 else kwargs.get("input"), kwargs)


def _streamed(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    result: Any = kwargs["streamed_result"] if "streamed_result" in kwargs else args[1]
    given: Any = kwargs["starting_input"] if "starting_input" in kwargs else args[0]
    return _begun(kwargs["starting_agent"] if "starting_agent" in kwargs else args[2], given, kwargs, result)


def _begun(agent: Any, given: Any, options: Mapping[str, Any], streamed: Any = None) -> Scope | None:
    model: Any = getattr(agent, "model", None)
    scope = _hooks.agent_run(
        str(getattr(agent, "name", "") or ""), model=model if isinstance(model, str) else None, answer=answer_of
    )
    if scope is None:
        return None
    run = _Run(scope, streamed)
    if not run.again and _goes_on(given, options):
        goes_back(run)
    return run


def _goes_on(given: Any, options: Mapping[str, Any]) -> bool:
    """Whether a run goes on with a stopped one, or with a conversation; of a session that is known later."""
    if _spoke_before(given) or any(map(options.get, _KEPT)):
        return True
    return options.get("session") is not None and not hasattr(sys.modules.get(_PREPARE[-1]), _PREPARING)


def _spoke_before(given: Any) -> bool:
    """Whether there is more in the input of a run than what the user and the program say."""
    if not isinstance(given, list):
        return not isinstance(given, str)
    items = cast("list[Any]", given)
    return any(_get(one, "role") == "assistant" or _get(one, "type") not in (None, "message") for one in items)


def _asked(items: Any) -> set[object]:
    """The ids of the calls of functions that the model asked for."""
    raws: list[Any] = [getattr(one, "raw_item", None) for one in items if one.type == "tool_call_item"]
    return {_get(raw, "call_id") for raw in raws if _get(raw, "type") == _FUNCTION}


def answer_of(result: Any) -> str | None:
    """What the user is told by a run: its final output, where an agent and not a tool has said it."""
    items: Any = getattr(result, "new_items", None) or ()
    if not items or getattr(items[-1], "type", "") != "message_output_item":
        return None
    return text_of(getattr(result, "final_output", None))


def hosted_calls(items: Any) -> None:
    """Note the calls in a run's items that no function was invoked for, each with what the item or its output says."""
    outputs = {_get(one.raw_item, "call_id"): one for one in items if one.type == "tool_call_output_item"}
    for item in items:
        raw: Any = getattr(item, "raw_item", None)
        kind = str(_get(raw, "type") or "")
        if item.type != "tool_call_item" or kind == _FUNCTION:
            continue
        call_id = _get(raw, "call_id") or _get(raw, "id")
        output: Any = outputs.get(_get(raw, "call_id"))
        name = str(_get(raw, "name") or kind.removesuffix("_call"))
        given = _get(raw, "arguments") or _get(raw, "action") or _get(raw, "input") or _get(raw, "queries")
        scope = _hooks.tool_call(
            name, _plain(given), call_id=call_id if isinstance(call_id, str) else None, read=_as_read
        )
        if scope is not None:
            scope.returned(_hosted_reply(raw, output))


def _hosted_reply(raw: Any, output: Any) -> Reply:
    error, status = _get(raw, "error"), _get(raw, "status")
    result: Any = output.output if output is not None else _get(raw, "output") or {"status": status}
    failed = True if error or status in _BAD else None
    return Reply(result, is_error=failed, error_text=str(error) if error else None)


def _get(raw: Any, key: str) -> Any:
    return cast("Mapping[str, Any]", raw).get(key) if isinstance(raw, Mapping) else getattr(raw, key, None)


def _plain(given: Any) -> Any:
    """Arguments as plain data, out of the models that the OpenAI client makes of them."""
    dump = getattr(given, "model_dump", None)
    return dump() if dump is not None else given
