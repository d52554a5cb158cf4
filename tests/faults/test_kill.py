"""The collector is killed again and again under load: what was acknowledged is there, once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.faults.harness.kill import killed

KILLS = 3


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_reported_twice(tmp_path: Path) -> None:
    """SIGKILL at random moments while stock exporters send over HTTP and gRPC, and a restart after each."""
    found = killed(tmp_path, KILLS, random.Random(5), life=0.7)
    assert found.balanced
    assert found.kept.acknowledged > 0
    assert (found.kept.lost, found.kept.strange) == (0, 0)
    assert found.judged.runs == found.kept.acknowledged // 20
    assert (found.judged.missing, found.judged.double, found.judged.twice) == (0, 0, 0)
    assert found.judged.reported >= found.judged.runs
