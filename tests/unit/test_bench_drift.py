from __future__ import annotations

import math

import numpy as np
import pytest
from tests.bench.drift.__main__ import CHANGES, QUIET, delays, false_alarms, table
from tests.bench.drift.twin import log_gamma


def test_a_quiet_stream_stays_within_its_budget() -> None:
    """Clusters of runs need the guards: with a fixed seed fewer alarms come than are allowed."""
    assert false_alarms(QUIET["clusters of 5 runs, 200 a day"], 6) <= 1.2


def test_a_grave_change_is_found_within_hours() -> None:
    """From 5 to 20 % at 200 runs a day: always, half of the times within 12 hours."""
    found = delays(CHANGES["5 -> 20 %, 200 runs a day"], 8)
    assert all(math.isfinite(hours) for hours in found)
    assert float(np.median(found)) <= 12


def test_the_quick_table_has_its_rows() -> None:
    """Two quiet kinds and one change, with a figure each."""
    lines = list(table(2, quick=True))
    assert len(lines) == 8
    assert all(line.count("|") in (0, 3, 4) for line in lines)


@pytest.mark.parametrize("x", [0.5, 1.0, 3.7, 20.0, 1234.5])
def test_the_twin_has_the_gamma_function_of_python(x: float) -> None:
    """To 1e-11, relatively."""
    assert float(log_gamma(np.array([x]))[0]) == pytest.approx(math.lgamma(x), rel=1e-11, abs=1e-11)
