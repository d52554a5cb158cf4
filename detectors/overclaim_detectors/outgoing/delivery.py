"""All receivers of one store's findings, and the figures on them."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overclaim._errors import OverclaimError
from overclaim_detectors.outgoing.courier import Courier
from overclaim_detectors.outgoing.options import Outgoing, sinks
from overclaim_detectors.outgoing.sink import Sink
from overclaim_detectors.store import Store

if TYPE_CHECKING:
    from overclaim_detectors.outgoing.metrics import Metrics

STOP_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a try to send everything: to whom, how many findings, and why not all, if so."""

    label: str
    count: int
    error: str = ""


class Delivery:
    """Sends what passes find to each receiver, in threads of their own. Without receivers it does nothing.

    metrics: what counts runs, where that is wanted.

    Raises:
        StoreError: the store failed.
    """

    def __init__(self, store: Store, sinks: Sequence[Sink] = (), metrics: Metrics | None = None) -> None:
        self._metrics = metrics
        self._couriers = [Courier(store, sink) for sink in sinks]
        for courier in self._couriers:
            courier.begin()

    def start(self) -> None:
        """Send from now on."""
        for courier in self._couriers:
            courier.start()

    def passed(self, judged: int) -> None:
        """A pass judged so many runs: it may have found something."""
        if self._metrics:
            self._metrics.judged(judged)
        for courier in self._couriers:
            courier.wake()

    def flush(self, seconds: float) -> list[Sent]:
        """Send all there is, once, for a process that ends then; what is not sent within so many seconds waits."""
        tries = [_Try(courier) for courier in self._couriers]
        for one in tries:
            one.start()
        end = time.monotonic() + seconds
        return [one.result(end - time.monotonic()) for one in tries]

    def stop(self, seconds: float) -> None:
        """End all of them, within about so many seconds."""
        for courier in self._couriers:
            courier.tell_to_stop()
        stops = [threading.Thread(target=courier.stop, args=(seconds,), daemon=True) for courier in self._couriers]
        end = time.monotonic() + 2 * seconds
        for thread in stops:
            thread.start()
        for thread in stops:
            thread.join(max(0.0, end - time.monotonic()))

    @property
    def couriers(self) -> Sequence[Courier]:
        """One for each receiver."""
        return self._couriers


@contextmanager
def delivery(store: Store, outgoing: Outgoing) -> Generator[Delivery]:
    """A delivery to those receivers, not started yet, which ends with the context.

    Raises:
        InputError: a receiver cannot be used.
        StoreError: the store failed.
    """
    made = Delivery(store, *sinks(outgoing, store)) if outgoing.wanted else Delivery(store)
    try:
        yield made
    finally:
        made.stop(STOP_SECONDS)


class _Try(threading.Thread):
    """One courier's round, in a thread that may be left behind."""

    def __init__(self, courier: Courier) -> None:
        super().__init__(name="overclaim-flush", daemon=True)
        self._courier = courier
        self._error = ""

    def run(self) -> None:
        """Send."""
        try:
            self._courier.once()
            self._courier.sink.tick()
        except OverclaimError as error:
            self._error = str(error)
        except Exception as error:  # anybody's server may answer anything
            self._error = f"{type(error).__name__}: {error}"

    def result(self, seconds: float) -> Sent:
        """What came of it within so many seconds."""
        self.join(max(0.0, seconds))
        late = "it takes too long" if self.is_alive() else ""
        return Sent(self._courier.sink.label, self._courier.sent, self._error or late)
