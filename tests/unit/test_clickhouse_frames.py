from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import lz4.block
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overclaim_collector.refusal import Reason, Refusal
from overclaim_collector.web.clickhouse import coding
from overclaim_collector.web.clickhouse.cityhash import cityhash128
from overclaim_collector.web.clickhouse.frames import Framing, unframed
from overclaim_collector.web.clickhouse.native import NativeBlocks
from overclaim_detectors.store import Store

LIMIT = 4 << 20


def blocks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Hash and block of each compressed block."""
    while data:
        end = 16 + struct.unpack_from("<I", data, 17)[0]
        yield data[:16], data[16:end]
        data = data[end:]


def test_hashes_are_those_of_the_engine(store: Store, store_path: Path) -> None:
    """Blocks of many sizes in files that the engine wrote have the hashes that we would give them."""
    store.command(
        "CREATE TABLE hashed (a UInt64, b String, c UInt8 CODEC(NONE)) ENGINE = MergeTree ORDER BY a "
        "SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"
    )
    try:
        for count in (*range(1, 40), 130, 260, 20_000):
            made = "SELECT number, repeat(toString(rand64()), number % 9), number FROM numbers({count:UInt64})"
            store.command(f"INSERT INTO hashed {made}", {"count": count})
        found = [block for path in store_path.rglob("c.bin") for block in blocks(path.read_bytes())]
        found += [block for path in store_path.rglob("b.bin") for block in blocks(path.read_bytes())]
        assert len({len(block) for _, block in found}) > 40
        assert min(len(block) for _, block in found) < 16
        assert [mark for mark, _ in found] == [cityhash128(block) for _, block in found]
    finally:
        store.command("DROP TABLE hashed SYNC")


@settings(deadline=None)
@given(st.lists(st.binary(max_size=3000), max_size=5))
def test_what_is_framed_comes_back(pieces: list[bytes]) -> None:
    """An answer that was packed into blocks piece by piece is the same when it is unpacked."""
    framing = Framing()
    framed = b"".join(map(framing.compress, pieces)) + framing.flush()
    assert unframed(framed, LIMIT) == b"".join(pieces)
    assert all(cityhash128(block) == mark for mark, block in blocks(framed))


def test_large_pieces_become_several_blocks() -> None:
    """No block is larger than clients like to hold."""
    data = os.urandom(LIMIT - 5)
    framed = Framing().compress(data)
    assert [struct.unpack_from("<I", block, 5)[0] for _, block in blocks(framed)] == [1 << 20] * 3 + [(1 << 20) - 5]
    assert unframed(framed, LIMIT) == data


@pytest.mark.parametrize("method", ["none", "zstd"])
def test_the_other_methods_are_read(method: str) -> None:
    """Blocks that are not packed, and those of zstd, are read as well."""
    data = b"SELECT 1" * 50
    packer = coding.packer("zstd")
    number, packed = (0x02, data) if method == "none" else (0x90, packer.compress(data) + packer.flush())
    block = struct.pack("<BII", number, 9 + len(packed), len(data)) + packed
    assert unframed(cityhash128(block) + block, LIMIT) == data


def framed_as(method: int, packed: bytes, size: int) -> bytes:
    """A block that says so of itself."""
    block = struct.pack("<BII", method, 9 + len(packed), size) + packed
    return cityhash128(block) + block


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"SELECT 1", Reason.INVALID),
        (b"\0" * 25, Reason.INVALID),
        (b"\0" * 40, Reason.INVALID),
        (Framing().compress(b"SELECT 1")[:-1], Reason.INVALID),
        (Framing().compress(b"SELECT 1")[1:], Reason.INVALID),
        (b"\0" + Framing().compress(b"SELECT 1")[1:], Reason.INVALID),
        (framed_as(0x82, b"SELECT 1", 8), Reason.INVALID),
        (framed_as(0x82, lz4.block.compress(b"SELECT 1", store_size=False), 7), Reason.INVALID),
        (framed_as(0x82, lz4.block.compress(b"SELECT 1", store_size=False), 9), Reason.INVALID),
        (framed_as(0x91, b"SELECT 1", 8), Reason.INVALID),
        (framed_as(0x02, b"SELECT 1", 9), Reason.INVALID),
        (framed_as(0x82, lz4.block.compress(bytes(LIMIT + 1), store_size=False), LIMIT + 1), Reason.TOO_LARGE),
        (framed_as(0x82, b"", 0xFFFFFFFF), Reason.TOO_LARGE),
        (Framing().compress(bytes(LIMIT)) + Framing().compress(b"x"), Reason.TOO_LARGE),
    ],
)
def test_damaged_blocks_are_refused(body: bytes, reason: Reason) -> None:
    """What is cut short, altered, of another kind, or larger than it may be is told apart from a question."""
    with pytest.raises(Refusal) as caught:
        unframed(body, LIMIT)
    assert caught.value.reason is reason


@settings(deadline=None)
@given(st.lists(st.lists(st.binary(max_size=40), min_size=2, max_size=2), max_size=4), st.integers(1, 50))
def test_blocks_can_come_in_pieces_of_any_size(answer: list[list[bytes]], size: int) -> None:
    """What is made of an answer does not depend on where it was cut; without blocks it still names its columns."""
    columns = [["a", "String"], ["ä" * 100, "UInt8"]]
    text = json.dumps(columns).encode() + b"\n"
    for block in answer:
        text += struct.pack("<QQ", 2, 7) + b"".join(struct.pack("<Q", len(data)) + data for data in block)
    pieces = NativeBlocks()
    made = b"".join(pieces.feed(text[at : at + size]) for at in range(0, len(text), size)) + pieces.end()
    head = b"\x01\x00\x02\xff\xff\xff\xff\x00\x02"
    first, second = b"\x01a\x06String\x00", b"\xc8\x01" + "ä".encode() * 100 + b"\x05UInt8\x00"
    whole = b"".join(head + b"\x07" + first + block[0] + second + block[1] for block in answer)
    assert made == (whole or head + b"\x00" + first + second)
