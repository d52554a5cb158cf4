"""Blocks of format Native as newer revisions of the protocol have them; the embedded engine writes only the oldest.

Clients in Go (Grafana's plugin is one) ask for them by client_protocol_version. Each block then begins with some words
about itself, and each column has a byte that tells how it is written. The columns themselves are the same, so they are
taken as they are from format Buffers, which has their sizes.
"""

from __future__ import annotations

import json
import struct
from typing import Final, cast

# The first revision with that byte. Blocks of revisions before it are of no use to any client that we know.
FIRST_REVISION: Final = 54454
# Field 1: no overflow, field 2: no bucket (-1), no more fields.
_ABOUT_BLOCK: Final = b"\x01\x00\x02\xff\xff\xff\xff\x00"
_AS_USUAL: Final = b"\x00"
_BLOCK: Final = struct.Struct("<QQ")
_SIZE: Final = struct.Struct("<Q")


class NativeBlocks:
    """Takes a line of JSON, [[name, type], ...], and blocks in format Buffers, in pieces of any size."""

    def __init__(self) -> None:
        self._taken = bytearray()
        self._columns: list[bytes] | None = None
        self._begun = False
        self._next = 0  # the column to come; at the end of the list: none in this block
        self._passing = 0  # how many bytes of a column are still to come

    def feed(self, data: bytes) -> bytes:
        """What can be made of the bytes so far."""
        self._taken += data
        made = bytearray()
        while self._step(made):
            pass
        return bytes(made)

    def end(self) -> bytes:
        """The rest: an answer without rows still names its columns."""
        if self._begun or self._columns is None:
            return b""
        return _head(len(self._columns), 0) + b"".join(self._columns)

    def _step(self, made: bytearray) -> bool:
        if self._passing:
            return self._pass(made)
        if self._columns is None:
            return self._read_columns()
        if self._next < len(self._columns):
            return self._begin_column(made, self._columns[self._next])
        return self._begin_block(made)

    def _pass(self, made: bytearray) -> bool:
        part = self._take(min(self._passing, len(self._taken)))
        made += part
        self._passing -= len(part)
        return bool(part)

    def _read_columns(self) -> bool:
        end = self._taken.find(b"\n")
        if end < 0:
            return False
        columns = cast("list[tuple[str, str]]", json.loads(self._take(end + 1)))
        self._columns = [_text(name) + _text(kind) + _AS_USUAL for name, kind in columns]
        self._next = len(self._columns)
        return True

    def _begin_column(self, made: bytearray, head: bytes) -> bool:
        if len(self._taken) < _SIZE.size:
            return False
        (self._passing,) = _SIZE.unpack(self._take(_SIZE.size))
        self._next += 1
        made += head
        return True

    def _begin_block(self, made: bytearray) -> bool:
        if len(self._taken) < _BLOCK.size:
            return False
        columns, rows = _BLOCK.unpack(self._take(_BLOCK.size))
        made += _head(columns, rows)
        self._begun, self._next = True, 0
        return True

    def _take(self, size: int) -> bytes:
        part = bytes(self._taken[:size])
        del self._taken[:size]
        return part


def _head(columns: int, rows: int) -> bytes:
    return _ABOUT_BLOCK + _varint(columns) + _varint(rows)


def _text(text: str) -> bytes:
    data = text.encode()
    return _varint(len(data)) + data


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
