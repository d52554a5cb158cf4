"""What each receiver has got: asked for and noted in the store, which is the only queue there is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from overclaim_detectors import sql
from overclaim_detectors.outgoing.finding import Finding, finding
from overclaim_detectors.store import Store

_COLUMNS: Final = ("Sink", "FindingId", "Mark", "Open", "Fate", "FindingVersion", "At")


class Ledger:
    """One receiver's. sink: its name in the store. severities: what it wants to hear of."""

    def __init__(self, store: Store, sink: str, severities: Sequence[str]) -> None:
        self._store = store
        self._sink = sink
        self._severities = list(severities)

    def begin(self) -> int:
        """Where it is new, take what stands by now for known: it is sent what comes.

        Returns:
            Up to which pass it has got everything, by the pass's number, which is when it began in Unix milliseconds.
        """
        sink = {"sink": self._sink}
        if not (rows := self._store.query(sql.load("outgoing/position"), sink).rows):
            self._store.command(sql.load("outgoing/begin"), sink)
            rows = self._store.query(sql.load("outgoing/position"), sink).rows
        return int(rows[0][0])

    def advance(self, position: int) -> None:
        """Note up to which pass it has got everything."""
        self._store.command(sql.load("outgoing/advance"), {"sink": self._sink, "position": position})

    def pending(self, after: int, most: int) -> list[Finding]:
        """What passes from number `after` on wrote and it has not got, oldest first, at most so many."""
        wanted = {"sink": self._sink, "after": after, "severities": self._severities, "most": most}
        rows = self._store.query(sql.load("outgoing/pending"), wanted).dicts()
        claims = [row for row in rows if row["Claim"] >= 0]
        sure = self._confidences([(row["TraceId"], int(row["AtNs"])) for row in claims]) if claims else {}
        return [finding(row, sure.get((row["TraceId"], row["RunSpanId"], row["Claim"]))) for row in rows]

    def _confidences(self, runs: Sequence[tuple[str, int]]) -> dict[tuple[str, str, int], float]:
        times = [at for _, at in runs]
        about = {"traces": sorted({trace for trace, _ in runs}), "earliest": min(times), "latest": max(times)}
        rows = self._store.query(sql.load("outgoing/confidences"), about).rows
        return {(trace, run, claim): round(float(sure), 4) for trace, run, claim, sure in rows}

    def sending(self, batch: Sequence[Finding]) -> None:
        """Note before: after a crash it may or may not have them, and what stands in it as open must be taken back."""
        self._note([(one, 0, 1, "sent" if one.known else "sending") for one in batch])

    def sent(self, batch: Sequence[Finding], fate: str = "sent") -> None:
        """Note that it has them, or refused them for good."""
        self._note([(one, one.mark, int(one.open), fate) for one in batch])

    def _note(self, rows: Sequence[tuple[Finding, int, int, str]]) -> None:
        now = time.time_ns() // 1_000_000
        noted = [(self._sink, one.id, mark, open_, fate, one.version, now) for one, mark, open_, fate in rows]
        self._store.insert("overclaim_deliveries", _COLUMNS, noted)
