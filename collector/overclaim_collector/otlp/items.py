"""What becomes of the items of a request: spans, log records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """An item that cannot be kept: why, and the item itself in protobuf (a JSON text where it could not be read)."""

    reason: str
    content: bytes


@dataclass(slots=True)
class Checked:
    """What the check of a request came to: how many items stay, which were refused, what was mended and how often."""

    kept: int = 0
    refused: list[Refused] = field(default_factory=list[Refused])
    mended: Counter[str] = field(default_factory=Counter[str])

    @property
    def message(self) -> str:
        """For the sender: why items were refused, or what was mended; empty when all was well."""
        reasons = Counter(item.reason for item in self.refused)
        said = [f"{count} refused: {why}" for why, count in reasons.most_common(5)]
        said += [f"{count} stored with a change: {why}" for why, count in self.mended.most_common(5)]
        return "; ".join(said)
