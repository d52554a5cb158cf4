"""Undo a request's Content-Encoding without ever holding more than the limit."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from io import SEEK_CUR, BytesIO
from typing import Final, Protocol

from overclaim_collector.refusal import Reason, Refusal, invalid, too_large

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# OTLP's own recommendation, counted after decompression.
MAX_BODY: Final = 64 << 20
ACCEPTED: Final = ("gzip", "deflate", "zstd", "identity")
_CHUNK: Final = 1 << 20
_PACKED: Final = 16 << 10
# A real batch shrinks to a tenth or a fiftieth. What shrinks more than this, and is large, was made to fill memory:
# it is given up early, long before the limit.
_MAX_RATIO: Final = 250
_RATIO_COUNTS_FROM: Final = 8 << 20
# A body may be several members (gzip) or frames (zstd) in a row; millions of empty ones would only burn time.
_MAX_MEMBERS: Final = 1000
_MEMBER_STARTS: Final = {"gzip": (b"\x1f\x8b\x08",), "zstd": (b"\xb5\x2f\xfd", b"\x2a\x4d\x18")}
_ZSTD_OPTIONS: Final = {int(zstd.DecompressionParameter.window_log_max): 23}  # 8 MiB: RFC 9659 allows no more


def _nothing(_: int) -> None: ...


def inflate(body: bytes, encoding: str, limit: int = MAX_BODY, take: Callable[[int], None] = _nothing) -> bytes:
    """The plain bytes of a body sent with this Content-Encoding; `take` is told of each new piece's size.

    Raises:
        Refusal: TOO_LARGE over `limit` bytes or where it was made to be, INVALID where the data are damaged,
            UNSUPPORTED for other encodings.
    """
    name = encoding.strip().lower().removeprefix("x-")  # RFC 9110: x-gzip is gzip
    if name not in ("", *ACCEPTED):
        raise Refusal(Reason.UNSUPPORTED, f"Content-Encoding {encoding[:40]!r} is not read here: use gzip or none")
    plain = _unpacked(body, name, limit, take) if body and name not in ("", "identity") else body
    if len(plain) > limit:
        raise too_large(f"the request is larger than {limit} bytes uncompressed: send smaller batches")
    return plain


def _unpacked(body: bytes, name: str, limit: int, take: Callable[[int], None]) -> bytes:
    """The plain bytes, cut short soon after the limit."""
    if sum(body.count(start) for start in _MEMBER_STARTS.get(name, ())) > _MAX_MEMBERS:
        raise invalid(f"the body has more than {_MAX_MEMBERS} {name} parts in a row")
    try:
        source = BytesIO(body)
        return _read(_reader(source, name), source, limit, take)
    except (zlib.error, zstd.ZstdError, EOFError, OSError) as error:
        raise invalid(f"the body is not valid {name} data ({error})") from error


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        ...


def _reader(source: BytesIO, name: str) -> _Reader:
    if name == "zstd":
        return zstd.ZstdFile(source, options=_ZSTD_OPTIONS)
    return _Members(source, zlib.MAX_WBITS | 16) if name == "gzip" else _Stream(source, zlib.MAX_WBITS)


class _Stream:
    """A zlib stream, which is what HTTP calls deflate. `wbits` is what zlib wants to know of its format."""

    def __init__(self, source: BytesIO, wbits: int) -> None:
        self._source = source
        self._wbits = wbits
        self._stream = zlib.decompressobj(wbits)

    def read(self, size: int) -> bytes:
        while not self._stream.eof or self._next():
            packed = self._stream.unconsumed_tail or self._source.read(_PACKED)
            if plain := self._stream.decompress(packed, size):
                return plain
            if not (packed or self._stream.eof):
                raise EOFError("it ends too early")
        return b""

    def _next(self) -> bool:
        """Whether something follows the end."""
        return False


class _Members(_Stream):
    """Streams in a row, and zeros behind them, as gzip may have."""

    def _next(self) -> bool:
        self._source.seek(-len(self._stream.unused_data), SEEK_CUR)
        while part := self._source.read(_PACKED):
            if rest := part.lstrip(b"\0"):
                self._source.seek(-len(rest), SEEK_CUR)
                self._stream = zlib.decompressobj(self._wbits)
                return True
        return False


def _read(packed: _Reader, source: BytesIO, limit: int, take: Callable[[int], None]) -> bytes:
    plain = BytesIO()
    while plain.tell() <= limit and (chunk := packed.read(_CHUNK)):
        take(len(chunk))
        plain.write(chunk)
        if plain.tell() > max(_RATIO_COUNTS_FROM, source.tell() * _MAX_RATIO):
            raise too_large(f"the request is over {_MAX_RATIO} times as large uncompressed: send smaller batches")
    return plain.getvalue()
