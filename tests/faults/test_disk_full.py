"""The disk of the store runs full and gets room again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.harness.disk_full import disk_full

pytestmark = pytest.mark.slow


def test_a_full_disk_is_told_to_senders_and_passes(tmp_path: Path) -> None:
    """503 with a time to come again while it lasts, nothing acknowledged is lost, and no restart is needed."""
    found = disk_full(tmp_path, 1)
    assert found.alive
    assert found.refusals
    assert {status for status, _ in found.refusals} == {503}
    assert all(int(after) > 0 for _, after in found.refusals)
    assert found.recovered < 10
    assert found.kept.acknowledged > 0
    assert found.kept.lost == 0
