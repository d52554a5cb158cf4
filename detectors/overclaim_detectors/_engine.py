"""How the embedded engine is told what it may take and what it must do: server settings, limits for people's questions.

The engine counts what it allocates and stops the statement that would go beyond. What it frees stays with its allocator
for some seconds, and other statements may take as much again meanwhile: whoever must keep a process small watches its
memory and calls `give_back` of the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from overclaim._errors import StoreError
from overclaim_detectors.store import LIMITS

# Settings of tables can be given for all of them, though only in a file: what is inserted is on the disk, and known to
# its directory, before the insert returns.
_SYNC_FILE: Final = "sync.xml"
_SYNC: Final = """\
<clickhouse>
    <merge_tree>
        <fsync_after_insert>1</fsync_after_insert>
        <fsync_part_directory>1</fsync_part_directory>
    </merge_tree>
</clickhouse>
"""


def engine_options(path: Path, memory: int | None, sync: bool) -> dict[str, int | str]:
    """The options of an engine in the directory `path`.

    Raises:
        StoreError: its file cannot be written.
    """
    return {**(_memory_options(memory) if memory else {}), **(_sync_options(path) if sync else {})}


def _sync_options(path: Path) -> dict[str, str]:
    file = path / _SYNC_FILE
    try:
        file.write_text(_SYNC, "ascii")
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror}") from error
    return {"config-file": str(file)}


def _memory_options(memory: int) -> dict[str, int]:
    """The server settings for an engine that may take `memory` bytes. The defaults of its caches are gigabytes."""
    return {
        "max_server_memory_usage": memory,
        "mark_cache_size": memory // 16,
        "index_mark_cache_size": memory // 32,
        "primary_index_cache_size": memory // 16,
        "query_condition_cache_size": memory // 32,
        "compiled_expression_cache_size": memory // 32,
        "text_index_postings_cache_size": memory // 32,
        "text_index_tokens_cache_size": memory // 64,
        "text_index_header_cache_size": memory // 64,
    }


def limits(memory: int | None) -> Mapping[str, int]:
    """What one question of people's may cost, so that two at a time leave the engine room for its own work."""
    if memory is None:
        return LIMITS
    question = min(LIMITS["max_memory_usage"], memory // 3)
    spill = question // 4
    return {
        **LIMITS,
        "max_memory_usage": question,
        "max_bytes_before_external_group_by": spill,
        "max_bytes_before_external_sort": spill,
    }
