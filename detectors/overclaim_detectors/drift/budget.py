"""The budget of false alerts, split over all streams by a union bound, and what a stream can see with its part."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from overclaim_detectors.drift.signals import SIGNALS, Key

CANDIDATES_PER_WEEK = 24 * 7  # queries/drift/evidence.sql: each hour may be the one in which it changed


@dataclass(frozen=True, slots=True)
class Budget:
    """How many false alerts a week the whole store may give, and which part of them for changes that harm.

    weights: of tools, by name, relative to 1: a tool of weight 4 may have four times the part of another one, and is
    found to change sooner.
    """

    alerts_per_week: float = 1.0
    harmful: float = 0.9
    weights: Mapping[str, float] = field(default_factory=dict[str, float])


def thresholds(streams: Mapping[str, Key], budget: Budget) -> dict[tuple[str, int], float]:
    """The log of the evidence that an alarm takes, by stream and direction. streams: all that have a reference.

    The parts of the budget sum to one: split by signal, then evenly by level, by key (tools by their
    weights), and evenly by the references of a key.
    """
    keys = set(streams.values())
    references = Counter(streams.values())
    signals = sum(SIGNALS[name].share for name in {key.signal for key in keys})
    levels = Counter(signal for signal, _ in {(key.signal, key.level) for key in keys})
    weights = {key: budget.weights.get(key.tool, 1.0) for key in keys}
    peers: dict[tuple[str, str], float] = {}
    for key, weight in weights.items():
        peers[key.signal, key.level] = peers.get((key.signal, key.level), 0.0) + weight
    found: dict[tuple[str, int], float] = {}
    for stream, key in streams.items():
        own = weights[key] / peers[key.signal, key.level] / levels[key.signal] / references[key]
        part = SIGNALS[key.signal].share / signals * own
        for direction in (1, -1):
            found[stream, direction] = _log_a(part * _of_direction(key.signal, direction, budget), budget)
    return found


def _of_direction(signal: str, direction: int, budget: Budget) -> float:
    harmful = SIGNALS[signal].harmful
    if harmful == 0:
        return 0.5
    return budget.harmful if direction == harmful else 1 - budget.harmful


def _log_a(part: float, budget: Budget) -> float:
    return math.log(CANDIDATES_PER_WEEK / budget.alerts_per_week / part)


def smallest_change(rate: float, runs: float, log_a: float, direction: int) -> float:
    """By how much a rate must change to be seen with so many runs after it, as points of one; NaN where it cannot be.

    By the mean growth of the evidence, so about half of such changes are seen in time.
    """
    limit = 1 - 1e-6 if direction > 0 else 1e-6
    if runs <= 0 or runs * _divergence(limit, rate) < log_a:
        return math.nan
    near, far = rate, limit
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if runs * _divergence(middle, rate) < log_a else (near, middle)
    return abs(far - rate)


def _divergence(p: float, q: float) -> float:
    """Of a rate p from a rate q, in nats per run."""
    p, q = (min(max(rate, 1e-9), 1 - 1e-9) for rate in (p, q))
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def difference(bad: Collection[int], runs: Collection[int]) -> tuple[float, float]:
    """Newcombe's 95 % interval of the second rate minus the first. bad, runs: of both."""
    (bad_then, bad_now), (runs_then, runs_now) = bad, runs
    was, now = bad_then / runs_then, bad_now / runs_now
    was_low, was_high = wilson(bad_then, runs_then)
    now_low, now_high = wilson(bad_now, runs_now)
    return (
        now - was - math.hypot(now - now_low, was_high - was),
        now - was + math.hypot(now_high - now, was - was_low),
    )


def wilson(bad: int, runs: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval of a rate, 95 % unless z says otherwise."""
    rate, square = bad / runs, z * z
    middle = (rate + square / (2 * runs)) / (1 + square / runs)
    half = z * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs * runs)) / (1 + square / runs)
    return middle - half, middle + half
