"""What a request becomes in the store, for tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from overclaim_collector.otlp.decoding import decode
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.items import Row
from overclaim_collector.otlp.signals import TRACES, Signal


@dataclass(frozen=True)
class Rows:
    """The rows of a request, how often items were refused and mended and why, and the words for the sender."""

    rows: list[Row]
    refused: Counter[str]
    mended: Counter[str]
    message: str


def rows_of(body: bytes, encoding: Encoding, signal: Signal = TRACES) -> Rows:
    """The rows that a body becomes."""
    decoded = decode(body, encoding, signal)
    checked = decoded.checked
    reasons = Counter(item.reason for item in checked.refused)
    return Rows(signal.rows(signal.request.FromString(decoded.block)), reasons, checked.mended, checked.message)
