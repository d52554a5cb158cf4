"""Integrations: each optional, each probing its library, each failing alone.

They are listed here one by one. A module per library has `probe() -> str` (why it cannot be used, "" where it can),
`on(provider)` and `off()`. It is loaded when the program imports that library: nothing is imported for the sake of
being watched, and libraries that are installed but unused cost nothing.

    registry.py         all of them, one by one
    patching.py         puts a scope around a function of a library, and takes it off again
    threads.py          what is current goes along into threads and executors
    child_processes.py  processes that multiprocessing forks send their spans before they end
    http_clients.py     the official OpenTelemetry instrumentors of HTTP clients
    bare_spans.py       keeps secrets of URLs and errors out of the spans of those

Frameworks:

    agent_framework.py  Microsoft Agent Framework: agents, workflows, tools
    agno.py             Agno: agents, teams, tools
    anthropic.py        Anthropic's client, and its tool runner
    autogen.py          AutoGen: agents, teams, tools
    claude_agent.py     Claude Agent SDK; claude_conversation.py: what its messages tell of turns, calls, sub-agents
    crewai.py           CrewAI: crews, agents, tools
    dspy.py             DSPy: modules that have tools
    fastmcp.py          FastMCP: servers
    google_adk.py       Google ADK: runners, tools
    haystack.py         Haystack: agents, tools
    langchain.py        LangChain's tools
    langgraph.py        LangGraph's graphs, and the agents of LangChain, which are graphs
    llama_index.py      LlamaIndex: agents, workflows of agents, tools
    mcp.py              MCP: clients and servers; mcp_results.py: what its types say of a tool and a call
    openai.py           OpenAI's client
    openai_agents.py    OpenAI Agents SDK: runners, tools
    pydantic_ai.py      Pydantic AI: agents, tools
    semantic_kernel.py  Semantic Kernel: functions, chats, agents
    smolagents.py       smolagents: agents, tools
    strands.py          Strands Agents: agents, teams, tools

    raw_loops.py        loops around a model's client: calls and answers from its messages; raw_clients.py: the clients
    answers.py, conversations.py, parts.py   what several of them share

Evidence inside a tool comes from `overclaim.evidence`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import report
from overclaim.integrations.registry import Integration, known

DISABLED = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"


@dataclass(slots=True)
class Switched:
    """What became of an integration. state: on, waiting (for the import of its library), skipped or failed."""

    integration: Integration
    state: str
    why: str = ""


_switched: dict[str, Switched] = {}
_provider: TracerProvider | None = None


def status() -> tuple[Switched, ...]:
    """What became of each integration since `switch_on`."""
    return tuple(_switched.values())


def switch_on(provider: TracerProvider, *, http_clients: bool = True) -> None:
    """Switch on what is installed and not on yet, the instrumentors of HTTP clients only where wanted."""
    global _provider
    _provider = provider
    for integration in known(http_clients=http_clients):
        found = _switched.get(integration.name)
        if found is None or found.state not in ("on", "waiting"):
            _switched[integration.name] = _begun(integration)


def switch_off() -> None:
    """Switch off what `switch_on` switched on, last first."""
    while _switched:
        _, found = _switched.popitem()
        if found.state != "on":
            continue
        try:
            found.integration.switch().off()
        except Exception as error:
            report(f"integration {found.integration.name}", error)


def _begun(integration: Integration) -> Switched:
    if unwanted(integration.name):
        return Switched(integration, "skipped", f"named in {DISABLED}")
    if not integration.module or integration.module in sys.modules:
        return _tried(integration)
    if integration.distribution and not _installed(integration.distribution):
        return Switched(integration, "skipped", f"{integration.distribution} is not installed")
    waiting = Switched(integration, "waiting", f"until {integration.module} is imported")
    try:
        _when_imported(integration)
    except Exception as error:
        report(f"integration {integration.name}", error)
        return Switched(integration, "failed", f"{type(error).__name__}: {error}")
    return waiting


def unwanted(name: str) -> bool:
    """Whether the environment switches an integration off."""
    listed = {one.strip().lower() for one in os.environ.get(DISABLED, "").split(",")}
    return bool(listed & {"*", "overclaim", f"overclaim_{name}"})


def _installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def _tried(integration: Integration) -> Switched:
    try:
        switch = integration.switch()
        why = switch.probe()
        if why or _provider is None:
            return Switched(integration, "skipped", why)
        switch.on(_provider)
    except Exception as error:
        report(f"integration {integration.name}", error)
        return Switched(integration, "failed", f"{type(error).__name__}: {error}")
    return Switched(integration, "on")


_awaited: set[str] = set()


def _when_imported(integration: Integration) -> None:
    """Try the integration after its module is imported. The hook stays for good, so there is one per integration."""
    if integration.name in _awaited:
        return
    from wrapt import register_post_import_hook  # 17 ms that only who instruments pays

    def imported(_: object) -> None:
        found = _switched.get(integration.name)
        if found is not None and found.state == "waiting":
            _switched[integration.name] = _tried(found.integration)

    register_post_import_hook(imported, integration.module)
    _awaited.add(integration.name)
