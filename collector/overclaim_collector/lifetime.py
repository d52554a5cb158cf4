"""From start to stop: signals end the server in good order, and a second one, or something that hangs, at once.

The main thread only waits, since Python runs handlers of signals nowhere else, and not while an engine is being opened.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from types import FrameType
from typing import Final, NoReturn, Protocol

# Ten seconds is what container engines give; the rest of it is for whatever else must end.
STOP_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 1.0


class Startable(Protocol):
    """What is started and stopped."""

    def start(self) -> object:
        """Start; may raise."""
        ...

    def stop(self) -> None:
        """Stop."""
        ...


class Lifetime:
    """Takes SIGTERM and SIGINT from its creation on."""

    def __init__(self) -> None:
        self._told = False
        self._wake = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def run(self, server: Startable, ready: Callable[[], None]) -> int:
        """Start, say that it is ready, wait for a signal, and stop; returns the exit code.

        Raises:
            whatever the start or `ready` raise.
        """
        started = _in_a_thread(server.start)
        started.add_done_callback(lambda _: self._wake.set())
        self._wait_for(started.done)
        if self._told:
            return self._stop(server, started)
        started.result()
        self._wake.clear()
        try:
            ready()
            self._wait_for(lambda: False)
        except BaseException:
            server.stop()
            raise
        return self._stop(server, started)

    def _wait_for(self, done: Callable[[], bool]) -> None:
        """Wait for a signal, or until it is done. A signal that another thread is given does not end a wait."""
        while not (self._told or done()):
            self._wake.wait(_LOOK_SECONDS)

    def _stop(self, server: Startable, started: Future[object]) -> int:
        print("overclaim serve: stopping", file=sys.stderr, flush=True)

        def stop() -> None:
            started.result()
            server.stop()

        try:
            _in_a_thread(stop).result(STOP_SECONDS)
        except NotDone:
            print(
                f"overclaim serve: something hangs, not stopped within {STOP_SECONDS:.0f} s; ends all the same."
                " What was acknowledged is kept",
                file=sys.stderr,
            )
            _end(1)
        return 0

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._told:
            _end(128 + number)
        self._told = True
        self._wake.set()


def _in_a_thread(work: Callable[[], object]) -> Future[object]:
    done: Future[object] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # who waits for it hears of it
            done.set_exception(error)

    threading.Thread(target=run, name="overclaim-lifetime", daemon=True).start()
    return done


def _end(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of the engine that hang would keep the process
