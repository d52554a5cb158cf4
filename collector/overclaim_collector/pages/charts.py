"""A share by the day as a drawing: the line, and the band in which it would stay by chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

WIDTH: Final = 700
HEIGHT: Final = 140
_Z: Final = 1.96  # 95 % of days stay within, where the share is as before
_LEAST_DAYS: Final = 3


@dataclass(frozen=True, slots=True)
class Day:
    """What was counted on a day: `part` out of `of`."""

    date: str
    part: int
    of: int

    @property
    def share(self) -> float:
        """The share, 0 where there is nothing to share."""
        return self.part / self.of if self.of else 0.0


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of WIDTH by HEIGHT. line, band: points of SVG. dots: place of each day that has something.

    top: the share at its upper edge. mark: where a line stands across, None for none.
    """

    line: str
    band: str
    dots: Sequence[tuple[float, float, Day]]
    top: float
    mark: float | None = None
    width: int = WIDTH
    height: int = HEIGHT


def filled(found: Mapping[str, tuple[int, int]], first: date, count: int) -> list[Day]:
    """One for each of `count` days, those without anything included. found: part and whole by the date."""
    dates = [(first + timedelta(days=i)).isoformat() for i in range(count)]
    return [Day(day, *found.get(day, (0, 0))) for day in dates]


def chart(days: Sequence[Day], reference: Day | None = None, mark: str = "") -> Chart:
    """Draw days. mark: the date at which something happened.

    The band is what the share of the reference, or of all days before, lets expect of as many as each day had (normal
    approximation of the binomial).
    """
    bands = [_expected([reference] if reference else days[:i], day, reference) for i, day in enumerate(days)]
    top = 1.1 * max([0.01, *(day.share for day in days), *(band[1] for band in bands if band)])
    places = [(_x(i, len(days)), day, band) for i, (day, band) in enumerate(zip(days, bands, strict=True)) if day.of]
    dots = [(x, _y(day.share, top), day) for x, day, _ in places]
    edges = [(x, band) for x, _, band in places if band]
    around = [(x, band[1]) for x, band in edges] + [(x, band[0]) for x, band in reversed(edges)]
    marked = next((_x(i, len(days)) for i, day in enumerate(days) if day.date == mark), None)
    line = " ".join(f"{x},{y}" for x, y, _ in dots)
    return Chart(line, " ".join(f"{x},{_y(share, top)}" for x, share in around), dots, top, marked)


def _expected(before: Sequence[Day], day: Day, reference: Day | None) -> tuple[float, float] | None:
    """Between which shares a day stays by chance; None where too little came before."""
    part, of = sum(one.part for one in before), sum(one.of for one in before)
    if not day.of or (reference is None and sum(one.of > 0 for one in before) < _LEAST_DAYS):
        return None
    rate = (part + 0.5) / (of + 1)
    wide = _Z * math.sqrt(rate * (1 - rate) * (1 / day.of + 1 / max(of, 1)))
    return max(0.0, rate - wide), min(1.0, rate + wide)


def _x(index: int, count: int) -> float:
    return round(WIDTH * (index + 0.5) / count, 1)


def _y(share: float, top: float) -> float:
    return round(HEIGHT * (1 - share / top), 1)
