"""Integrations: each optional, each probing its library, each failing alone.

They are listed here one by one. A module per library has `probe() -> str` (why it cannot be used, "" where it can),
`on(provider)` and `off()`. It is loaded when the program imports that library: nothing is imported for the sake of
being watched, and libraries that are installed but unused cost nothing.

    threads.py        what is current goes along into threads and executors
    inside.py         where evidence is looked for: inside a live call of a tool
    http_status.py    the status of HTTP requests inside a tool, without a span
    databases.py      errors and row counts of statements inside a tool
    processes.py      exit codes of processes started inside a tool
    swallowed.py      exceptions that the program's own files handle inside a tool
    error_logs.py     records of level ERROR and above that are logged inside a tool
    timeouts.py       waiting inside a tool that takes too long
    http_clients.py   the official OpenTelemetry instrumentors of requests, httpx, urllib3, urllib and aiohttp
    bare_spans.py     keeps secrets of URLs and errors out of the spans of those
    smolagents.py     smolagents: runs of agents, calls of tools
    patching.py       puts a scope around a function of a library, and takes it off again
    langchain.py      LangChain's tools
    langgraph.py      LangGraph's graphs, and the agents of LangChain, which are graphs
    strands.py        Strands Agents
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pkgutil import resolve_name
from typing import Protocol, cast

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import report

DISABLED = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"


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
    where: its module in this package, or "module:object", which is a `Switch`.
    module: the import after which it is switched on; "" for at once.
    distribution: the package that `module` comes from, "" for the standard library. tested: the versions of it that the tests passed with.
    """

    name: str
    where: str
    module: str = ""
    distribution: str = ""
    tested: str = ""

    def switch(self) -> Switch:
        """What switches it; loads its module, which may fail."""
        return cast("Switch", resolve_name(f"{__name__}.{self.where}"))


FIRST = (Integration("threads", "threads"),)
# Evidence without spans. It comes before the instrumentors, whose spans then surround it.
EVIDENCE_HTTP = (
    Integration("evidence_requests", "http_status:REQUESTS", "requests", "requests", ">=2.28"),
    Integration("evidence_httpx", "http_status:HTTPX", "httpx", "httpx", ">=0.24"),
    Integration("evidence_httpx2", "http_status:HTTPX2", "httpx2", "httpx2"),
    Integration("evidence_urllib3", "http_status:URLLIB3", "urllib3", "urllib3", ">=1.26"),
    Integration("evidence_urllib", "http_status:URLLIB", "urllib.request"),
    Integration("evidence_aiohttp", "http_status:AIOHTTP", "aiohttp", "aiohttp", ">=3.9"),
)
EVIDENCE = (
    *EVIDENCE_HTTP,
)
HTTP_CLIENTS = (
    Integration("requests", "http_clients:REQUESTS", "requests", "requests"),
    Integration("httpx", "http_clients:HTTPX", "httpx", "httpx"),
    Integration("urllib3", "http_clients:URLLIB3", "urllib3", "urllib3"),
    Integration("urllib", "http_clients:URLLIB", "urllib.request"),
    Integration("aiohttp", "http_clients:AIOHTTP", "aiohttp", "aiohttp"),
)
# One line a framework, in alphabetical order.
FRAMEWORKS: tuple[Integration, ...] = (
    Integration("langchain", "langchain", "langchain_core.tools.base", "langchain-core", ">=1.3,<2"),
    Integration("langgraph", "langgraph", "langgraph.pregel", "langgraph", ">=1.0,<2"),
    Integration("smolagents", "smolagents", "smolagents.agents", "smolagents", ">=1.24,<2"),
    Integration("strands", "strands", "strands", "strands-agents", ">=1.62,<2"),
    Integration("strands_teams", "strands:TEAMS", "strands.multiagent", "strands-agents", ">=1.62,<2"),
)


@dataclass(slots=True)
class Switched:
    """What became of an integration. state: on, waiting (for the import of its library), skipped or failed."""

    integration: Integration
    state: str
    why: str = ""


_switched: dict[str, Switched] = {}
_provider: TracerProvider | None = None


def known(*, http_clients: bool = True) -> tuple[Integration, ...]:
    """All integrations, in the order in which they are switched on."""
    evidence = EVIDENCE if http_clients else tuple(one for one in EVIDENCE if one not in EVIDENCE_HTTP)
    return (*FIRST, *evidence, *(HTTP_CLIENTS if http_clients else ()), *FRAMEWORKS)


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
    from wrapt.importer import register_post_import_hook  # 17 ms that only who instruments pays

    def imported(_: object) -> None:
        found = _switched.get(integration.name)
        if found is not None and found.state == "waiting":
            _switched[integration.name] = _tried(found.integration)

    register_post_import_hook(imported, integration.module)
    _awaited.add(integration.name)
