"""What `overclaim doctor` says about data on their way: the spool in front of the store, and what is passed on.

A running server tells by its figures. Without one the spool is a directory in that of the store, where a server that
ended left what its store did not take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from overclaim.doctor import Check

SPOOL: Final = "spool"
_DAMAGED: Final = "*.damaged"
_SEGMENTS: Final = "*.segment"
_FATES: Final = ("full", "refused", "given_up")
_KEPT: Final = "our own store has the traces and log records"


def of_server(figures: Mapping[str, float]) -> Iterator[Check]:
    """The spool and the forwarding of a running server; nothing of those that it does not use."""
    if "overclaim_spool_records" in figures:
        yield _waiting(figures)
        if damaged := figures.get("overclaim_spool_damaged_total", 0):
            yield _lost(f"{damaged:.0f} requests could not be read again")
    if 'overclaim_forward_requests_total{fate="delivered"}' in figures:
        yield _passed_on(figures)


def of_directory(store: Path) -> Iterator[Check]:
    """What a server that ended left behind in a store's own directory."""
    directory = store / SPOOL
    size = sum(file.stat().st_size for file in directory.glob(_SEGMENTS))
    if size:
        cure = "the next overclaim serve on this store brings them in"
        yield Check("note", "spool", f"up to {_mib(size)} of requests wait in {directory}", cure)
    if aside := [file.name for file in directory.glob(_DAMAGED)]:
        yield _lost(f"{len(aside)} files in {directory} held requests that could not be read")


def _waiting(figures: Mapping[str, float]) -> Check:
    requests = figures["overclaim_spool_records"]
    if not requests:
        return Check("ok", "spool", "nothing waits for the store")
    found = f"{requests:.0f} requests ({_mib(figures.get('overclaim_spool_bytes', 0))}) wait for the store"
    cure = "they are acknowledged and come in by themselves; the log of the server says why the store takes none"
    return Check("note", "spool", found, cure)


def _lost(found: str) -> Check:
    cure = "their spans are lost: look at the disk; what is left of them is in the files *.damaged of the spool"
    return Check("bad", "spool damage", found, cure)


def _passed_on(figures: Mapping[str, float]) -> Check:
    delivered = figures['overclaim_forward_requests_total{fate="delivered"}']
    waiting = figures.get("overclaim_forward_waiting_requests", 0)
    counts = {fate: figures.get(f'overclaim_forward_requests_total{{fate="{fate}"}}', 0) for fate in _FATES}
    dropped = ", ".join(f"{count:.0f} {fate.replace('_', ' ')}" for fate, count in counts.items() if count)
    parts = (f"{delivered:.0f} requests passed on", f"{waiting:.0f} waiting" if waiting else "", _so(dropped))
    found = ", ".join(filter(None, parts))
    if failing := figures.get("overclaim_forward_failing_seconds", 0):
        cure = f"start it, or mend --forward; {_KEPT}, and what waits longer than five minutes is not passed on"
        return Check("bad", "forwarding", f"the other endpoint has taken nothing for {failing:.0f} s: {found}", cure)
    if dropped:
        cure = f"{_KEPT}; see the log of the server, the other endpoint, and --forward-mib"
        return Check("note", "forwarding", found, cure)
    if not delivered and not waiting:
        return Check("ok", "forwarding", "nothing came yet that could be passed on, so the other endpoint is not tried")
    return Check("ok", "forwarding", found)


def _so(dropped: str) -> str:
    return f"dropped: {dropped}" if dropped else "none dropped"


def _mib(size: float) -> str:
    return f"{size / (1 << 20):.1f} MiB"
