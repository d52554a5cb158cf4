"""FastMCP: what its servers answer. Its clients call through MCP's own session, see mcp.py.

It puts a middleware of its own, with a span of its own, in the place of MCP's; that span is enriched.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim.integrations.mcp import inside_server_span
from overclaim.integrations.patching import Patches

__all__ = ["off", "on", "probe"]

_PATCHES = Patches("fastmcp")


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch the servers of this process.

    Raises:
        AttributeError: this version of the library lacks the middleware.
    """
    low_level: Any = import_module("fastmcp.server.low_level")
    _PATCHES.replace(low_level.FastMCPServerMiddleware, "__call__", inside_server_span)


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()
