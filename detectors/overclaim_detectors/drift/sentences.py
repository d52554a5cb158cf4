"""A drift in one sentence for people, with counts and without statistics."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from overclaim_detectors.drift.attribution import Causes
from overclaim_detectors.drift.detector import Evidence
from overclaim_detectors.drift.signals import SIGNALS, Key


def sentence(evidence: Evidence, causes: Causes) -> str:
    """What changed from what to what, since when, in how many runs, and what came with it."""
    reference, signal = evidence.reference, SIGNALS[evidence.reference.key.signal]
    return " ".join((
        f"{subject(reference.key)}: {signal.words} {percent(reference.bad, reference.runs)} ->"
        f" {percent(evidence.bad, evidence.runs)} since {_moment(evidence.change)} UTC"
        f" ({evidence.bad} of {evidence.runs} runs {signal.event}; normal was {reference.bad} of {reference.runs}).",
        _excess(evidence),
        *_why(evidence, causes),
    ))  # fmt: skip


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
