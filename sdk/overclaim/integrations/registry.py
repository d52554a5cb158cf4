"""All integrations, one by one, in the order in which they are switched on."""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Protocol, cast

from opentelemetry.trace import TracerProvider


class Switch(Protocol):
    """What switches an integration. All may fail."""

    def probe(self) -> str:
        """Say why it cannot be used, "" where it can."""
        ...

    def on(self, provider: TracerProvider, /) -> None:
        """Switch it on."""
        ...

    def off(self) -> None:
        """Switch it off."""
        ...


@dataclass(frozen=True, slots=True)
class Integration:
    """One integration.

    name: what `overclaim doctor` and, after "overclaim_", OTEL_PYTHON_DISABLED_INSTRUMENTATIONS call it.
    where: its module in `overclaim`, or "module:object", which is a `Switch`.
    module: the import after which it is switched on; "" for at once.
    distribution: the package that `module` comes from, "" for the standard library.
    tested: the versions of it that the tests passed with.
    """

    name: str
    where: str
    module: str = ""
    distribution: str = ""
    tested: str = ""

    def switch(self) -> Switch:
        """What switches it; loads its module, which may fail."""
        return cast("Switch", resolve_name(f"overclaim.{self.where}"))


FIRST = (
    Integration("threads", "integrations.threads"),
    Integration("child_processes", "integrations.child_processes", "multiprocessing.util"),
)
# Evidence without spans. It comes before the instrumentors, whose spans then surround it.
EVIDENCE_HTTP = (
    Integration("evidence_requests", "evidence.http_status:REQUESTS", "requests", "requests"),
    Integration("evidence_httpx", "evidence.http_status:HTTPX", "httpx", "httpx"),
    Integration("evidence_httpx2", "evidence.http_status:HTTPX2", "httpx2", "httpx2"),
    Integration("evidence_urllib3", "evidence.http_status:URLLIB3", "urllib3", "urllib3"),
    Integration("evidence_urllib", "evidence.http_status:URLLIB", "urllib.request"),
    Integration("evidence_aiohttp", "evidence.http_status:AIOHTTP", "aiohttp", "aiohttp"),
)
EVIDENCE = (
    *EVIDENCE_HTTP,
    Integration("evidence_sqlalchemy", "evidence.databases:SQLALCHEMY", "sqlalchemy", "sqlalchemy"),
    Integration("evidence_psycopg", "evidence.databases:PSYCOPG", "psycopg", "psycopg"),
    Integration("evidence_pymysql", "evidence.databases:PYMYSQL", "pymysql.cursors", "pymysql"),
    Integration("evidence_mysql", "evidence.databases:MYSQL", "mysql.connector", "mysql-connector-python"),
    Integration("evidence_subprocess", "evidence.processes:SUBPROCESS", "subprocess"),
    Integration("evidence_asyncio_subprocess", "evidence.processes:ASYNCIO", "asyncio.subprocess"),
    Integration("evidence_logging", "evidence.error_logs"),
    Integration("evidence_timeouts", "evidence.timeouts", "asyncio"),
    Integration("evidence_swallowed", "evidence.swallowed"),
)
HTTP_CLIENTS = (
    Integration("requests", "integrations.http_clients:REQUESTS", "requests", "requests"),
    Integration("httpx", "integrations.http_clients:HTTPX", "httpx", "httpx"),
    Integration("urllib3", "integrations.http_clients:URLLIB3", "urllib3", "urllib3"),
    Integration("urllib", "integrations.http_clients:URLLIB", "urllib.request"),
    Integration("aiohttp", "integrations.http_clients:AIOHTTP", "aiohttp", "aiohttp"),
)
_AF = ("agent-framework-core", ">=1.23,<2")
_SEMANTIC_KERNEL = ("semantic-kernel", ">=1.45,<2")
_SK = "semantic_kernel.agents.chat_completion"
# In alphabetical order.
FRAMEWORKS: tuple[Integration, ...] = (
    Integration("agent_framework", "integrations.agent_framework:TOOLS", "agent_framework._tools", *_AF),
    Integration("agent_framework_agents", "integrations.agent_framework:AGENTS", "agent_framework._agents", *_AF),
    Integration(
        "agent_framework_workflows",
        "integrations.agent_framework:WORKFLOWS",
        "agent_framework._workflows._workflow",
        *_AF,
    ),
    Integration("agno", "integrations.agno:AGENT", "agno.agent", "agno", ">=3.1,<4"),
    Integration("agno_team", "integrations.agno:TEAM", "agno.team", "agno", ">=3.1,<4"),
    Integration("anthropic", "integrations.anthropic:CLIENT", "anthropic", "anthropic", ">=0.87,<3"),
    Integration(
        "anthropic_runner",
        "integrations.anthropic:RUNNER",
        "anthropic.lib.tools._beta_runner",
        "anthropic",
        ">=2.14,<3",
    ),
    Integration("autogen", "integrations.autogen", "autogen_core.tools", "autogen-core", ">=0.7.5,<0.8"),
    Integration(
        "autogen_agents", "integrations.autogen:AGENTS", "autogen_agentchat.agents", "autogen-agentchat", ">=0.7.5,<0.8"
    ),
    Integration(
        "autogen_teams", "integrations.autogen:TEAMS", "autogen_agentchat.teams", "autogen-agentchat", ">=0.7.5,<0.8"
    ),
    Integration("claude_agent", "integrations.claude_agent", "claude_agent_sdk", "claude-agent-sdk", ">=0.2.189,<0.3"),
    Integration("crewai", "integrations.crewai", "crewai.crew", "crewai", ">=1.15,<2"),
    Integration("dspy", "integrations.dspy", "dspy", "dspy", ">=3.4,<4"),
    Integration("fastmcp", "integrations.fastmcp", "fastmcp.server.low_level", "fastmcp-slim", ">=4.1,<5"),
    Integration("google_adk", "integrations.google_adk", "google.adk.runners", "google-adk", ">=2.13,<3"),
    Integration("haystack", "integrations.haystack", "haystack.components.agents.agent", "haystack-ai", ">=3.4,<4"),
    Integration("langchain", "integrations.langchain", "langchain_core.tools.base", "langchain-core", ">=1.8,<2"),
    Integration("langgraph", "integrations.langgraph", "langgraph.pregel", "langgraph", ">=1.2,<2"),
    Integration(
        "langgraph_state", "integrations.langgraph:STATE_GRAPHS", "langgraph.graph.state", "langgraph", ">=1.2,<2"
    ),
    Integration(
        "llama_index",
        "integrations.llama_index:CALLING",
        "llama_index.core.tools.calling",
        "llama-index-core",
        ">=0.14,<0.15",
    ),
    Integration(
        "llama_index_agents",
        "integrations.llama_index:AGENTS",
        "llama_index.core.agent.workflow",
        "llama-index-core",
        ">=0.14,<0.15",
    ),
    Integration("mcp", "integrations.mcp", "mcp", "mcp", ">=1.23,<3"),
    Integration("openai", "integrations.openai:CLIENT", "openai", "openai", ">=1.109,<4"),
    Integration("openai_agents", "integrations.openai_agents", "agents.run", "openai-agents", ">=0.24,<0.25"),
    Integration("pydantic_ai", "integrations.pydantic_ai", "pydantic_ai", "pydantic-ai-slim", ">=2.68,<3"),
    Integration("semantic_kernel", "integrations.semantic_kernel", "semantic_kernel.kernel", *_SEMANTIC_KERNEL),
    Integration(
        "semantic_kernel_agents",
        "integrations.semantic_kernel:AGENTS",
        f"{_SK}.chat_completion_agent",
        *_SEMANTIC_KERNEL,
    ),
    Integration("smolagents", "integrations.smolagents", "smolagents.agents", "smolagents", ">=1.24,<2"),
    Integration("strands", "integrations.strands", "strands", "strands-agents", ">=1.62,<2"),
    Integration("strands_teams", "integrations.strands:TEAMS", "strands.multiagent", "strands-agents", ">=1.62,<2"),
)


def known(*, http_clients: bool = True) -> tuple[Integration, ...]:
    """All integrations, in the order in which they are switched on."""
    evidence = EVIDENCE if http_clients else tuple(one for one in EVIDENCE if one not in EVIDENCE_HTTP)
    return (*FIRST, *evidence, *(HTTP_CLIENTS if http_clients else ()), *FRAMEWORKS)
