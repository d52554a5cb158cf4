"""Bytes of input files: opened, decompressed within bounds, and with their encoding found out."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, cast

MAX_UNPACKED = 1 << 30
"""Bytes that a compressed file may hold: a thousandth of that is enough to write it down."""

GZIP = b"\x1f\x8b"
_CHUNK = 1 << 16
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
# Where the first characters are printable ASCII, which bytes of the first eight are zero.
_ZEROS = {"01110111": "utf-32-le", "11101110": "utf-32-be", "01010101": "utf-16-le", "10101010": "utf-16-be"}


class Gunzip(RawIOBase):
    """The content of gzip data of any number of members.

    It ends early where the data are damaged or hold too much, and `flaw` then says so: what came before is good.
    """

    def __init__(self, packed: BufferedReader, limit: int) -> None:
        self.flaw = ""
        self.too_much = False
        self._packed = packed
        self._inflate = zlib.decompressobj(31)
        self._left = limit
        self._ended = False

    def readable(self) -> bool:
        """Return that this can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer with what comes next and return how much that is."""
        view = memoryview(buffer)
        try:
            data = b"" if self.flaw or self._ended else self._more(len(view))
        except zlib.error as error:
            self.flaw, data = f"damaged gzip data ({error})", b""
        if len(data) > self._left:
            self.flaw, self.too_much = "unpacks to too much", True
            data = data[: self._left]
        self._left -= len(data)
        view[: len(data)] = data
        return len(data)

    def _more(self, size: int) -> bytes:
        packed = self._inflate.unconsumed_tail or self._packed.read1(_CHUNK)
        while True:
            data = self._inflate.decompress(packed, size)
            if data:
                return data
            if not self._inflate.eof:
                packed = self._inflate.unconsumed_tail or self._packed.read1(_CHUNK)
                if not packed:
                    self.flaw = "damaged gzip data (cut off)"
                    return b""
            elif not (packed := self._next_member()):
                return b""

    def _next_member(self) -> bytes:
        """Return the beginning of the next member; zeros after the last one only fill it up."""
        rest = self._inflate.unused_data.lstrip(b"\0")
        while len(rest) < len(GZIP) and (more := self._packed.read1(_CHUNK)):
            rest = (rest + more).lstrip(b"\0")
        self._ended = not rest
        if rest and not rest.startswith(GZIP):
            self.flaw = "bytes that are no gzip follow the gzip data"
            return b""
        self._inflate = zlib.decompressobj(31)
        return rest


class Joined(RawIOBase):
    """Bytes that were already taken from a stream, and then the rest of it."""

    def __init__(self, taken: bytes, stream: BufferedReader) -> None:
        self._taken = memoryview(taken)
        self._stream = stream

    def readable(self) -> bool:
        """Return that this can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer with what comes next and return how much that is."""
        view = memoryview(buffer)
        data = self._taken[: len(view)] if self._taken else self._stream.read1(len(view))
        self._taken = self._taken[len(data) :]
        view[: len(data)] = data
        return len(data)


def buffered(raw: RawIOBase) -> BufferedReader:
    """Return a raw stream with a buffer, so that it can be read by lines."""
    return BufferedReader(cast("Any", raw))


@contextmanager
def opened(path: str) -> Generator[tuple[BufferedReader, Gunzip | None]]:
    """Open a file, or standard input for "-"; with the decompressor where the data are gzip.

    Raises OSError where it cannot be opened.
    """
    if path == "-":
        yield _unpacked(cast("BufferedReader", sys.stdin.buffer))
        return
    with open(path, "rb") as raw:
        yield _unpacked(raw)


def _unpacked(stream: BufferedReader) -> tuple[BufferedReader, Gunzip | None]:
    if stream.peek(2)[:2] != GZIP:
        return stream, None
    gunzip = Gunzip(stream, MAX_UNPACKED)
    return buffered(gunzip), gunzip


def waits_for(path: str) -> str:
    """Return what opening a file will wait for where somebody looks on and may wonder; "" for nothing."""
    if not sys.stderr.isatty():
        return ""
    if path == "-":
        return "what you type, and then Ctrl-D" if sys.stdin.isatty() else ""
    # A shell has a writer at the other end of those that it names by number.
    return "another program to write into it" if Path(path).is_fifo() and not path.startswith("/dev/fd/") else ""


def wide_encoding(head: bytes) -> str:
    """Return the name of the encoding of text in UTF-16 or UTF-32, with or without a mark; "" for any other."""
    if b"\0" not in head:
        return ""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), "")
    first = head[:8]
    plain = all(byte == 0 or 0x20 <= byte < 0x7F for byte in first)
    return marked or (_ZEROS.get("".join(str(int(byte == 0)) for byte in first), "") if plain else "")
