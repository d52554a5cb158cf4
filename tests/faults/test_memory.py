"""The memory of a server at rest and under load."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.harness.memory import memory

pytestmark = pytest.mark.slow


def test_memory_stays_below_the_limit_under_load(tmp_path: Path) -> None:
    """Spans, detectors and questions at the same time: the peak is within the configured limit and a tenth."""
    found = memory(tmp_path, 2, limit=1024)
    assert found.rate > 0
    assert found.idle < found.peak <= 1024 * 1.1
