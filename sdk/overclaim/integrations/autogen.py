"""AutoGen: what its tools give back, and what its agents and teams answer.

Its own spans of tools and agents show neither. Every class of tools or agents may override the functions that do the
work inside of those spans, so each class is patched when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from opentelemetry import trace
from opentelemetry.context import create_key, get_value, set_value
from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._hooks import Reply, agent_run, tool_call
from overclaim._record import current_record
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.conversations import goes_on
from overclaim.integrations.parts import Part
from overclaim.integrations.patching import Begin, Patches

__all__ = ["AGENTS", "TEAMS", "off", "on", "probe"]

_PATCHES = Patches("autogen")
_CALL = create_key("overclaim-autogen-call")
_watched: TracerProvider | None = None
_PLAIN = (str, bytes, int, float, bool, list, tuple, dict, type(None))


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch tools.

    Raises:
        AttributeError: this version of the library lacks one of the functions.
    """
    global _watched
    _watched = provider
    tools: Any = import_module("autogen_core.tools")
    try:
        _PATCHES.around(tools.BaseTool, "run_json", _tool_used)
        _PATCHES.around(tools.BaseStreamTool, "run_json_stream", _stream_used)
        _PATCHES.around(tools.StaticWorkbench, "call_tool", _unknown_tool)
    except AttributeError:
        off()
        raise


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()


def _patch_class(patches: Patches, used: object, name: str, begin: Begin) -> None:
    """Watch a function of an object's class where it is defined; one that is watched already stays as it is."""
    owner = next(one for one in type(used).__mro__ if name in vars(one))
    patches.around_method(owner, name, begin)


def _tool_used(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    _patch_class(_PATCHES, args[0], "run", _tool)
    return _Refused(args[0], args[1] if len(args) > 1 else kwargs.get("args"))


def _stream_used(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    _patch_class(_PATCHES, args[0], "run_stream", _tool)
    return None


class _Refused:
    """Notes a call whose arguments the tool does not take, where no span of the framework shows that."""

    def __init__(self, tool: Any, given: Any) -> None:
        self._tool, self._given = tool, given
        self.reached = False
        self.context = set_value(_CALL, self)

    def returned(self, result: object) -> None:
        """The tool was run."""

    def abandoned(self, result: object) -> None:
        """The tool was run."""

    @fail_open
    def raised(self, error: BaseException) -> None:
        """The tool was run and failed, or was not run at all."""
        if self.reached or trace.get_tracer_provider() is _watched:
            return
        scope = tool_call(self._tool.name, self._given, description=self._tool.description or "")
        if scope is not None:
            scope.raised(error)


def _tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool: Any = args[0]
    call = get_value(_CALL)
    if isinstance(call, _Refused):
        call.reached = True
    given: Any = args[1] if len(args) > 1 else kwargs.get("args")

    def read(value: Any) -> Reply:
        return Reply(value if isinstance(value, _PLAIN) else tool.return_value_as_string(value))

    return tool_call(tool.name, dict(given), description=tool.description or "", read=read)


def _unknown_tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A tool that the workbench does not have is never run, and its failure has no span of the framework's."""
    bench: Any = args[0]
    name: str = args[1] if len(args) > 1 else kwargs["name"]
    known = {tool.name for tool in bench._tools} | set(bench._override_name_to_original)
    if name in known:
        return None
    given: Any = args[2] if len(args) > 2 else kwargs.get("arguments")
    return tool_call(name, given, call_id=kwargs.get("call_id"), read=_refusal)


def _refusal(result: Any) -> Reply:
    text = result.to_text()
    return Reply(text, is_error=result.is_error or None, error_text=text if result.is_error else None)


def _watch_agents(patches: Patches) -> None:
    agent: Any = import_module("autogen_agentchat.agents").BaseChatAgent

    def used(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
        for name in ("on_messages", "on_messages_stream"):
            _patch_class(patches, args[0], name, _agent)
        return None

    patches.around(agent, "run", used)
    patches.around(agent, "run_stream", used)


def _watch_teams(patches: Patches) -> None:
    team: Any = import_module("autogen_agentchat.teams").BaseGroupChat
    patches.around(team, "run_stream", _team)


AGENTS = Part("autogen_agents", _watch_agents)
TEAMS = Part("autogen_teams", _watch_teams)


def _agent(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """An agent's turn. Many an agent's stream asks for its messages, or the other way round: that is one turn."""
    agent: Any = args[0]
    record = current_record()
    run = record.run if record is not None and record.agent else None
    if run is not None and run.own and run.agent == agent.name:
        return None
    scope = agent_run(agent.name, model=_model(agent), answer=_answer)
    if _talked_before(agent):
        goes_on(scope)
    return scope


def _talked_before(agent: Any) -> bool:
    """Whether an agent, or a member of a team, goes on with a conversation: agents keep theirs from run to run."""
    members: Any = getattr(agent, "_participants", None)
    if members is not None:
        return any(map(_talked_before, members))
    kept: Any = getattr(getattr(agent, "_model_context", None), "_messages", ())
    return any(getattr(one, "type", "") == "AssistantMessage" for one in kept)


def _model(agent: Any) -> str | None:
    client: Any = getattr(agent, "_model_client", None)
    config = getattr(client, "_create_args", None)
    model = cast("Mapping[str, Any]", config).get("model") if isinstance(config, Mapping) else None
    return model if isinstance(model, str) else None


def _answer(response: Any) -> str | None:
    return _text(getattr(response, "chat_message", None))


def _text(message: Any) -> str | None:
    return message.to_text() or None if message is not None else None


def _team(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    team: Any = args[0]
    users = {"user"} | {one.name for one in team._participants if type(one).__name__ == "UserProxyAgent"}

    def answer(result: Any) -> str | None:
        spoken = [one for one in getattr(result, "messages", ()) if hasattr(one, "to_model_text")]
        return next((_text(one) for one in reversed(spoken) if one.source not in users), None)

    scope = agent_run(getattr(team, "name", None) or type(team).__name__, answer=answer)
    if _talked_before(team):
        goes_on(scope)
    return scope
