"""From a request's bytes to spans that are safe, the same for every transport."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import Final

from overclaim_collector.otlp import decoding
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.signals import TRACES, Signal
from overclaim_collector.receivers.admission import Admission, Claim
from overclaim_collector.receivers.inflate import inflate
from overclaim_collector.refusal import Refusal, unavailable
from overclaim_collector.writing.entry import Entry
from overclaim_collector.writing.writer import Writer

# How long a sender is kept waiting for the store. Stock exporters wait ten seconds in all.
PATIENCE: Final = 8.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the sender is told when its spans are safe."""

    refused: int
    message: str


class Ingest:
    """Decodes requests and hands them to the writer."""

    def __init__(self, writer: Writer, admission: Admission | None = None) -> None:
        self.admission = admission or Admission()
        self._writer = writer

    def receive(
        self, claim: Claim, body: bytes, encoding: Encoding, compression: str = "", signal: Signal = TRACES
    ) -> Receipt:
        """Keep the items of one request; returns when they are safe. Blocks: call it from a worker thread.

        Raises:
            Refusal: for the whole request; UNAVAILABLE where it may be sent again.
        """
        try:
            return self._receive(claim, body, encoding, compression, signal)
        except Refusal as refusal:
            raise refusal.with_traceback(None)  # noqa: B904  # the frames in it would keep the parsed message
        except Exception as error:  # a fault of ours: the sender must keep its items and come again
            _log.exception("a request of %d bytes could not be handled", len(body))
            raise unavailable("the collector failed on this request: send again") from error

    def _receive(self, claim: Claim, body: bytes, encoding: Encoding, compression: str, signal: Signal) -> Receipt:
        plain = inflate(body, compression, take=claim.take)
        with self.admission.parsing(len(plain)):  # the parsed message is gone before the next large one is parsed
            decoded = decoding.decode(plain, encoding, signal)
        checked = decoded.checked
        if checked.kept:
            digest = hashlib.sha256(plain).digest()
            self._store(Entry(digest, signal, checked.kept, decoded.block, decoded.native))
        if checked.refused:  # last: a request that is sent again must not fill the quarantine anew each time
            self._writer.refuse(signal, checked.refused)
        return Receipt(len(checked.refused), checked.message)

    def _store(self, entry: Entry) -> None:
        try:
            self._writer.submit(entry).result(PATIENCE)
        except TimeoutError:
            raise unavailable(f"{entry.items} {entry.signal.item}s are not stored yet: send again") from None
