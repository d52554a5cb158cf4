"""A store that an earlier version made, whose views entered extents and arrivals: what becomes of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import scripted_agents as agents
from stores import CAME, ENTERED, FIRST, READ, receive

from overclaim_detectors import sql
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store

LABELS = "SELECT Agent, Label FROM overclaim_run_verdicts"
KNOWN = "SELECT sum(Spans), (SELECT count() FROM overclaim_arrivals) FROM overclaim_traces"
VIEWS = "SELECT count() FROM system.tables WHERE name IN ('overclaim_traces_mv', 'overclaim_arrivals_mv')"


@pytest.fixture
def earlier(tmp_path: Path) -> Iterator[Store]:
    """A store with the tables and views of that version."""
    folder = tmp_path / "schema"
    shutil.copytree(sql.root() / "schema", folder, ignore=shutil.ignore_patterns("06*", "07*"))
    opened = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        migrate(opened, folder)
        yield opened
    finally:
        opened.close()


def test_what_its_views_entered_stands(earlier: Store) -> None:
    """Spans that came before and after it was brought up to date make one trace, which passes enter once."""
    failed, mending, agent = agents.foreign(80)
    receive(earlier, [failed])
    receive(earlier, [agent])
    assert earlier.query(KNOWN).rows == [(2, 2)]
    assert earlier.query(VIEWS).rows == [(2,)]
    migrate(earlier)
    assert earlier.query(VIEWS).rows == [(0,)]
    receive(earlier, [mending])
    for _ in range(2):  # the second one remembers nothing of the first
        detect_once(earlier)
        assert earlier.query(LABELS).rows == [("clerk", "recovered")]
        assert earlier.query(ENTERED).rows == earlier.query(READ).rows
        ((trace, first),), ((came_trace, came),) = earlier.query(FIRST).rows, earlier.query(CAME).rows
        assert trace == came_trace
        assert timedelta(0) <= came - first < timedelta(seconds=2)  # each view had a clock of its own
