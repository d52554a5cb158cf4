"""How the memory that the process may take is shared out: what it takes anyhow, the engine, requests in work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from overclaim_collector.receivers.admission import MAX_BYTES

_MIB: Final = 1 << 20
# An idle server: Python, the engine's library, and its threads.
IDLE: Final = 320 * _MIB
# The rows of a request take some three times what its body takes.
_PER_BYTE: Final = 3


@dataclass(frozen=True, slots=True)
class Shares:
    """Bytes. engine: for an embedded engine. requests: for the bodies of requests in work."""

    engine: int
    requests: int


def shares(memory_mib: int) -> Shares:
    """The shares of so many MiB: of what is left beside the idle server half is the engine's, a quarter for requests.

    The rest is for answers on their way, and for what nobody counts.
    """
    left = memory_mib * _MIB - IDLE
    return Shares(engine=left // 2, requests=min(MAX_BYTES, left // 4 // _PER_BYTE))
