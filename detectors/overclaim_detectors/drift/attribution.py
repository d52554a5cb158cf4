"""Why a rate moved: which value of which dimension stands out, and whether behaviour or traffic changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from overclaim_detectors import sql
from overclaim_detectors.drift.detector import Evidence
from overclaim_detectors.drift.reference import Marker, Reference
from overclaim_detectors.drift.signals import Key
from overclaim_detectors.store import Store

NEAR = 6 * 3600  # seconds between a release and a change that it may have brought; the sentence names both times
LEAST_SCORE = 3.0
MOST = 5


class Part(NamedTuple):
    """A value of a dimension, its rates then and now, and its part of the change."""

    dimension: str
    value: str
    was: float
    now: float
    effect: float


@dataclass(frozen=True, slots=True)
class Causes:
    """What explains a change: values that stand out, the effects of rates and of the mix, the release beside it.

    levels: of what is measured, the quantile then and now, as bins. other: the category that is meant where the part
    is that of all others.
    """

    parts: tuple[Part, ...] = ()
    rate: float = 0.0
    mix: float = 0.0
    release: Marker | None = None
    traces: tuple[str, ...] = ()
    levels: tuple[int, int] = (0, 0)
    other: str = ""


def causes(store: Store, evidence: Evidence, released: Sequence[Marker], until: int) -> Causes:
    """What explains the change that the evidence speaks of; until: the end of the time looked at, Unix seconds."""
    reference = evidence.reference
    service, environment, agent, tool, signal, _ = reference.key
    params: dict[str, object] = {
        "service": service, "environment": environment, "agent": agent, "tool": tool, "signal": signal,
        "now_from": evidence.change, "now_until": until, "ref_from": reference.begin, "ref_until": reference.end,
        "direction": evidence.direction, "kind": reference.kind, "part": reference.part, "edge": reference.edge,
        "stream": reference.stream,
    }  # fmt: skip
    rows = store.query(sql.load("drift/attribution"), params).dicts()
    telling = [row for row in rows if row["Score"] * evidence.direction >= LEAST_SCORE and row["Value"] != ""]
    lead = next(iter(telling or rows), {"AllRate": 0.0, "AllMix": 0.0})
    was, now, other = _levels(store, reference, params)
    return Causes(
        tuple(
            Part(row["Dimension"], row["Value"], row["Was"], row["Now"], row["RateEffect"] + row["MixEffect"])
            for row in telling[:MOST]
        ),
        float(lead["AllRate"]),
        float(lead["AllMix"]),
        _release(reference.key, evidence.change, released),
        _traces(store, evidence, params, reference.part or other),
        (was, now),
        other,
    )


def _levels(store: Store, reference: Reference, params: dict[str, object]) -> tuple[int, int, str]:
    if reference.kind == "rate":
        return 0, 0, ""
    q = float(reference.part) if reference.kind == "measured" else 0.5
    was, now, other = store.query(sql.load("drift/levels"), params | {"q": q}).rows[0]
    return int(was), int(now), "" if reference.part else str(other)


def _traces(store: Store, evidence: Evidence, params: dict[str, object], category: str) -> tuple[str, ...]:
    """Traces that show the change; of a category that became rare, none does."""
    if evidence.reference.kind != "named":
        (traces,) = store.query(sql.load("drift/traces"), params).rows[0]
        return tuple(map(str, traces))
    if evidence.direction < 0 or not category:
        return ()
    since = {"since": params["now_from"], "until": params["now_until"], "part": category}
    (traces,) = store.query(sql.load("drift/examples"), params | since).rows[0]
    return tuple(map(str, traces))


def _release(key: Key, change: int, released: Sequence[Marker]) -> Marker | None:
    """The release nearest to a change, of the agent or of one of the service."""
    of_it = [one for one in released if one[:2] == key[:2] and key.agent in ("", one.agent)]
    near = [one for one in of_it if abs(one.at - change) <= NEAR]
    return min(near, key=lambda one: (abs(one.at - change), one), default=None)
