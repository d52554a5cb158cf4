"""Compressed blocks of ClickHouse's own kind, which clients ask for by compress=1 and send by decompress=1.

Each block: a hash of the rest (16 bytes), the method, its size without the hash, its plain size, the data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from overclaim_collector.refusal import invalid, too_large
from overclaim_collector.web.clickhouse import coding
from overclaim_collector.web.clickhouse.cityhash import cityhash128

try:
    import lz4.block as lz4  # pyright: ignore[reportMissingTypeStubs]
except ImportError:  # clickhouse-connect brings it along before Python 3.14 only
    lz4 = None

OFFERED: Final = lz4 is not None
_LZ4: Final[Any] = lz4
_HASH: Final = 16
_HEAD: Final = struct.Struct("<BII")
_NONE, _OF_LZ4, _OF_ZSTD = 0x02, 0x82, 0x90
_LARGEST: Final = 1 << 20


class Framing:
    """Packs an answer into blocks."""

    def compress(self, data: bytes, /) -> bytes:
        """Blocks with this in them."""
        return b"".join(_framed(data[start : start + _LARGEST]) for start in range(0, len(data), _LARGEST))

    def flush(self) -> bytes:
        """Nothing: each block is whole."""
        return b""


def _framed(data: bytes) -> bytes:
    packed: bytes = _LZ4.compress(data, store_size=False)
    block = _HEAD.pack(_OF_LZ4, _HEAD.size + len(packed), len(data)) + packed
    return cityhash128(block) + block


def unframed(data: bytes, limit: int) -> bytes:
    """What is in the blocks of a body.

    Raises:
        Refusal: more than `limit` bytes, or no such blocks.
    """
    plain = bytearray()
    for method, size, packed in _blocks(data):
        if len(plain) + size > limit:
            raise too_large(f"the request is larger than {limit} bytes uncompressed")
        plain += _unpacked(method, size, packed)
    return bytes(plain)


def _blocks(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Method, plain size and packed data of each block."""
    rest = memoryview(data)
    while rest:
        if len(rest) < _HASH + _HEAD.size:
            raise invalid("the body ends within a compressed block")
        method, size, plain_size = _HEAD.unpack_from(rest, _HASH)
        block = rest[_HASH : _HASH + size]
        if not _HEAD.size <= size == len(block):
            raise invalid("the body ends within a compressed block")
        if cityhash128(bytes(block)) != bytes(rest[:_HASH]):
            raise invalid("a compressed block of the body is damaged: its hash is another")
        yield method, plain_size, bytes(block[_HEAD.size :])
        rest = rest[_HASH + size :]


def _unpacked(method: int, size: int, packed: bytes) -> bytes:
    if method == _OF_ZSTD:
        plain = coding.unpacked(packed, "zstd", size)
    elif method == _OF_LZ4 and OFFERED:
        plain = _unpacked_lz4(packed, size)
    elif method == _NONE:
        plain = packed
    else:
        raise invalid(f"compressed blocks of method {method:#x} are not read here")
    if len(plain) != size:
        raise invalid("a compressed block of the body has not the size that it names")
    return plain


def _unpacked_lz4(packed: bytes, size: int) -> bytes:
    try:
        return _LZ4.decompress(packed, uncompressed_size=size)
    except _LZ4.LZ4BlockError as error:
        raise invalid(f"a compressed block of the body is not valid lz4 data ({error})") from error
