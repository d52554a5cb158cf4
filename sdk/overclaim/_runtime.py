"""What `instrument()` switched on, and what became of this process, for the few places that need to know."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from opentelemetry.trace import Tracer

from overclaim.outcome.tool_rules import NO_RULES, ToolRules

if TYPE_CHECKING:
    from overclaim._metrics import Counters
    from overclaim.procedures import Procedure

SCOPE_NAME = "overclaim"


class Runtime:
    """The state of this process.

    tracer: None while nothing is instrumented. capture_content: whether content may leave. watching: whether
    anything here would see a tool call, so that the absence of one means something. all_tools: whether the program says
    that every tool of its agents is decorated. rules: what is expected of tools, by `instrument(expectations=...)`.
    procedures: what order of calls is right, by the same. counters: of outcomes, for the program's metrics.
    forks: how often this process forked or was forked. generation: how many forks lie between it and the first one.
    lock: guards all runs; they hold it for a few instructions only. It lets its own thread in again, since a signal
    handler or a garbage collection may call a tool, or end one, in between.
    """

    __slots__ = (
        "all_tools", "capture_content", "counters", "forks", "generation", "lock", "procedures", "rules", "tracer",
        "watching",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tracer: Tracer | None = None
        self.capture_content = False
        self.counters: Counters | None = None
        self.rules: ToolRules = NO_RULES
        self.procedures: tuple[Procedure, ...] = ()
        self.watching = self.all_tools = False
        self.forks = self.generation = 0
        self.lock = threading.RLock()

    def forked(self) -> None:
        """Note a fork, in the parent."""
        self.forks += 1

    def born(self) -> None:
        """Note a fork, in the child. Another thread of the parent may have held the lock, and it is not here."""
        self.forks += 1
        self.generation += 1
        self.lock = threading.RLock()


RUNTIME = Runtime()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=RUNTIME.forked, after_in_child=RUNTIME.born)
