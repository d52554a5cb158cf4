"""What is needed to keep what comes in: the store, the spool in front of it, and the writer."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from overclaim_collector.config import ServeConfig
from overclaim_collector.memory import shares
from overclaim_collector.writing.spool import Spool
from overclaim_collector.writing.timed import Timed
from overclaim_collector.writing.writer import Writer
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store, store_path
from overclaim_detectors.retention import keep
from overclaim_detectors.store import Store

_SPOOL: Final = "spool"
_WRITER_SECONDS: Final = 1.5
_SETTLE_SECONDS: Final = 5.0
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Storing:
    """The parts, at work."""

    store: Store
    writer: Writer
    timed: Timed
    spool: Spool | None

    def settle(self) -> None:
        """Wait until the store has what was acknowledged; not for long, and not while it takes nothing."""
        self.writer.settle(_SETTLE_SECONDS)


def opened(config: ServeConfig, running: ExitStack) -> Store:
    """The store, with its tables up to date.

    Raises:
        StoreError: it cannot be opened.
    """
    sync = config.durability == "fsync"
    store = open_store(config.store, memory=shares(config.memory_mib).engine, sync=sync)
    running.callback(store.close)
    running.callback(store.interrupt)  # again, for what came in while the server stopped
    migrate(store)
    if config.retention_days is not None:
        keep(store, config.retention_days)
    return store


def started(config: ServeConfig, running: ExitStack, store: Store) -> Storing:
    """The writer at work on a store.

    Raises:
        InputError: the spool's directory cannot be used.
        StoreError: the store cannot be used at all.
    """
    spool = _spool(config)
    if spool:
        running.callback(spool.close)
    timed = Timed(store)
    writer = Writer(timed, spool)
    running.callback(writer.stop, _WRITER_SECONDS)
    writer.start()
    return Storing(store, writer, timed, spool)


def _spool(config: ServeConfig) -> Spool | None:
    if not config.spool_mib:
        return None
    directory = config.spool_dir or _beside(config.store)
    return Spool(directory, config.spool_mib * _MIB, sync=config.durability == "fsync")


def _beside(store: str) -> Path:
    """In an embedded store's own directory; for a server in the user's data directory."""
    if store.startswith("chdb"):
        return store_path(store) / _SPOOL
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "overclaim" / _SPOOL
