"""Figures in the text format of Prometheus (version 0.0.4).

Names follow Prometheus' conventions: base units, _total for what only grows. No label takes a value from the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Labels = Mapping[str, str]
Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. samples: a suffix of its name (of histograms, else ""), labels and the value of each."""

    name: str
    kind: Kind
    help: str
    samples: tuple[tuple[str, Labels, float], ...]


def counter(name: str, help: str, values: Mapping[str, float] | float, label: str = "") -> Metric:
    """What only grows: one value, or one for each value of a label. Its name ends in _total."""
    return Metric(name, "counter", help, _samples(values, label))


def gauge(name: str, help: str, values: Mapping[str, float] | float, label: str = "") -> Metric:
    """What goes up and down: one value, or one for each value of a label."""
    return Metric(name, "gauge", help, _samples(values, label))


def histogram(name: str, help: str, bounds: Sequence[float], within: Sequence[int], sum: float) -> Metric:
    """How values spread. within: how many were no greater than each of the bounds, and how many there were."""
    ends = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    buckets = tuple(("_bucket", {"le": end}, count) for end, count in zip(ends, within, strict=True))
    nothing: Labels = {}
    return Metric(name, "histogram", help, (*buckets, ("_sum", nothing, sum), ("_count", nothing, within[-1])))


def exposition(metrics: Iterable[Metric]) -> str:
    """All of them as text."""
    return "".join(line + "\n" for metric in metrics for line in _lines(metric))


def _samples(values: Mapping[str, float] | float, label: str) -> tuple[tuple[str, Labels, float], ...]:
    if isinstance(values, Mapping):
        return tuple(("", {label: key}, value) for key, value in values.items())
    return (("", {}, values),)


def _lines(metric: Metric) -> Iterable[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for suffix, labels, value in metric.samples:
        inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        yield f"{metric.name}{suffix}{{{inside}}} {value:.17g}" if inside else f"{metric.name}{suffix} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
