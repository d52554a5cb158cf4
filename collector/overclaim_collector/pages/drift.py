"""The drifts that are open: what changed, since when, the likely cause; what is quiet, and what could not be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from overclaim_collector.pages.charts import Chart, Day, chart, filled
from overclaim_collector.pages.page import Asked, Page, Sources
from overclaim_detectors import sql
from overclaim_detectors.drift.signals import SIGNALS, Key
from overclaim_detectors.drift.states import Drift, current
from overclaim_detectors.report import REPORTS, Window, left_out, with_tables

DAYS: Final = 28
MOST: Final = 50


@dataclass(frozen=True, slots=True)
class Seen:
    """A drift with its runs by the day, those of which are part that it is about; no days where it is no share."""

    drift: Drift
    days: Sequence[Day]

    @property
    def chart(self) -> Chart:
        """The days as a drawing."""
        reference = Day("reference", self.drift.ref_bad, self.drift.ref_runs)
        return chart(self.days, reference, self.began.date().isoformat())

    @property
    def began(self) -> datetime:
        """Since when it is, most likely."""
        return datetime.fromtimestamp(self.drift.change, UTC)


def read(sources: Sources, asked: Asked) -> Page:
    """The page. Asked for: `all`, also those that are closed, small, or part of another."""
    every = asked.text("all") == "1"
    drifts = [one for one in current(sources.store, every=every) if every or (one.shown and not one.under)]
    drifts.sort(key=lambda one: (one.state != "open", -abs(one.excess), one.id))
    now = sources.clock()
    values = {
        "drifts": [_seen(sources, one, now) for one in drifts[:MOST]], "more": len(drifts) - MOST, "every": every,
        "nothing": REPORTS["drift"].nothing, "quiet": left_out(sources.store, "drift", Window(now, now)),
    }  # fmt: skip
    return Page("drift.html", "Drift", values)


def _seen(sources: Sources, drift: Drift, now: datetime) -> Seen:
    signal = SIGNALS.get(drift.key.signal)
    return Seen(drift, _days(sources, drift.key, now) if signal and signal.kind == "rate" else ())


def _days(sources: Sources, key: Key, now: datetime) -> list[Day]:
    first = now.date() - timedelta(days=DAYS - 1)
    wanted = {name: value for name, value in key._asdict().items() if name != "level"}
    values = {**wanted, "since": f"{first} 00:00:00"}
    rows = with_tables(lambda: sources.store.query(sql.load("pages/drift_days"), values)).dicts()
    return filled({str(row["Day"])[:10]: (row["Bad"], row["Runs"]) for row in rows}, first, DAYS)
