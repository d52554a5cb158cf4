"""The statistic of queries/drift once more in numpy, for streams by the hundred; --check compares the two."""

from __future__ import annotations

import math

import numpy as np
from tests.bench.drift.streams import PER_DAY, Numbers, Stream

STEPS = np.array([0.5, 1.0, 2.0, 4.0])
LOOK_BACK = 28 * 24
QUARTER = -0.6744897501960817  # where a normal distribution has a quarter of itself below
Prior = tuple[Numbers, Numbers, float]  # weights of bad and good runs by block, and how many runs count as one


def prior(stream: Stream) -> Prior:
    """What the reference lets expect, after its tests."""
    end = stream.kind.reference_days * PER_DAY
    n, k = stream.runs[:end].astype(float), stream.bad[:end].astype(float)
    rate = (k.sum() + 0.5) / (n.sum() + 1)
    chi, df = _chi2(n, k, rate)
    deff = max(1.0, chi / df) if _survival(chi, df) < 0.05 else 1.0
    chi, df = _chi2(_days(n), _days(k), rate)
    told = df >= 3 and min(k.sum(), (n - k).sum()) >= 10
    tau = _wandering(chi, df, deff, rate, n.sum() / stream.kind.reference_days) if told else 0.0
    place = np.arange(end) // 12 % 8
    block_n, block_k = (np.bincount(place, weights=counts, minlength=8) for counts in (n, k))
    chi, df = _chi2(block_n, block_k, rate)
    pooled = (k.sum() / deff + 0.5) / (n.sum() / deff + 1)
    a, b = np.array([k.sum() / deff + 0.5]), np.array([(n - k).sum() / deff + 0.5])
    if _survival(chi / deff, df) < 0.01 and k.sum() >= 40:
        pull = max(10.0, 2 / pooled)
        a, b = block_k / deff + pull * pooled, (block_n - block_k) / deff + pull * (1 - pooled)
    mean, size = a / (a + b), a + b
    if tau > 0:
        size = 1 / (1 / size + 1 / np.maximum(mean * (1 - mean) / tau**2 - 1, 1.0))
    return mean * size, (1 - mean) * size, deff


def _wandering(chi: float, df: int, deff: float, rate: float, a_day: float) -> float:
    """How far the rate may wander, by how its days differ, and by how little few of them tell."""
    of_day = rate * (1 - rate) / a_day
    least = df * (1 - 2 / (9 * df) + QUARTER * math.sqrt(2 / (9 * df))) ** 3
    shown = math.sqrt(max(chi / df - deff, 0) * of_day) if _survival(chi / deff, df) < 0.05 else 0.0
    return (
        shown if df >= 27 else max(shown, min(math.sqrt(max(chi / least - deff, 0) * of_day), 0.3 * rate * (1 - rate)))
    )


def log_evidence(stream: Stream, given: Prior, since: int = 0, upto: int | None = None) -> list[tuple[int, float]]:
    """The logarithm of the evidence of a rise at each hour with runs, from the hour `since` of the watch on."""
    watch = _Watch(stream, given)
    return [(hour, watch.at(hour, since)) for hour in range(since, upto or watch.length) if watch.runs[hour]]


def alarms(stream: Stream, given: Prior, log_a: float) -> list[int]:
    """The hours of the alarms, the watch beginning anew after each; those within a day of the last are the same one."""
    watch, since, found = _Watch(stream, given), 0, list[int]()
    for hour in range(watch.length):
        if watch.runs[hour] and watch.at(hour, since) >= log_a:
            since = hour + 1
            if not found or hour - found[-1] >= 24:
                found.append(hour)
    return found


class _Watch:
    """The hours after the reference, summed up so that any stretch of them is told by a subtraction."""

    def __init__(self, stream: Stream, given: Prior) -> None:
        self._a, self._b, deff = given
        start = stream.kind.reference_days * 24
        runs, bad = (counts[start:] for counts in stream.hours())
        self.runs, self.length, blocks = runs, len(runs), len(self._a)
        place = (np.arange(self.length) // 3 % 8)[:, None] == np.arange(8) if blocks > 1 else np.ones((self.length, 1))
        zero = np.zeros((1, blocks))
        self._n = np.vstack([zero, np.cumsum(runs[:, None] * place / deff, axis=0)])
        self._k = np.vstack([zero, np.cumsum(bad[:, None] * place / deff, axis=0)])
        logit = np.log(self._a / self._b)[:, None] + STEPS
        self._bad, self._good = -np.log1p(np.exp(-logit)), -np.log1p(np.exp(logit))
        self._unseen = log_gamma(self._a) + log_gamma(self._b) - log_gamma(self._a + self._b)

    def at(self, hour: int, since: int) -> float:
        """The evidence after an hour, with each hour since then, or of the last weeks, as the beginning."""
        first = max(since, hour + 1 - LOOK_BACK)
        n = self._n[hour + 1] - self._n[first : hour + 1]
        k = self._k[hour + 1] - self._k[first : hour + 1]
        null = log_gamma(self._a + k) + log_gamma(self._b + n - k) - log_gamma(self._a + self._b + n) - self._unseen
        each = k @ self._bad + (n - k) @ self._good - null.sum(1)[:, None] - math.log(len(STEPS))
        top = each.max()
        return float(top + math.log(np.exp(each - top).sum()))


def log_gamma(x: Numbers) -> Numbers:
    """By Stirling's series, eight steps further up, where it is exact to 1e-13."""
    y = x + 8
    below = np.log(x * (x + 1) * (x + 2) * (x + 3)) + np.log((x + 4) * (x + 5) * (x + 6) * (x + 7))
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * y * y)) / (y * y)) / (y * y)) / y
    return (y - 0.5) * np.log(y) - y + 0.5 * math.log(2 * math.pi) + series - below


def _days(counts: Numbers) -> Numbers:
    return counts.reshape(-1, PER_DAY).sum(1)


def _chi2(n: Numbers, k: Numbers, rate: float) -> tuple[float, int]:
    held = n > 0
    chi = ((k[held] - n[held] * rate) ** 2 / (n[held] * rate * (1 - rate))).sum()
    return float(chi), int(held.sum()) - 1


def _survival(x: float, df: int) -> float:
    """Of chi2, in closed form for whole degrees of freedom."""
    if df <= 0 or x <= 0:
        return 1.0
    i = np.arange(df // 2) + (0.0 if df % 2 == 0 else 0.5)
    terms = np.exp(-x / 2 + i * math.log(x / 2) - log_gamma(i + 1))
    return float(terms.sum() + (math.erfc(math.sqrt(x / 2)) if df % 2 else 0.0))
