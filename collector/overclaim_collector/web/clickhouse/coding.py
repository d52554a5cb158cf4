"""Compressed bodies: of questions, undone within limits, and of answers, piece by piece."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from overclaim_collector.receivers.inflate import inflate
from overclaim_collector.refusal import invalid, too_large

try:
    import lz4.frame as lz4  # pyright: ignore[reportMissingTypeStubs]
except ImportError:  # clickhouse-connect brings it along before Python 3.14 only
    lz4 = None
if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LZ4: Final[Any] = lz4
_FAST: Final = 1
_NO_QUALITY: Final = re.compile(r"q\s*=\s*0(?:\.0*)?")


class Packer(Protocol):
    """Packs an answer as it is made."""

    def compress(self, data: bytes, /) -> bytes:
        """What can be sent of the answer so far."""
        ...

    def flush(self) -> bytes:
        """The rest of it."""
        ...


class _Lz4:
    def __init__(self) -> None:
        self._packed: Any = _LZ4.LZ4FrameCompressor()
        self._begun = False

    def compress(self, data: bytes, /) -> bytes:
        start = b"" if self._begun else self._packed.begin()
        self._begun = True
        return start + self._packed.compress(data)

    def flush(self) -> bytes:
        return self._packed.flush() if self._begun else b""


# Best first, if the client has no wish: quick ones.
_PACKERS: Final[dict[str, Callable[[], Packer]]] = {
    "zstd": lambda: zstd.ZstdCompressor(_FAST),
    **({"lz4": _Lz4} if lz4 else {}),
    "gzip": lambda: zlib.compressobj(_FAST, wbits=31),
    "deflate": lambda: zlib.compressobj(_FAST),
}


def chosen(accepted: str) -> str:
    """The coding for an answer to whoever sent this Accept-Encoding; "" for none."""
    codings = (part.partition(";") for part in accepted.lower().split(","))
    wanted = {name.strip() for name, _, quality in codings if not _NO_QUALITY.fullmatch(quality.strip())}
    return next((name for name in _PACKERS if name in wanted), "")


def packer(coding: str) -> Packer:
    """What packs in a coding."""
    return _PACKERS[coding]()


def unpacked(body: bytes, coding: str, limit: int) -> bytes:
    """The plain body of a request.

    Raises:
        Refusal: it is too large, damaged, or packed in another way.
    """
    if coding.strip().lower() != "lz4" or _LZ4 is None:
        return inflate(body, coding, limit)
    reader = _LZ4.LZ4FrameDecompressor()
    try:
        plain = bytes(reader.decompress(body, limit + 1))
    except RuntimeError as error:
        raise invalid(f"the body is not valid lz4 data ({error})") from error
    if len(plain) > limit:
        raise too_large(f"the request is larger than {limit} bytes uncompressed")
    if not reader.eof or reader.unused_data:
        raise invalid("the body is not one whole lz4 frame")
    return plain
