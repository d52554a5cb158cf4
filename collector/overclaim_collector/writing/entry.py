"""One request on its way into the store."""

from __future__ import annotations

from dataclasses import dataclass

from overclaim_collector.otlp.items import Row
from overclaim_collector.otlp.signals import Signal


@dataclass(frozen=True, slots=True)
class Entry:
    """A checked request. digest: of the bytes that came. block: the request without its bad items, in protobuf.

    items: how many are in it, at least one.
    """

    digest: bytes
    signal: Signal
    items: int
    block: bytes

    def rows(self) -> list[Row]:
        """Its rows."""
        return self.signal.rows(self.signal.request.FromString(self.block))
