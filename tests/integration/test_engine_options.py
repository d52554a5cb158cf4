from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from overclaim_collector.pressure import Pressure, resident_bytes
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import QueryError, Store

MIB = 1 << 20
MEMORY = 400 * MIB
SERVER = "SELECT value FROM system.server_settings WHERE name = {name:String}"
TABLES = "SELECT name, value FROM system.merge_tree_settings WHERE name LIKE 'fsync_%' AND value = '1' ORDER BY name"


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store whose engine may take 400 MiB, and has on the disk what it says it has."""
    store = open_store(f"chdb://{tmp_path_factory.mktemp('bounded')}", memory=MEMORY, sync=True)
    yield store
    store.close()


def setting(store: Store, name: str) -> int:
    """A setting of the engine."""
    return int(store.query(SERVER, {"name": name}).rows[0][0])


def test_the_engine_is_told_its_limit(bounded: Store) -> None:
    """The limit of all that it allocates, and caches that fit into it."""
    assert setting(bounded, "max_server_memory_usage") == MEMORY
    for cache in ("mark_cache_size", "primary_index_cache_size", "index_mark_cache_size", "query_condition_cache_size"):
        assert 0 < setting(bounded, cache) <= MEMORY // 16


def test_our_own_statements_are_held_to_it_too(bounded: Store) -> None:
    """A statement that needs more is ended, not the process; people's get a third of it."""
    with pytest.raises(QueryError, match=r"\(total\) memory limit exceeded") as caught:
        bounded.query("SELECT groupArray(number) FROM numbers(1000000000)")
    assert caught.value.code == 241
    with pytest.raises(QueryError, match=r"Query memory limit exceeded.*maximum: 133\.33 MiB"):
        bounded.read("SELECT groupArray(number) FROM numbers(1000000000)")


def test_what_the_allocator_holds_free_is_given_back(bounded: Store) -> None:
    """Right after a greedy statement the process is large for nothing; whoever watches its memory makes it small."""
    pressure = Pressure(bounded, 1000 * MIB)
    pressure._limit = 0  # pyright: ignore[reportPrivateUsage]  # always more than it may be
    for _ in range(3):
        with pytest.raises(QueryError):
            bounded.query("SELECT groupArray(number) FROM numbers(1000000000)")
    large = resident_bytes()
    pressure.look()
    assert large - resident_bytes() > 100 * MIB
    assert pressure.short


def test_inserts_reach_the_disk_where_that_is_wanted(bounded: Store, tmp_path: Path) -> None:
    """With sync the files of each insert and their directory are written through; without it as the engine likes."""
    assert dict(bounded.query(TABLES).rows) == {"fsync_after_insert": "1", "fsync_part_directory": "1"}
    bounded.close()
    other = open_store(f"chdb://{tmp_path}")
    try:
        assert other.query(TABLES).rows == []
    finally:
        other.close()
