"""How long a store keeps spans and log records. The verdicts on them have a time of their own, a year."""

from __future__ import annotations

from overclaim_detectors import sql
from overclaim_detectors.cluster import statements_for
from overclaim_detectors.store import Store


def keep(store: Store, days: int) -> None:
    """Keep spans and log records so many days after they came, 0 for ever. The store remembers it.

    What is older goes soon after.

    Raises:
        StoreError: the store has no table of spans, or may not be changed.
    """
    for what in ("retention/", "retention/logs_"):
        _keep(store, days, what)


def _keep(store: Store, days: int, what: str) -> None:
    ends, now = store.query(sql.load(f"{what}current")).rows[0]
    if days and days != now:  # to set what is set already would have the engine go through all parts for nothing
        _change(store, f"{what}days", {"days": days})
    elif ends and not days:
        _change(store, f"{what}forever", {})


def _change(store: Store, name: str, values: dict[str, object]) -> None:
    for statement in statements_for(store, [sql.load(name)]):
        store.command(statement, values)
