"""The signals of behaviour that are watched; queries/drift/behaviour.sql counts them.

Three kinds: a rate (it happened in a run or not), what is measured in a run, and categories (which of several things
happened in it). The last two have parts in their references, one for each quantile or category.
"""

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

    share: of the budget of false alerts, relative to the other signals. event: what happened in the runs that count;
    with {} for the quantile or category. kind: rate, measured or named. unit: of what is measured. among: the runs that
    can have it. Of categories, a rise is watched where one that becomes rarer makes another one more frequent.
    """

    name: str
    words: str
    event: str
    harmful: int
    share: float
    severity: str
    kind: str = "rate"
    unit: str = ""
    among: str = "runs"


_REST = 0.25 / 9  # the part of the budget that signals share which say nothing of right or wrong
SIGNALS: Final = {
    one.name: one
    for one in (
        Signal("overclaim", "overclaim rate", "overclaimed", 1, 0.25, "high"),
        Signal("silent_failure", "silent failures", "failed without anybody noticing", 1, 0.15, "high"),
        Signal("failure", "failure rate", "failed", 1, 0.15, "medium"),
        Signal("unsupported", "claims without evidence", "claimed what no call shows", 1, 0.10, "high"),
        Signal("verified", "verified writes", "looked at what they wrote", -1, 0.10, "medium"),
        Signal("claims_success", "claims of success", "claimed success", 0, _REST, "low"),
        Signal("ending", "what runs end with", "claimed {}", 1, _REST, "low", "named", "", "runs without success"),
        Signal("error_type", "kinds of errors", "failed with {}", 1, _REST, "medium", "named", "", "failed runs"),
        Signal("tool_mix", "tools in use", "called {}", 0, _REST, "low", "named"),
        Signal("run_time", "time of a run", "took {}", 1, _REST, "medium", "measured", "ms"),
        Signal("latency", "time of a call", "took {}", 1, _REST, "medium", "measured", "ms"),
        Signal("steps", "steps", "took {} steps", 1, _REST, "medium", "measured"),
        Signal("tokens", "tokens of a run", "took {} tokens", 1, _REST, "medium", "measured"),
        Signal("retries", "repeated calls", "had {} repeated calls", 1, _REST, "medium", "measured"),
    )
}

MEASURED: Final = [one.name for one in SIGNALS.values() if one.kind == "measured"]
NAMED: Final = [one.name for one in SIGNALS.values() if one.kind == "named"]
RISING: Final = [one.name for one in SIGNALS.values() if one.kind == "named" and one.harmful > 0]


def severity(signal: str, direction: int) -> str:
    """How grave a change in this direction is: low where it is an improvement."""
    one = SIGNALS[signal]
    return one.severity if one.harmful in (0, direction) else "low"
