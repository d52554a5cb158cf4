"""Integrations: each optional, each probing its library, each failing alone.

An integration is a module with `NAME`, `probe() -> str` (why it cannot be used, "" where it can), `on(provider)`
and `off()`. They are listed here one by one.

    threads.py        what is current goes along into threads and executors
    http_clients.py   the official OpenTelemetry instrumentors of requests, httpx and urllib3
    bare_spans.py     keeps secrets of URLs and errors out of the spans of those
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import report


@dataclass(frozen=True, slots=True)
class Integration:
    """One integration. probe: "" where it can be used, else why not. on/off: switch it; both may fail.

    promise: what `overclaim doctor` says of one that can be used.
    """

    name: str
    probe: Callable[[], str]
    on: Callable[[TracerProvider], None]
    off: Callable[[], None]
    promise: str = "would be switched on"


_switched_on: list[Integration] = []


def known(*, http_clients: bool = True) -> tuple[Integration, ...]:
    """All integrations, in the order in which they are switched on."""
    from overclaim.integrations import http_clients as clients
    from overclaim.integrations import threads

    return (threads.INTEGRATION, *(clients.INTEGRATIONS if http_clients else ()))


def switch_on(provider: TracerProvider, *, http_clients: bool = True) -> None:
    """Switch on what is installed and not on yet, the instrumentors of HTTP clients only where wanted."""
    for integration in known(http_clients=http_clients):
        try:
            if integration not in _switched_on and not integration.probe():
                integration.on(provider)
                _switched_on.append(integration)
        except Exception as error:
            report(f"integration {integration.name}", error)


def switch_off() -> None:
    """Switch off what `switch_on` switched on, last first."""
    while _switched_on:
        integration = _switched_on.pop()
        try:
            integration.off()
        except Exception as error:
            report(f"integration {integration.name}", error)
