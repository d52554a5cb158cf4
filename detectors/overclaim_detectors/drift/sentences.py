"""A drift in one sentence for people, with counts and without statistics."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from overclaim_detectors.drift.attribution import Causes
from overclaim_detectors.drift.detector import Evidence
from overclaim_detectors.drift.signals import SIGNALS, Key, Signal

NOTHING = -1000  # queries/drift/behaviour.sql: the bin of 0
_TIMES = ((120_000, 60_000, "min"), (1_000, 1_000, "s"), (0, 1, "ms"))  # from so many milliseconds on, in such units


def sentence(evidence: Evidence, causes: Causes) -> str:
    """What changed from what to what, since when, in how many runs, and what came with it."""
    reference = evidence.reference
    return " ".join((
        f"{subject(reference.key)}: {_what(evidence, causes)} since {_moment(evidence.change)} UTC"
        f" ({evidence.bad} of {evidence.runs} {SIGNALS[reference.key.signal].among} {_event(evidence, causes)};"
        f" normal was {reference.bad} of {reference.runs}).",
        _excess(evidence),
        *_why(evidence, causes),
    ))  # fmt: skip


def _what(evidence: Evidence, causes: Causes) -> str:
    """What changed, then and now: a rate, a quantile, or how many runs have a category."""
    reference, signal = evidence.reference, SIGNALS[evidence.reference.key.signal]
    rates = f"{percent(reference.bad, reference.runs)} -> {percent(evidence.bad, evidence.runs)}"
    if signal.kind == "measured":
        was, now = (_level(one, signal) for one in causes.levels)
        return f"p{100 * float(reference.part):.0f} of {signal.words} {was} -> {now}"
    if signal.kind == "named":
        return f"{_category(evidence, causes)} {rates} of {signal.among}"
    return f"{signal.words} {rates}"


def _event(evidence: Evidence, causes: Causes) -> str:
    """What happened in the runs that count."""
    signal = SIGNALS[evidence.reference.key.signal]
    if signal.kind == "measured":
        # The edge of a rise lies above the quantile of the reference, that of a fall below it.
        more = "more than" if evidence.direction > 0 else "at least"
        return signal.event.format(f"{more} {_level(causes.levels[0], signal)}")
    return signal.event.format(_category(evidence, causes))


def _category(evidence: Evidence, causes: Causes) -> str:
    if evidence.reference.part:
        return f"`{evidence.reference.part}`"
    return f"`{causes.other}` or another that was rare" if causes.other else "others that were rare"


def _level(place: int, signal: Signal) -> str:
    """A value by its bin, eighths of a power of two, with two digits that count."""
    value = 2 ** ((place + 0.5) / 8) if place > NOTHING else 0.0
    if signal.unit != "ms":
        return _two_digits(value)
    size, unit = next(one[1:] for one in _TIMES if value >= one[0])
    return f"{_two_digits(value / size)} {unit}"


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"


def subject(key: Key) -> str:
    """What a stream is about, by its name."""
    return {"tool": f"{key.tool} of {key.agent}", "agent": key.agent}.get(key.level, f"all of {key.service}")


def percent(bad: int, runs: int) -> str:
    """A rate as people write it."""
    return f"{100 * bad / runs:.1f} %" if runs else "none"


def excess(evidence: Evidence) -> float:
    """The runs more, or fewer, than the reference lets expect."""
    return evidence.bad - evidence.runs * evidence.reference.rate


def _excess(evidence: Evidence) -> str:
    number = round(abs(excess(evidence)))
    harmful = SIGNALS[evidence.reference.key.signal].harmful
    more = "more" if evidence.direction > 0 else "fewer"
    return f"About {number} {more} than usual{'' if harmful in (0, evidence.direction) else ': an improvement'}."


def _why(evidence: Evidence, causes: Causes) -> list[str]:
    said = list[str]()
    if release := causes.release:
        said.append(f"Started with {release.what} (first seen {_moment(release.at, evidence.change)}).")
    told = causes.release.what.split(", ") if causes.release else []
    if part := next((one for one in causes.parts if f"{one.dimension} {one.value}" not in told), None):
        said.append(f"Most telling: {part.dimension} {part.value}, {100 * part.was:.1f} % -> {100 * part.now:.1f} %.")
    if abs(causes.mix) > abs(causes.rate):
        said.append("Mostly other traffic rather than other behaviour.")
    return said or ["No release nearby, and nothing stands out."]


def _moment(seconds: int, beside: float = math.nan) -> str:
    """A time; without its day where it stands beside one of the same day."""
    when = datetime.fromtimestamp(seconds, UTC)
    same = not math.isnan(beside) and datetime.fromtimestamp(beside, UTC).date() == when.date()
    return when.strftime("%H:%M" if same else "%Y-%m-%d %H:%M")
