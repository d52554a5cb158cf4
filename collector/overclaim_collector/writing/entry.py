"""One request on its way into the store."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from overclaim_collector.otlp.items import Row
from overclaim_collector.otlp.signals import BY_NAME, Signal

# Of a packed entry, before the block: version, native, length of the signal's name, items, digest.
_HEAD: Final = struct.Struct("<BBBI32s")
_VERSION: Final = 1


Key = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Entry:
    """A checked request. digest: sha256 of the bytes that came. block: the request without its bad items, in protobuf.

    items: how many are in it, at least one. native: the engine's own reader makes the same rows of the block.
    """

    digest: bytes
    signal: Signal
    items: int
    block: bytes
    native: bool = False

    @property
    def key(self) -> Key:
        """What tells it from others: the same bytes may be a request of two signals."""
        return self.signal.name, self.digest

    def rows(self) -> list[Row]:
        """Its rows."""
        return self.signal.rows(self.signal.request.FromString(self.block))

    def pack(self) -> bytes:
        """All of it as bytes, for keeping it on disk."""
        name = self.signal.name.encode()
        head = _HEAD.pack(_VERSION, self.native, len(name), self.items, self.digest)
        return b"".join((head, name, self.block))

    @staticmethod
    def unpack(packed: bytes) -> Entry:
        """The entry in such bytes.

        Raises:
            ValueError: they are of another version, or no entry.
        """
        try:
            version, native, length, items, digest = _HEAD.unpack_from(packed)
            if version != _VERSION:
                raise ValueError(f"a kept request of version {version}, which this version of overclaim does not know")
            end = _HEAD.size + length
            signal = BY_NAME[packed[_HEAD.size : end].decode()]
        except (struct.error, KeyError, UnicodeDecodeError) as error:
            raise ValueError(f"not a kept request: {error}") from error
        return Entry(digest, signal, items, packed[end:], bool(native))
