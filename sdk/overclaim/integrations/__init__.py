"""Integrations: each optional, each probing its library, each failing alone.

They are listed here one by one. A module per library has `probe() -> str` (why it cannot be used, "" where it can),
`on(provider)` and `off()`. It is loaded when the program imports that library: nothing is imported for the sake of
being watched, and libraries that are installed but unused cost nothing.

    threads.py        what is current goes along into threads and executors
    http_clients.py   the official OpenTelemetry instrumentors of requests, httpx and urllib3
    bare_spans.py     keeps secrets of URLs and errors out of the spans of those
    patching.py       puts a scope around a function of a library, and takes it off again
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
    distribution: the package that `module` comes from. tested: the versions of it that the tests passed with.
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
HTTP_CLIENTS = (
    Integration("requests", "http_clients:REQUESTS", "requests", "requests"),
    Integration("httpx", "http_clients:HTTPX", "httpx", "httpx"),
    Integration("urllib3", "http_clients:URLLIB3", "urllib3", "urllib3"),
)
# One line a framework, in alphabetical order.
FRAMEWORKS: tuple[Integration, ...] = ()


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
    return (*FIRST, *(HTTP_CLIENTS if http_clients else ()), *FRAMEWORKS)


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
    if _unwanted(integration.name):
        return Switched(integration, "skipped", f"named in {DISABLED}")
    if not integration.module or integration.module in sys.modules:
        return _tried(integration)
    if not _installed(integration.distribution):
        return Switched(integration, "skipped", f"{integration.distribution} is not installed")
    waiting = Switched(integration, "waiting", f"until {integration.module} is imported")
    try:
        _when_imported(integration)
    except Exception as error:
        report(f"integration {integration.name}", error)
        return Switched(integration, "failed", f"{type(error).__name__}: {error}")
    return waiting


def _unwanted(name: str) -> bool:
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
