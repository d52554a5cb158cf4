"""`overclaim doctor`: whether spans would be made here, and whether they would arrive.

    environment.py       variables, content, sampler, expectations, the tracer provider
    instrumentation.py   what would be watched, what not and why, instrumentors that do the same twice
    endpoint.py          whether the endpoint takes spans, and whether its clock agrees

Other packages add checks, such as of the store, by an entry point of the group `overclaim.doctor`: a function that
takes the parsed arguments and gives `Check`s, of which it may yield as many as it likes.

    [project.entry-points."overclaim.doctor"]
    store = "your_package.doctor:checks"

    def checks(args: argparse.Namespace) -> Iterator[Check]:
        yield Check("ok", "store", "reachable")

They run last, by name. One that cannot be loaded or fails half-way becomes a note that says so, and the others go
on; what it had found until then is still shown. A package that is not installed adds nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass

GROUP = "overclaim.doctor"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report. level: ok, note (worth knowing) or bad (something will not work)."""

    level: str
    what: str
    found: str
    cure: str = ""

    def __str__(self) -> str:
        line = f"{self.level:<5} {self.what}: {self.found}"
        return f"{line}\n      {self.cure}" if self.cure else line


Doctor = Callable[[argparse.Namespace], Iterable[Check]]
"""What the entry-point group `overclaim.doctor` holds: more checks, such as of the store."""
