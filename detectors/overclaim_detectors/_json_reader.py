"""Answers of the embedded engine as JSON in pieces, so that a large one is stopped before it fills the memory.

The client library streams only what it turns into Python values, which takes many times the memory, and holds the GIL.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from overclaim_detectors._clients import JSON_LINES, plain_error, too_large
from overclaim_detectors.store import QueryError

_CODE = re.compile(r"Code: (\d+)\.")
_PATIENCE = 0.5
_NOT_STREAMED = "Streaming query is not supported"


class JsonReader:
    """Makes a handle on the engine read-only, for one thread. After an error close it: it may hold half a result."""

    def __init__(self, engine: Any, settings: Mapping[str, int]) -> None:
        self._engine = engine
        self._busy = threading.Lock()
        for name, value in {**settings, "readonly": 1}.items():
            self._engine.query(f"SET {name} = {value}", "Null")

    def lines(self, sql: str, params: Mapping[str, str], limit: int) -> bytes | None:
        """One JSON list per line, the names first; None for a statement that the engine does not stream.

        Raises:
            QueryError: the engine's, or for more than `limit` bytes.
        """
        try:
            with self._busy:
                stream = self._engine.send_query(sql, JSON_LINES, params=dict(params))
                return b"".join(self._bounded(stream, limit))
        except RuntimeError as error:
            if _NOT_STREAMED in str(error):
                return None
            code = _CODE.search(str(error))
            raise QueryError(plain_error(str(error)), int(code[1]) if code else 0) from error

    def _bounded(self, stream: Any, limit: int) -> Iterator[bytes]:
        head, size = b"", 0
        for piece in self._pieces(stream):
            # Each block comes as if it were alone, with the names before it.
            part = piece.removeprefix(head)
            head = head or piece[: piece.index(b"\n") + 1]
            size += len(part)
            if size > limit:
                self._engine.streaming_cancel_query(stream)
                raise too_large(limit)
            yield part

    def _pieces(self, stream: Any) -> Iterator[bytes]:
        while piece := self._engine.streaming_fetch_result(stream).bytes():
            yield piece

    def close(self) -> None:
        """Close the handle; one that is still at work stays open, since nobody may pull it away from under that."""
        if self._busy.acquire(timeout=_PATIENCE):
            with suppress(RuntimeError):
                self._engine.close()
            self._busy.release()
