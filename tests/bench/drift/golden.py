"""The expected values of tests/golden/statistics.json, worked out with scipy from the definitions.

Run it with any Python that has scipy: python3 tests/bench/drift/golden.py > tests/golden/statistics.json
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
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


def measured(seed: int, days: int, mean: float, **kind: float) -> dict[str, Any]:
    """A value of each run by the hour, whole numbers; with a daily cycle, or larger on the last day."""
    dice, values = random.Random(seed), []
    for hour in range(days * PER_DAY):
        cycle = kind.get("cycle", 0) * math.sin(2 * math.pi * hour / PER_DAY)
        moved = kind.get("moved", 0) * (hour >= (days - 1) * PER_DAY)
        count = sum(dice.random() < mean / 50 for _ in range(50)) or int(hour == 0)
        values.append([max(1, round(math.exp(dice.gauss(2.2 + cycle + moved, 0.5)))) for _ in range(count)])
    return {"runs": [len(one) for one in values], "values": values, "reference_days": days - 2}


def named(seed: int, days: int, mean: float) -> dict[str, Any]:
    """Which tools runs call, by the hour: fourteen tools, one of them called more often on the last day."""
    dice, runs, names = random.Random(seed), [], []
    for hour in range(days * PER_DAY):
        count = sum(dice.random() < mean / 50 for _ in range(50)) or int(hour == 0)
        late = hour >= (days - 1) * PER_DAY
        rates = {f"tool {place}": 0.8 / (place + 1) for place in range(14)}
        rates["tool 3"] = 0.5 if late else rates["tool 3"]
        found = Counter(name for name, rate in rates.items() for _ in range(count) if dice.random() < rate)
        runs.append(count)
        names.append(dict(sorted(found.items())))
    return {"runs": runs, "names": names, "reference_days": days - 2}


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


def parts(one: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a stream: its bad runs by the hour, the side that it is about, and what is beyond its rank."""
    hours = one["reference_days"] * PER_DAY
    if "values" in one:
        held = sorted(bin_of(v) for values in one["values"][:hours] for v in values)
        return [beyond(one, held, q, side) for q, side in ((0.25, -1), (0.5, 1), (0.9, 1), (0.98, 1))]
    if "names" in one:
        sums = Counter(name for names in one["names"][:hours] for name, n in names.items() for _ in range(n))
        most = sorted(sums, key=lambda name: (-sums[name], name))[:12]
        rest = [
            min(n, sum(more for name, more in names.items() if name not in most))
            for n, names in zip(one["runs"], one["names"], strict=True)
        ]
        by_name = [{"name": name, "bad": [names.get(name, 0) for names in one["names"]], "side": 0} for name in most]
        return [*by_name, {"name": "", "bad": rest, "side": 0}]
    return [{"name": "", "bad": one["bad"], "side": 0}]


def bin_of(value: float) -> int:
    """Eighths of a power of two."""
    return math.floor(8 * math.log2(value))


def beyond(one: dict[str, Any], held: list[int], q: float, side: int) -> dict[str, Any]:
    """The runs by the hour that are beyond the edge at a rank of the reference, and how many are beyond the rank."""
    rank = math.floor(q * len(held)) + 1
    edge = held[rank - 1] + (side == 1)
    bad = [sum(bin_of(v) >= edge for v in values) for values in one["values"]]
    return {"name": f"{q:g}", "bad": bad, "side": side, "over": len(held) - rank + 1, "edge": edge}


def reference(one: dict[str, Any]) -> dict[str, Any]:
    """The priors that the reference gives to each part, and what its tests say."""
    hours = one["reference_days"] * PER_DAY
    found = parts(one)
    pairs = [list(zip(one["runs"][:hours], part["bad"][:hours], strict=True)) for part in found]
    deff = max(clusters(each) for each in pairs)
    blocks = max(blocks_of(each, deff, one["reference_days"]) for each in pairs)
    priors = [
        prior_of(each, part, deff, blocks, one["reference_days"]) for each, part in zip(pairs, found, strict=True)
    ]
    return {
        "deff": deff, "tau": max(tau for _, _, tau in priors), "a": [x for a, _, _ in priors for x in a],
        "b": [x for _, b, _ in priors for x in b], "runs": sum(one["runs"][:hours]),
        "bad": [sum(part["bad"][:hours]) for part in found], "parts": [part["name"] for part in found],
    }  # fmt: skip


def rate_of(pairs: list[tuple[int, int]]) -> float:
    """The rate of runs and bad runs, never none or all."""
    return (sum(k for _, k in pairs) + 0.5) / (sum(n for n, _ in pairs) + 1)


def clusters(pairs: list[tuple[int, int]]) -> float:
    """How many runs count as one."""
    chi, df = excess(pairs, rate_of(pairs))
    return max(1.0, chi / df) if stats.chi2.sf(chi, df) < 0.05 else 1.0


def blocks_of(pairs: list[tuple[int, int]], deff: float, days: int) -> int:
    """How many times of the day a part would have told apart."""
    bad, rate = sum(k for _, k in pairs), rate_of(pairs)
    chi, _ = excess(grouped(pairs, [int(h // 24 % 7 > 4) for h in range(len(pairs))]), rate)
    if days >= 28 and stats.chi2.sf(chi / deff, 1) < 0.01 and bad >= 80:
        return 16
    chi, df = excess(grouped(pairs, places(len(pairs), 8)), rate)
    return 8 if stats.chi2.sf(chi / deff, df) < 0.01 and bad >= 40 else 1


def wandering(pairs: list[tuple[int, int]], deff: float, days: int) -> float:
    """How far the rate may wander, by how its days differ, and by how little few of them tell."""
    n, k, rate = sum(n for n, _ in pairs), sum(k for _, k in pairs), rate_of(pairs)
    chi, df = excess(grouped(pairs, [h // 24 for h in range(len(pairs))]), rate)
    if df < 3 or min(k, n - k) < 10:
        return 0.0
    least = df * (1 - 2 / (9 * df) + float(stats.norm.ppf(0.25)) * math.sqrt(2 / (9 * df))) ** 3
    of_day = rate * (1 - rate) / (n / days)
    shown = math.sqrt(max(chi / df - deff, 0) * of_day) if stats.chi2.sf(chi / deff, df) < 0.05 else 0.0
    return (
        shown
        if days >= 28
        else max(shown, min(math.sqrt(max(chi / least - deff, 0) * of_day), 0.3 * rate * (1 - rate)))
    )


def prior_of(
    pairs: list[tuple[int, int]], part: dict[str, Any], deff: float, blocks: int, days: int
) -> tuple[list[float], list[float], float]:
    """Weights of bad and good runs by block, and how far the rate may wander."""
    n, k, tau = sum(n for n, _ in pairs), sum(k for _, k in pairs), wandering(pairs, deff, days)
    over = part.get("over")
    weights = [(k / deff + 0.5, (n - k) / deff + 0.5) if over is None else (over / deff, (n + 1 - over) / deff)]
    if blocks > 1:
        pooled = weights[0][0] / sum(weights[0])
        pull = max(10.0, 2 / pooled)
        of_block = grouped(pairs, places(len(pairs), blocks))
        if over is not None:
            of_block = [(m, x * over / k if over <= k else x + (over - k) * (m - x) / (n - k)) for m, x in of_block]
        weights = [(x / deff + pull * pooled, (m - x) / deff + pull * (1 - pooled)) for m, x in of_block]
    prior = [narrowed(a, b, tau) for a, b in weights]
    return [a for a, _ in prior], [b for _, b in prior], tau


def narrowed(a: float, b: float, tau: float) -> tuple[float, float]:
    """A beta prior, no surer than a rate that wanders by tau allows."""
    m, s = a / (a + b), a + b
    if tau > 0:
        s = 1 / (1 / s + 1 / max(m * (1 - m) / tau**2 - 1, 1.0))
    return m * s, (1 - m) * s


def evidence(one: dict[str, Any], prior: dict[str, Any], direction: int) -> dict[str, Any]:
    """The mean over the parts of the sum over all hours, empty ones too.

    The part with the largest e-value, and in it the hour since which a rate that moved tells most more than the old.
    """
    found = parts(one)
    start, blocks = one["reference_days"] * PER_DAY, len(prior["a"]) // len(found)
    about = {place: part for place, part in enumerate(found) if part["side"] in (0, direction)}
    both = {
        place: e_values(one["runs"], part["bad"], start, blocks, {
            "deff": prior["deff"],
            "a": prior["a"][place * blocks : (place + 1) * blocks],
            "b": prior["b"][place * blocks : (place + 1) * blocks],
        }, direction)
        for place, part in about.items()
    }  # fmt: skip
    each = {place: values for place, (values, _) in both.items()}
    filled = [hour for hour in range(start, len(one["runs"])) if one["runs"][hour]]
    likely = {place: max(filled, key=lambda at: (gains[at - start], -at)) for place, (_, gains) in both.items()}
    lead = max(about, key=lambda at: (max(each[at][hour - start] for hour in filled), -likely[at], -at))
    change = likely[lead]
    log_e = special.logsumexp([value for values in each.values() for value in values]) - math.log(len(about))
    return {"log_e": float(log_e), "change": change, "part": found[lead]["name"]}


def e_values(
    runs: list[int], bad: list[int], start: int, blocks: int, prior: dict[str, Any], direction: int
) -> tuple[list[float], list[float]]:
    """The logarithm of the e-value of each hour since the reference as the beginning of a change.

    Beside it the logarithm of how much better a rate that moved tells what came since than the reference's mean does.
    """
    place, found, gains = places(len(runs), blocks), list[float](), list[float]()
    for first in range(start, len(runs)):
        n, k = [0.0] * blocks, [0.0] * blocks
        for hour in range(first, len(runs)):
            n[place[hour]] += runs[hour] / prior["deff"]
            k[place[hour]] += bad[hour] / prior["deff"]
        null = sum(
            special.betaln(a + x, b + m - x) - special.betaln(a, b)
            for a, b, m, x in zip(prior["a"], prior["b"], n, k, strict=True)
        )
        still, *told = (
            sum(
                x * special.log_expit(math.log(a / b) + direction * step)
                + (m - x) * special.log_expit(-math.log(a / b) - direction * step)
                for a, b, m, x in zip(prior["a"], prior["b"], n, k, strict=True)
            )
            for step in (0.0, *STEPS)
        )
        moved = float(special.logsumexp(told)) - math.log(len(STEPS))
        found.append(moved - null)
        gains.append(moved - still)
    return found, gains


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
        "steps": measured(7, 9, 8, moved=0.5),
        "fewer steps": measured(8, 9, 3, moved=-0.7),
        "steps by the hour": measured(9, 9, 12, cycle=0.5),
        "tools": named(10, 9, 6),
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
