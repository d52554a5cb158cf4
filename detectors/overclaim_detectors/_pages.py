"""Let go of the pages of the engine's library that only its start needed: 100 MiB of what a server shows as memory.

They are pages of a file that nobody writes to: the kernel gives them back from its cache when they are needed again.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import suppress
from mmap import MADV_DONTNEED
from pathlib import Path
from typing import Final

_LIBRARY: Final = "_chdb.abi3.so"
_MAPPING: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) .*?(\S*)\n")
_OWN: Final = re.compile(r"Anonymous: +(\d+) kB")


def let_go_of_start_pages() -> None:
    """Do so, where the system is Linux; elsewhere nothing happens."""
    with suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        for start, end in list(_unchanged(Path("/proc/self/smaps").read_text("utf-8", "replace"))):
            advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_DONTNEED)


def _unchanged(smaps: str) -> Iterator[tuple[int, int]]:
    """Where the library lies that cannot be written to, and has no page that differs from its file."""
    mapping: re.Match[str] | None = None
    for line in smaps.splitlines(keepends=True):
        mapping = _MAPPING.fullmatch(line) or mapping
        own = _OWN.match(line)
        if own and mapping and own[1] == "0" and mapping[4].endswith(_LIBRARY) and "w" not in mapping[3]:
            yield int(mapping[1], 16), int(mapping[2], 16)
