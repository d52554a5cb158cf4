"""Mutated OTLP bodies, as `python -m tests.faults.fuzz` makes them."""

from __future__ import annotations

import subprocess
import sys

from tests.faults.harness.fault import Fault, Measured, Options, not_built
from tests.faults.harness.tests_of import ROOT


def measure(options: Options) -> Measured:
    """The row of the table: what that command says, which fails where anything was not handled."""
    if not (ROOT / "tests" / "faults" / "fuzz.py").exists():
        return not_built("no tests/faults/fuzz.py")
    command = [sys.executable, "-m", "tests.faults.fuzz", "--bodies", "2000" if options.quick else "20000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = [line for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    return Measured("; ".join(line.strip() for line in lines[-5:])[:500] or "it said nothing", done.returncode == 0)


FAULT = Fault("fuzz", "mutated OTLP bodies", "20,000: 0 uncaught errors, no 5xx but 503", measure)
