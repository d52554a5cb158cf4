"""Records of level ERROR and above that are logged inside a tool: a suspicion. No word of the message is kept.

It stands at `Logger.callHandlers`, where records come that are to be shown. A handler on the root logger would have
been the public way, but then `logging.basicConfig()` of the program would do nothing, and records that nobody handles
would no longer be printed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._scrub import small
from overclaim.evidence.inside import shown_by, tool_inside
from overclaim.integrations.patching import Patches
from overclaim.outcome.model import Evidence, Grade, Outcome

_MOST = 4
_OWN = ("overclaim", "opentelemetry")
_patches = Patches("evidence logging")


def _calling(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def call_handlers(self: logging.Logger, record: logging.LogRecord) -> Any:
        if record.levelno >= logging.ERROR:
            _noted(record)
        return original(self, record)

    return call_handlers


@fail_open
def _noted(record: logging.LogRecord) -> None:
    tool = tool_inside()
    if tool is None or record.name.partition(".")[0] in _OWN:
        return
    value = small(f"{record.name} {record.levelname}")
    found = Evidence("log_record", "log.error", Outcome.FAILURE, Grade.SUSPECT, value, span_id=shown_by(tool))
    logged = [one for one in tool.evidence if one.kind == "log_record"]
    if len(logged) < _MOST and found not in logged:
        tool.add(found)


def probe() -> str:
    """Say why it cannot be used, "" where it can."""
    return "already switched on" if _patches.on else ""


def on(_: TracerProvider) -> None:
    """Look at records of level ERROR and above."""
    _patches.replace(logging.Logger, "callHandlers", _calling)


def off() -> None:
    """Look away again."""
    _patches.undo()
