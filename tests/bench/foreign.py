"""Verdicts on what other instrumentors recorded.

    python -m tests.bench.foreign DIR [--list]

DIR holds exports of real frameworks (*.pb, OTLP) and manifest.json: for each file the verdict that the spans allow,
every verdict that is defensible, and what each call came to as far as they show it. A run that is accused although
nothing defensible accuses it is a false accusation. --list prints what is not as expected.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from tests.bench.judging import ACCUSING
from tests.bench.tables import markdown, part

from overclaim.check_output import row
from overclaim.checking import Checked, check_files

MANIFEST = "manifest.json"
NOTHING = "no one run"  # where one is expected
HEADER = ("recorded by", "runs as expected", "calls as expected", "accused of those to accuse", "falsely accused")


@dataclass(frozen=True)
class Run:
    """One recorded run. calls: the calls that came out as expected, of all that are expected or were found."""

    combination: str
    name: str
    expected: frozenset[str]
    said: str
    calls: tuple[bool, ...]

    @property
    def right(self) -> bool:
        """Whether the verdict is defensible."""
        return self.said in self.expected

    @property
    def to_accuse(self) -> bool:
        """Whether nothing but an accusation is right."""
        return self.expected <= ACCUSING

    @property
    def falsely_accused(self) -> bool:
        """Whether it is accused, and should not be."""
        return self.said in ACCUSING and not self.expected & ACCUSING


def main() -> int:
    """Print the table, and on request what is not as expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--list", action="store_true", help="print what is not as expected")
    given = parser.parse_args()
    found = runs_of(given.folder)
    print(table(found))
    for run in found if given.list else ():
        if not run.right or not all(run.calls):
            said = f"{run.said}, expected {' or '.join(sorted(run.expected))}"
            print(f"{run.combination}/{run.name}: {said}; calls {part(run.calls)}")
    return 0


def runs_of(folder: Path) -> list[Run]:
    """Read the manifest of a folder, and judge every file that it names.

    Raises:
        OSError, ValueError: there is no such manifest, or it cannot be read.
    """
    return [_run(folder, told) for told in json.loads((folder / MANIFEST).read_text())]


def _run(folder: Path, told: Mapping[str, Any]) -> Run:
    found = [row(one) for one in check_files([str(folder / told["file"])]) if isinstance(one, Checked)]
    expect = told["expect"]
    said = found[0]["verdict"] if len(found) == 1 else _of_several(one["verdict"] for one in found)
    made = [call for one in found for call in one["calls"]]
    calls = tuple(_as_expected(*pair) for pair in zip_longest(made, expect["calls"]))
    return Run(told["file"].partition("/")[0], told["run"], _allowed(expect, "verdict"), said, calls)


def _of_several(verdicts: Iterable[str]) -> str:
    """Where one run is expected, several are never right; an accusation among them counts as one."""
    return min((one for one in verdicts if one in ACCUSING), default=NOTHING)


def _allowed(expect: Mapping[str, Any], name: str) -> frozenset[str]:
    return frozenset({expect[name], *expect.get("accept", ())})


def _as_expected(made: Mapping[str, Any] | None, expect: Mapping[str, Any] | None) -> bool:
    if made is None or expect is None:
        return False
    return made["tool"] == expect["tool"] and made["observed"] in _allowed(expect, "observed")


def table(found: Iterable[Run]) -> str:
    """A row for each combination, in the order of the manifest, and the total."""
    runs = list(found)
    rows = [_row(name, list(its)) for name, its in groupby(runs, key=lambda run: run.combination)]
    return markdown(HEADER, [*rows, _row("all", runs)])


def _row(name: str, runs: list[Run]) -> tuple[str, ...]:
    others = [run for run in runs if not run.to_accuse]
    return (
        name,
        part(run.right for run in runs),
        part(call for run in runs for call in run.calls),
        part(run.said in ACCUSING for run in runs if run.to_accuse),
        part(run.falsely_accused for run in others),
    )


if __name__ == "__main__":
    raise SystemExit(main())
