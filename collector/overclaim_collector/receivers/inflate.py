"""Undo a request's Content-Encoding without ever holding more than the limit."""

from __future__ import annotations

import zlib
from gzip import GzipFile
from io import BytesIO

from overclaim_collector.refusal import Reason, Refusal, invalid, too_large

# OTLP's own recommendation, counted after decompression.
MAX_BODY = 64 << 20
ACCEPTED = ("gzip", "deflate", "identity")
_CHUNK = 1 << 20
_MEMBER_START = b"\x1f\x8b\x08"
_MAX_MEMBERS = 1000  # a gzip body may be several in a row; millions of empty ones would only burn time


def inflate(body: bytes, encoding: str, limit: int = MAX_BODY) -> bytes:
    """The plain bytes of a body sent with this Content-Encoding.

    Raises:
        Refusal: TOO_LARGE over `limit` bytes, INVALID where the data are damaged, UNSUPPORTED for other encodings.
    """
    name = encoding.strip().lower()
    if name not in ("", *ACCEPTED):
        raise Refusal(Reason.UNSUPPORTED, f"Content-Encoding {encoding[:40]!r} is not read here: use gzip or none")
    plain = _plain(body, name, limit)
    if len(plain) > limit:
        raise too_large(f"the request is larger than {limit} bytes uncompressed: send smaller batches")
    return plain


def _plain(body: bytes, name: str, limit: int) -> bytes:
    """The plain bytes, cut short soon after the limit."""
    try:
        if name == "gzip":
            return _gunzip(body, limit)
        return _inflate(body, limit) if name == "deflate" else body
    except (zlib.error, EOFError, OSError) as error:
        raise invalid(f"the body is not valid {name} data ({error})") from error


def _gunzip(body: bytes, limit: int) -> bytes:
    if body.count(_MEMBER_START) > _MAX_MEMBERS:
        raise invalid(f"the body has more than {_MAX_MEMBERS} gzip members")
    plain = BytesIO()
    with GzipFile(fileobj=BytesIO(body)) as packed:
        while plain.tell() <= limit and (chunk := packed.read(_CHUNK)):
            plain.write(chunk)
    return plain.getvalue()


def _inflate(body: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj()
    plain = stream.decompress(body, limit + 1)
    if len(plain) <= limit and not stream.eof:
        raise EOFError("it ends too early")
    return plain
