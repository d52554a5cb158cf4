"""The expected values of tests/golden/statistics.json, worked out with scipy from the definitions.

Run it with any Python that has scipy: python3 tests/bench/drift/golden.py > tests/golden/statistics.json
"""

from __future__ import annotations

import json
import math
import random
from typing import Any

from scipy import optimize, special, stats

STEPS = (0.5, 1.0, 2.0, 4.0)
PER_DAY = 24


def stream(seed: int, days: int, mean: float, **kind: float) -> dict[str, Any]:
    """Runs and bad runs by the hour: with clusters of runs, a daily cycle, days that differ, or weekends that do."""
    dice = random.Random(seed)
    runs, bad, of_day = [], [], 0.0
    for hour in range(days * PER_DAY):
        if hour % PER_DAY == 0:
            of_day = dice.gauss(0, kind.get("wander", 0))
        cycle = kind.get("cycle", 0) * math.sin(2 * math.pi * hour / PER_DAY)
        weekend = kind.get("weekend", 0) * (hour // PER_DAY % 7 > 4)
        moved = kind.get("moved", 0) * (hour >= (days - 1) * PER_DAY)
        rate = float(special.expit(-2.5 + of_day + cycle + weekend + moved))
        size = int(kind.get("cluster", 1))
        count = sum(dice.random() < mean / 50 for _ in range(50)) or int(hour == 0)
        runs.append(count * size)
        bad.append(sum(size * int(dice.random() < rate) for _ in range(count)))
    return {"runs": runs, "bad": bad, "reference_days": days - 2}


def excess(groups: list[tuple[int, int]], rate: float) -> tuple[float, int]:
    """Pearson's chi2 of groups of runs and bad runs against one rate, and its degrees of freedom."""
    held = [(n, k) for n, k in groups if n]
    return sum((k - n * rate) ** 2 / (n * rate * (1 - rate)) for n, k in held), len(held) - 1


def grouped(pairs: list[tuple[int, int]], places: list[int]) -> list[tuple[int, int]]:
    """Sums of runs and bad runs by place."""
    sums = dict.fromkeys(sorted({*places}), (0, 0))
    for place, (n, k) in zip(places, pairs, strict=True):
        sums[place] = (sums[place][0] + n, sums[place][1] + k)
    return list(sums.values())


def places(hours: int, blocks: int) -> list[int]:
    """The block of each hour; the first day is a Monday."""
    return [0 if blocks == 1 else h % 24 // 3 + (8 if blocks == 16 and h // 24 % 7 > 4 else 0) for h in range(hours)]


def reference(one: dict[str, Any]) -> dict[str, Any]:
    """The prior that the reference gives, and what its tests say."""
    hours = one["reference_days"] * PER_DAY
    pairs = list(zip(one["runs"][:hours], one["bad"][:hours], strict=True))
    n, k = sum(one["runs"][:hours]), sum(one["bad"][:hours])
    rate = (k + 0.5) / (n + 1)
    chi, df = excess(pairs, rate)
    deff = max(1.0, chi / df) if stats.chi2.sf(chi, df) < 0.05 else 1.0
    day_chi, day_df = excess(grouped(pairs, [h // 24 for h in range(hours)]), rate)
    wanders = day_df >= 3 and stats.chi2.sf(day_chi / deff, day_df) < 0.05 and min(k, n - k) >= 10
    spread = max(day_chi / day_df - deff, 0) * rate * (1 - rate) / (n / one["reference_days"])
    tau = math.sqrt(spread) if wanders else 0.0
    blocks = 1
    chi, df = excess(grouped(pairs, places(hours, 8)), rate)
    if stats.chi2.sf(chi / deff, df) < 0.01 and k >= 40:
        blocks = 8
    chi, _ = excess(grouped(pairs, [int(h // 24 % 7 > 4) for h in range(hours)]), rate)
    if one["reference_days"] >= 28 and stats.chi2.sf(chi / deff, 1) < 0.01 and k >= 80:
        blocks = 16
    pooled = (k / deff + 0.5) / (n / deff + 1)
    pull = max(10.0, 2 / pooled)
    weights = [(k / deff + 0.5, (n - k) / deff + 0.5)]
    if blocks > 1:
        of_block = grouped(pairs, places(hours, blocks))
        weights = [(x / deff + pull * pooled, (m - x) / deff + pull * (1 - pooled)) for m, x in of_block]
    prior = [narrowed(a, b, tau) for a, b in weights]
    return {"deff": deff, "tau": tau, "a": [a for a, _ in prior], "b": [b for _, b in prior], "runs": n, "bad": k}


def narrowed(a: float, b: float, tau: float) -> tuple[float, float]:
    """A beta prior, no surer than a rate that wanders by tau allows."""
    m, s = a / (a + b), a + b
    if tau > 0:
        s = 1 / (1 / s + 1 / max(m * (1 - m) / tau**2 - 1, 1.0))
    return m * s, (1 - m) * s


def evidence(one: dict[str, Any], prior: dict[str, Any], direction: int) -> dict[str, float]:
    """The sum over all hours as candidates, empty ones too, and the hour with the largest e-value."""
    start, end = one["reference_days"] * PER_DAY, len(one["runs"])
    blocks = len(prior["a"])
    place = places(end, blocks)
    found = []
    for first in range(start, end):
        n, k = [0.0] * blocks, [0.0] * blocks
        for hour in range(first, end):
            n[place[hour]] += one["runs"][hour] / prior["deff"]
            k[place[hour]] += one["bad"][hour] / prior["deff"]
        null = sum(
            special.betaln(a + x, b + m - x) - special.betaln(a, b)
            for a, b, m, x in zip(prior["a"], prior["b"], n, k, strict=True)
        )
        each = []
        for step in STEPS:
            rates = [math.log(a / b) + direction * step for a, b in zip(prior["a"], prior["b"], strict=True)]
            told = sum(
                x * special.log_expit(at) + (m - x) * special.log_expit(-at)
                for at, m, x in zip(rates, n, k, strict=True)
            )
            each.append(told - null - math.log(len(STEPS)))
        found.append(float(special.logsumexp(each)))
    filled = [hour for hour in range(start, end) if one["runs"][hour]]
    change = max(filled, key=lambda hour: (found[hour - start], -hour))
    return {"log_e": float(special.logsumexp(found)), "change": change}


def newcombe(k0: int, n0: int, k1: int, n1: int) -> list[float]:
    """Newcombe's interval of the difference, from Wilson's intervals as roots of the score test."""
    low0, high0, low1, high1 = *wilson(k0, n0), *wilson(k1, n1)
    p0, p1 = k0 / n0, k1 / n1
    return [p1 - p0 - math.hypot(p1 - low1, high0 - p0), p1 - p0 + math.hypot(high1 - p1, p0 - low0)]


def wilson(k: int, n: int) -> tuple[float, float]:
    """The rates that a score test of 5 % does not reject."""
    found = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def smallest(rate: float, runs: float, log_a: float, direction: int) -> float:
    """The change at which the divergence of so many runs reaches log_a."""

    def missing(p: float) -> float:
        return runs * (special.rel_entr(p, rate) + special.rel_entr(1 - p, 1 - rate)) - log_a

    far = 1 - 1e-6 if direction > 0 else 1e-6
    return abs(optimize.brentq(missing, rate, far, xtol=1e-14) - rate)


def main() -> None:
    """Print the file."""
    streams = {
        "few": stream(11, 9, 0.6, wander=1.5),
        "plain": stream(1, 9, 4, moved=1.5),
        "sparse": stream(2, 9, 0.6, moved=2),
        "clusters": stream(3, 9, 4, cluster=4),
        "cycle": stream(4, 9, 12, cycle=1.0, moved=0.5),
        "wander": stream(5, 16, 12, wander=0.6),
        "weekend": stream(6, 31, 12, weekend=1.0),
    }
    for one in streams.values():
        one["prior"] = reference(one)
        one["evidence"] = {str(direction): evidence(one, one["prior"], direction) for direction in (1, -1)}
    pairs = [(30, 1422, 27, 236), (0, 100, 3, 40), (5, 20, 0, 30), (50, 50, 40, 44)]
    changes = [(0.02, 1400, 9.2, 1), (0.3, 70, 12.0, 1), (0.3, 700, 12.0, -1), (0.005, 14000, 8.1, 1)]
    found = {
        "streams": streams,
        "newcombe": [[*pair, *newcombe(*pair)] for pair in pairs],
        "smallest": [[*change, smallest(*change)] for change in changes],
    }
    print(json.dumps(found, default=float))


if __name__ == "__main__":
    main()
