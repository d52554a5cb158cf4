"""Goals that test files cover: those files are run, and how many of their tests passed is the figure."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults.harness.fault import Measured, Options, not_built

ROOT = Path(__file__).parents[3]
_COUNT = re.compile(r"(\d+) (passed|failed|error|errors|skipped)")


def covered_by(*patterns: str, only: str = "") -> Callable[[Options], Measured]:
    """A measure that runs the test files which fit the patterns; `only` picks tests as pytest's -k does."""

    def measure(_: Options) -> Measured:
        files = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
        if not files:
            return not_built(f"no {' or '.join(patterns)}")
        return run(files, only)

    return measure


def run(files: Sequence[Path], only: str = "") -> Measured:
    """Run test files."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, files)]
    command += ["-k", only] if only else []
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    counts = {word.rstrip("s"): int(number) for number, word in _COUNT.findall(last)}
    if not counts.get("passed") and not counts.get("failed"):
        return not_built(f"none of the tests of {_names(files)} ran ({last[:80]})")
    said = ", ".join(f"{number} {word}" for word, number in counts.items())
    return Measured(f"tests of {_names(files)}: {said}", done.returncode == 0)


def _names(files: Sequence[Path]) -> str:
    return ", ".join(file.name for file in files)
