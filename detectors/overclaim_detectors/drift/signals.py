"""The signals of behaviour that are watched; queries/drift/behaviour.sql counts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple


class Key(NamedTuple):
    """What a stream is about. Agent and tool are empty where it is about all of them; level: tool, agent or service."""

    service: str
    environment: str
    agent: str
    tool: str
    signal: str
    level: str


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal: how it is called, which direction harms (1 a rise, -1 a fall, 0 either), and how grave that is.

    share: of the budget of false alerts, relative to the other signals. event: what happened in the runs that count.
    """

    name: str
    words: str
    event: str
    harmful: int
    share: float
    severity: str


SIGNALS: Final = {
    one.name: one
    for one in (
        Signal("overclaim", "overclaim rate", "overclaimed", 1, 0.25, "high"),
        Signal("silent_failure", "silent failures", "failed without anybody noticing", 1, 0.15, "high"),
        Signal("failure", "failure rate", "failed", 1, 0.15, "medium"),
        Signal("unsupported", "claims without evidence", "claimed what no call shows", 1, 0.10, "high"),
        Signal("verified", "verified writes", "looked at what they wrote", -1, 0.10, "medium"),
        Signal("claims_success", "claims of success", "claimed success", 0, 0.25, "low"),
    )
}


def severity(signal: str, direction: int) -> str:
    """How grave a change in this direction is: low where it is an improvement."""
    one = SIGNALS[signal]
    return one.severity if one.harmful in (0, direction) else "low"
