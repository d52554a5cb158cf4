"""From a request's bytes to stored spans, the same for every transport."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import Final

from overclaim_collector.otlp import decoding
from overclaim_collector.otlp.decoding import Encoding
from overclaim_collector.otlp.spans import Row
from overclaim_collector.receivers.admission import Admission, Claim
from overclaim_collector.receivers.inflate import inflate
from overclaim_collector.refusal import Refusal, unavailable
from overclaim_collector.writing.writer import Writer

# How long a sender is kept waiting for the store. Stock exporters wait ten seconds in all.
PATIENCE: Final = 8.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the sender is told when its spans are stored."""

    refused: int
    message: str


class Ingest:
    """Decodes requests and hands them to the writer."""

    def __init__(self, writer: Writer, admission: Admission | None = None) -> None:
        self.admission = admission or Admission()
        self._writer = writer

    def receive(self, claim: Claim, body: bytes, encoding: Encoding, compression: str = "") -> Receipt:
        """Store the spans of one request; returns when they are stored. Blocks: call it from a worker thread.

        Raises:
            Refusal: for the whole request; UNAVAILABLE where it may be sent again.
        """
        try:
            return self._receive(claim, body, encoding, compression)
        except Refusal:
            raise
        except Exception as error:  # a fault of ours: the sender must keep its spans and come again
            _log.exception("a request of %d bytes could not be handled", len(body))
            raise unavailable("the collector failed on this request: send again") from error

    def _receive(self, claim: Claim, body: bytes, encoding: Encoding, compression: str) -> Receipt:
        plain = inflate(body, compression)
        if plain is not body:
            claim.take(len(plain))
        result = decoding.decode(plain, encoding)
        refused = result.refused.total()
        self._writer.count_refused(refused)
        if result.rows:
            self._store(hashlib.sha256(plain).digest(), result.rows)
        return Receipt(refused, result.message)

    def _store(self, digest: bytes, rows: list[Row]) -> None:
        try:
            self._writer.submit(digest, rows).result(PATIENCE)
        except TimeoutError:
            raise unavailable(f"{len(rows)} spans are not stored yet: send again") from None
