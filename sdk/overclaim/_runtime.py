"""What `instrument()` switched on, for the few places on the path of a call that need to know."""

from __future__ import annotations

from opentelemetry.trace import Tracer

SCOPE_NAME = "overclaim"


class Runtime:
    """The state of this process.

    tracer: None while nothing is instrumented. capture_content: whether content may leave. watching: whether
    anything here would see a tool call, so that the absence of one means something.
    """

    __slots__ = ("capture_content", "tracer", "watching")

    def __init__(self) -> None:
        self.tracer: Tracer | None = None
        self.capture_content = False
        self.watching = False


RUNTIME = Runtime()
