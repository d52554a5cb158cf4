"""Why a rate moved: which value of which dimension stands out, and whether behaviour or traffic changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from overclaim_detectors import sql
from overclaim_detectors.drift.detector import Evidence
from overclaim_detectors.drift.reference import Marker
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
    """What explains a change: values that stand out, the effects of rates and of the mix, the release beside it."""

    parts: tuple[Part, ...] = ()
    rate: float = 0.0
    mix: float = 0.0
    release: Marker | None = None
    traces: tuple[str, ...] = ()


def causes(store: Store, evidence: Evidence, released: Sequence[Marker], until: int) -> Causes:
    """What explains the change that the evidence speaks of; until: the end of the time looked at, Unix seconds."""
    reference = evidence.reference
    service, environment, agent, tool, signal, _ = reference.key
    params = {
        "service": service, "environment": environment, "agent": agent, "tool": tool, "signal": signal,
        "now_from": evidence.change, "now_until": until, "ref_from": reference.begin, "ref_until": reference.end,
        "direction": evidence.direction,
    }  # fmt: skip
    rows = store.query(sql.load("drift/attribution"), params).dicts()
    telling = [row for row in rows if row["Score"] * evidence.direction >= LEAST_SCORE and row["Value"] != ""]
    lead = next(iter(telling or rows), {"AllRate": 0.0, "AllMix": 0.0})
    (traces,) = store.query(sql.load("drift/traces"), params).rows[0]
    return Causes(
        tuple(
            Part(row["Dimension"], row["Value"], row["Was"], row["Now"], row["RateEffect"] + row["MixEffect"])
            for row in telling[:MOST]
        ),
        float(lead["AllRate"]),
        float(lead["AllMix"]),
        _release(reference.key, evidence.change, released),
        tuple(map(str, traces)),
    )


def _release(key: Key, change: int, released: Sequence[Marker]) -> Marker | None:
    """The release nearest to a change, of the agent or of one of the service."""
    of_it = [one for one in released if one[:2] == key[:2] and key.agent in ("", one.agent)]
    near = [one for one in of_it if abs(one.at - change) <= NEAR]
    return min(near, key=lambda one: (abs(one.at - change), one), default=None)
