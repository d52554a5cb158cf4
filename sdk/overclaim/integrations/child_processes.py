"""Processes that `multiprocessing` forks end without Python's exit hooks: what they did is sent before that."""

from __future__ import annotations

from multiprocessing import util
from typing import Final

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._runtime import RUNTIME


class _Marker:
    """Stands in the registry of `multiprocessing`, which holds it weakly."""

    registered = False


_MARKER: Final = _Marker()


def probe() -> str:
    """Say why it cannot be used, "" where it can."""
    return ""


def on(_: TracerProvider) -> None:
    """Have children flush at their end."""
    if not _MARKER.registered:  # there is no way to take it back
        util.register_after_fork(_MARKER, _begun)
        _MARKER.registered = True


def off() -> None:
    """Nothing to undo: children of a process that is not instrumented have nothing to send."""


def _begun(_: _Marker) -> None:
    """In a new child: note what is to be done at its end."""
    util.Finalize(None, _flush, exitpriority=0)


@fail_open
def _flush() -> None:
    if RUNTIME.tracer is not None:
        from overclaim._provider import flush

        flush()
