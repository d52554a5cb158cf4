"""LangGraph: each run of a graph is a run of an agent, and what it ends with is the answer; graphs in graphs nest.

That covers agents made by `langchain.agents.create_agent`, `StateGraph` and `@entrypoint`, invoked or streamed. Only
of the first kind is it known that all they do are calls of tools; what a checkpoint holds was done before. The
run is around `stream` and `astream`, which all ways of running a graph go through: on `CompiledStateGraph`, which
inherits them, so that what others put around `Pregel` stays inside, and on `Pregel` for what is only that. What a graph
comes to is told to callbacks only, so one is registered by LangChain's configure hook. `langchain.py` sees the tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from importlib import import_module
from inspect import getattr_static
from types import FunctionType
from typing import Any, Final, cast

from opentelemetry.context import Context, create_key, get_current, get_value, set_value
from opentelemetry.trace import TracerProvider

from overclaim import _hooks
from overclaim._fail_open import fail_open
from overclaim._hooks import Reply
from overclaim._record import current_record
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.conversations import goes_back
from overclaim.integrations.langchain import SEEN, is_interrupt, messages_in
from overclaim.integrations.patching import Patches

_PATCHES: Final = Patches("langgraph")
_STATE_GRAPHS: Final = Patches("langgraph_state")
_GRAPH: Final = create_key("overclaim-graph")
_WAYS: Final = ("stream", "astream")
_UNNAMED: Final = "LangGraph"
# Where a state without messages keeps what its user is told.
_ANSWERS: Final = ("answer", "output", "response", "final_answer", "result")
# Whose nodes only ask the model, shape its messages, or run tools. In `types` are decorators of the program's own ones.
_LIBRARIES: Final = ("langchain.agents.", "langgraph.", "langgraph_supervisor.", "langgraph_swarm.", "overclaim.")
_DECORATED: Final = "langchain.agents.middleware.types"
_OF_THE_MODEL: Final = ("ai", "assistant", "AIMessageChunk")
_OF_THE_USER: Final = ("human", "user")
_FIRST_STEP: Final = 1


def probe() -> str:
    """Say why it cannot be used."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch all graphs."""
    try:
        for name in _WAYS:
            _PATCHES.around(import_module("langgraph.pregel").Pregel, name, _begin_bare)
        _listen(import_module("langchain_core.tracers.context"))
    except BaseException:
        off()
        raise


def off() -> None:
    """Leave the graphs alone again."""
    _PATCHES.undo()


class _StateGraphs:
    """The same for `CompiledStateGraph`, whose module is loaded after that of `Pregel`, and only where it is used."""

    def probe(self) -> str:
        """Say why it cannot be used."""
        return ""

    def on(self, provider: TracerProvider, /) -> None:
        """Watch those graphs from outside."""
        try:
            for name in _WAYS:
                _STATE_GRAPHS.around(import_module("langgraph.graph.state").CompiledStateGraph, name, _begin)
        except BaseException:
            self.off()
            raise

    def off(self) -> None:
        """Leave them alone again."""
        _STATE_GRAPHS.undo()


STATE_GRAPHS: Final = _StateGraphs()


def _listen(context: Any) -> None:
    hooks: list[Any] = context._configure_hooks
    listener = _listener()  # one for all contexts: it keeps nothing
    context.register_configure_hook(ContextVar("overclaim_listener", default=listener), inheritable=True)
    ours = hooks[-1]
    _PATCHES.later(lambda: hooks.remove(ours))


class _Graph:
    """A run of a graph. run_id: LangChain's id of it. answer: what it told its user.

    seen: the ids of the calls that were seen or noted, for all graphs in the outermost one. stepped: whether one of its
    nodes has begun.
    """

    def __init__(self, scope: Scope | None) -> None:
        self._scope = scope
        outer = _graph_here()
        self.seen: set[str] = outer.seen if outer is not None else set()
        around = scope.context if scope and scope.context else get_current()
        self.context: Context = set_value(_GRAPH, self, set_value(SEEN, self.seen, around))
        self.run_id: object = None
        self.stepped = False
        self.answer: str | None = None

    def returned(self, result: object) -> None:
        """The graph is at its end."""
        if self._scope is not None:
            self._scope.returned(self.answer)

    def raised(self, error: BaseException) -> None:
        """It ended with an exception; an interrupt is none of its own."""
        if self._scope is not None and is_interrupt(error):
            self._scope.abandoned(None)
        elif self._scope is not None:
            self._scope.raised(error)

    def abandoned(self, result: object) -> None:
        """Its reader had enough."""
        if self._scope is not None:
            self._scope.abandoned(self.answer)


def _begin(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    graph: Any = args[0]
    config: Any = args[2] if len(args) > 2 else kwargs.get("config")
    named = cast("Mapping[str, Any]", config).get("run_name") if isinstance(config, Mapping) else None
    name = str(named or graph.get_name())
    run = _Graph(_hooks.agent_run("" if name == _UNNAMED else name))
    _doubt(run, graph, args[1] if len(args) > 1 else kwargs.get("input"))
    return run


def _begin_bare(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """As `_begin`, for what is no `CompiledStateGraph`.

    What somebody put around `Pregel` after us may leave a context behind in ours and restore it outside. Then no span
    of ours may be in it, so the graph is no run of its own, unless somebody's span stands for it.
    """
    if _STATE_GRAPHS.on and any(one.__name__ == "CompiledStateGraph" for one in type(args[0]).__mro__):
        return None
    record = current_record()
    pregel: Any = import_module("langgraph.pregel").Pregel
    covered = any(type(getattr_static(pregel, name)) is not FunctionType for name in _WAYS)
    if not covered or (record is not None and record.agent):
        return _begin(args, kwargs)
    run = _Graph(None)
    _doubt(run, args[0], args[1] if len(args) > 1 else kwargs.get("input"))
    return run


@fail_open
def _doubt(run: _Graph, graph: Any, given: Any) -> None:
    """Note of a graph that begins if it may do, or may have done, what no call of it shows."""
    if given is None or type(given).__name__ == "Command" or _spoke_before(given) or not _only_calls(graph):
        goes_back(run)


def _spoke_before(given: Any) -> bool:
    """Whether the model has said something in what a graph is given, of which its calls here show nothing."""
    roles = list(map(_role, messages_in(given)))
    users = [index for index, role in enumerate(roles) if role in _OF_THE_USER]
    said = roles if _graph_here() is None else roles[: users[-1]] if users else []
    return any(role in _OF_THE_MODEL for role in said)


def _role(message: Any) -> str:
    if isinstance(message, Mapping):
        parts = cast("Mapping[str, Any]", message)
        return str(parts.get("role") or parts.get("type"))
    if isinstance(message, (tuple, list)):
        return str(cast("tuple[Any, ...]", message)[0]) if message else ""
    return str(getattr(message, "type", ""))


def _only_calls(graph: Any) -> bool:
    """Whether all that a graph does are calls of tools, as in those that the libraries make, and graphs of such."""
    return all(name == "__start__" or _is_ours(node.bound) for name, node in graph.nodes.items())


def _is_ours(bound: Any) -> bool:
    kinds = [one.__name__ for one in type(bound).__mro__]
    if "Pregel" in kinds:
        return _only_calls(bound)
    if "ToolNode" in kinds:
        return True
    made = str(getattr(getattr(bound, "func", None) or getattr(bound, "afunc", None), "__module__", ""))
    return made.startswith(_LIBRARIES) and made != _DECORATED


def _listener() -> Any:
    """What hears of the ends of runs; in the same task, so that it finds the graph around it."""
    handler: Any = import_module("langchain_core.callbacks").BaseCallbackHandler

    class OverclaimListener(handler):
        """Hears what graphs come to."""

        run_inline = True
        ignore_agent = ignore_chat_model = ignore_custom_event = ignore_llm = ignore_retriever = ignore_retry = True

        def on_chain_start(
            self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None,
            metadata: Mapping[str, Any] | None = None, **_: Any,
        ) -> None:  # fmt: skip
            """The first that begins in a graph is the graph, then come its nodes."""
            _started(run_id, parent_run_id, metadata)

        def on_chain_end(self, outputs: Any, *, run_id: Any, **_: Any) -> None:
            """Keep the answer in what a graph came to."""
            _ended(run_id, outputs)

    return OverclaimListener()


def _graph_here() -> _Graph | None:
    found = get_value(_GRAPH)
    return found if isinstance(found, _Graph) else None


@fail_open
def _started(run_id: object, above: object, metadata: Mapping[str, Any] | None) -> None:
    graph = _graph_here()
    if graph is None:
        return
    if graph.run_id is None:
        graph.run_id = run_id
    elif not graph.stepped and above == graph.run_id:
        graph.stepped = True
        if (metadata or {}).get("langgraph_step") != _FIRST_STEP:  # it goes on from a checkpoint
            goes_back()


@fail_open
def _ended(run_id: object, outputs: object) -> None:
    graph = _graph_here()
    if graph is not None and graph.run_id == run_id:
        _note_served(messages_in(outputs), graph.seen)
        doubt_unseen(messages_in(outputs))
        graph.answer = answer_in(outputs)


@fail_open
def doubt_unseen(messages: list[Any]) -> None:
    """Note of the run here if the model asked for a call that nobody saw: something else has answered it."""
    graph = _graph_here()
    asked = [call for message in _since_the_user(messages) for call in getattr(message, "tool_calls", None) or ()]
    if graph is not None and any(call.get("id") not in graph.seen for call in asked):
        goes_back()


def _note_served(messages: list[Any], noted: set[str]) -> None:
    """Note the calls of tools that the model's provider ran since the user spoke: they are parts of its messages."""
    blocks = [block for message in _since_the_user(messages) for block in _blocks(message)]
    results = {block.get("tool_call_id"): block for block in blocks if block.get("type") == "server_tool_result"}
    for block in blocks:
        id = str(block.get("id") or "")
        if block.get("type") != "server_tool_call" or id in noted:
            continue
        noted.add(id)
        scope = _hooks.tool_call(
            str(block.get("name") or ""), block.get("args"), call_id=id or None, read=lambda reply: reply
        )
        if scope is not None:
            scope.returned(_served(results.get(id)))


def _served(result: Mapping[str, Any] | None) -> Reply:
    if result is None:
        return Reply(None, captured=False)
    return Reply(result.get("output"), is_error=True if result.get("status") == "error" else None)


def _since_the_user(messages: list[Any]) -> list[Any]:
    spoke = [index for index, message in enumerate(messages) if getattr(message, "type", None) == "human"]
    return messages[spoke[-1] + 1 :] if spoke else messages


def _blocks(message: Any) -> list[Mapping[str, Any]]:
    """The parts of a message in the one form that LangChain has for all providers; a plain text has none."""
    if not isinstance(getattr(message, "content", None), list):
        return []
    return [block for block in message.content_blocks if isinstance(block, Mapping)]


def answer_in(state: Any) -> str | None:
    """What the user is told by a graph that ended in this state: its last message, where that is the model's."""
    if isinstance(state, str):
        return state
    messages = messages_in(state)
    if messages:
        return _said(messages[-1])
    if not isinstance(state, Mapping):
        return None
    values = cast("Mapping[str, Any]", state)
    return next((values[key] for key in _ANSWERS if isinstance(values.get(key), str)), None)


def _said(message: Any) -> str | None:
    """The text of a message of the model that asks for no tool; where a tool still waits, there is no answer yet."""
    if getattr(message, "type", None) not in ("ai", "AIMessageChunk") or getattr(message, "tool_calls", None):
        return None
    text: Any = message.text
    found = text() if callable(text) and not isinstance(text, str) else text
    return str(found) or None
