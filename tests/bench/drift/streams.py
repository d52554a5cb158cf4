"""Made-up streams of runs in quarters of an hour: a reference, and what comes after it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

Numbers = np.ndarray
PER_DAY = 96
CORRELATION = 0.3  # of the runs of a cluster


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of stream: its rate, runs a day, and what makes it hard. after: its rate after a change, if there is one.

    cluster: runs that share a rate; noise: how days differ; season: how the times of a day differ (in logits).
    """

    rate: float = 0.05
    volume: float = 200
    reference_days: int = 7
    days: int = 40
    cluster: int = 0
    noise: float = 0.0
    season: float = 0.0
    after: float = 0.0
    change_day: int = 3


@dataclass(frozen=True, slots=True)
class Stream:
    """Runs and bad runs by the quarter of an hour; the first reference_days of them are the reference."""

    kind: Kind
    runs: Numbers = field(repr=False)
    bad: Numbers = field(repr=False)

    def hours(self) -> tuple[Numbers, Numbers]:
        """Runs and bad runs by the hour."""
        return self.runs.reshape(-1, 4).sum(1), self.bad.reshape(-1, 4).sum(1)


def make(kind: Kind, dice: np.random.Generator) -> Stream:
    """A stream of a kind. Volumes follow the day: few runs at night, many at noon."""
    length = (kind.reference_days + kind.days) * PER_DAY
    day = np.sin(2 * np.pi * np.arange(length) / PER_DAY - np.pi / 2)
    units = dice.poisson(kind.volume / PER_DAY * (1 + 0.8 * day) / max(kind.cluster, 1))
    noise = np.repeat(dice.normal(0, kind.noise, kind.reference_days + kind.days), PER_DAY)
    rate = 1 / (1 + np.exp(-(np.log(kind.rate / (1 - kind.rate)) + kind.season * day + noise)))
    if kind.after:
        changed = np.arange(length) >= (kind.reference_days + kind.change_day) * PER_DAY
        rate = np.where(changed, rate + kind.after - kind.rate, rate)
    if not kind.cluster:
        return Stream(kind, units, dice.binomial(units, rate))
    spread = 1 / CORRELATION - 1
    own = [dice.beta(p * spread, (1 - p) * spread, n) for p, n in zip(rate, units, strict=True)]
    bad = np.array([dice.binomial(kind.cluster, one).sum() for one in own])
    return Stream(kind, units * kind.cluster, bad)


def fleet(tools: int, dice: np.random.Generator) -> list[Kind]:
    """Tools as fleets have them: few that are called much, many that are called seldom, most of them fail seldom."""
    volumes = 2900 / np.arange(1, tools + 1) ** 1.3 + 3
    rates = np.clip(dice.beta(1.2, 20, tools), 0.001, 0.5)
    return [replace(Kind(days=28), volume=float(v), rate=float(p)) for v, p in zip(volumes, rates, strict=True)]
