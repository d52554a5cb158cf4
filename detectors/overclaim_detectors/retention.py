"""How long a store keeps spans. The verdicts on them have a time of their own, a year."""

from __future__ import annotations

from overclaim_detectors import sql
from overclaim_detectors.store import Store


def keep(store: Store, days: int) -> None:
    """Keep spans so many days after they came, 0 for ever; what is older goes soon after. The store remembers it.

    Raises:
        StoreError: the store has no table of spans, or may not be changed.
    """
    ends, now = store.query(sql.load("retention/current")).rows[0]
    if days and days != now:  # to set what is set already would have the engine go through all parts for nothing
        store.command(sql.load("retention/days"), {"days": days})
    elif ends and not days:
        store.command(sql.load("retention/forever"))
