"""Passing on what comes in, as the configuration wants it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from overclaim_collector.config import ServeConfig
from overclaim_collector.writing.forward import Forwarder
from overclaim_collector.writing.forward_target import Target, refuse_own

_SECONDS: Final = 0.5


def started(config: ServeConfig, running: ExitStack, ports: tuple[int, ...]) -> Forwarder | None:
    """The forwarder at work, if there is one. ports: where this server itself listens.

    Raises:
        InputError: the endpoint cannot be used.
    """
    if config.forward is None:
        return None
    target = Target(config.forward, config.forward_headers)
    refuse_own(target, config.host, ports)
    forwarder = Forwarder(target, config.forward_mib << 20)
    forwarder.start()
    running.callback(forwarder.stop, _SECONDS)
    return forwarder
