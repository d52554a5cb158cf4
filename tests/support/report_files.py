"""The files of queries/report as others run them: by their text alone, with the values that their headers name."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from overclaim_detectors.store import Rows

QUERIES = Path(__file__).parents[2] / "queries" / "report"
FILES = sorted(QUERIES.glob("*.sql"))
_PARAMETER = re.compile(r"--   (\w+) ([A-Z].*?)(?: = (.+?))?: \S")
_VALUE = re.compile(r"\{(\w+):([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a query wants bound: its type, and the expression that the header gives as default, "" for none."""

    type: str
    default: str


def parameters(text: str) -> dict[str, Parameter]:
    """What the header of a query says of its parameters, by name."""
    lines = text.splitlines()
    if "-- Parameters:" not in lines:
        return {}
    found = dict[str, Parameter]()
    for line in lines[lines.index("-- Parameters:") + 1 :]:
        if not (match := _PARAMETER.match(line)):
            break
        found[match[1]] = Parameter(match[2], match[3] or "")
    return found


def wanted(text: str) -> dict[str, str]:
    """The types of the values that a query's text wants, by name."""
    return dict(_VALUE.findall(text))


def substituted(text: str, values: Mapping[str, str]) -> str:
    """The text with an expression in place of each value, as a dashboard with variables and macros makes it."""
    return _VALUE.sub(lambda match: values[match[1]], text)


def finite(rows: Rows) -> bool:
    """Whether each number is one that JSON has."""
    return all(math.isfinite(value) for row in rows.rows for value in row if isinstance(value, float))
