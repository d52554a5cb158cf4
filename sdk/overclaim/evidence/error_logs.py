"""Records of level ERROR and above that are logged inside a tool: a suspicion.

No word of the message is kept, and of the logger its name only where that is a dotted identifier, as those of modules
are.

It stands at `Logger.callHandlers`, where records come that are to be shown. A handler on the root logger would have
been the public way, but then `logging.basicConfig()` of the program would do nothing, and records that nobody handles
would no longer be printed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim.evidence.inside import shown_by, tool_inside
from overclaim.integrations.patching import Patches
from overclaim.outcome.model import Evidence, Grade, Outcome

_MOST = 4
_LONGEST = 64
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
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
    value = " ".join(filter(None, (_identifier(record.name), _identifier(record.levelname))))
    found = Evidence("log_record", "log.error", Outcome.FAILURE, Grade.SUSPECT, value, span_id=shown_by(tool))
    logged = [one for one in tool.evidence if one.kind == "log_record"]
    if len(logged) < _MOST and found not in logged:
        tool.add(found)


def _identifier(name: object) -> str:
    """A name as modules have it; "" for any other, which may hold anything, such as whom the logger is for."""
    return name if isinstance(name, str) and len(name) <= _LONGEST and _DOTTED.fullmatch(name) else ""


def probe() -> str:
    """Say why it cannot be used, "" where it can."""
    return "already switched on" if _patches.on else ""


def on(_: TracerProvider) -> None:
    """Look at records of level ERROR and above."""
    _patches.replace(logging.Logger, "callHandlers", _calling)


def off() -> None:
    """Look away again."""
    _patches.undo()
