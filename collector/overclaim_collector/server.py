"""The whole of `overclaim serve` in one object: receivers, writer, store and detectors in this process."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from overclaim._errors import OverclaimError
from overclaim._version import __version__
from overclaim.expectations import Expectations, chosen
from overclaim_collector.addresses import listening_socket, with_port
from overclaim_collector.config import ServeConfig
from overclaim_collector.receivers.grpc import GrpcReceiver, port_in_use
from overclaim_collector.receivers.http import HttpReceiver
from overclaim_collector.receivers.ingest import Ingest
from overclaim_collector.web.api import Api
from overclaim_collector.web.http_server import HttpServer
from overclaim_collector.writing.writer import Counts, Writer
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.retention import keep
from overclaim_detectors.runner import Progress, follow
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")

# Together with the HTTP server's two seconds: stopped within five, whatever hangs.
_GRPC_SECONDS = 1.0
_WRITER_SECONDS = 1.5
_DETECTOR_SECONDS = 0.5  # it was told to stop before all others
# Threads that wait for the store most of the time: as many requests can share one insert.
_WORKERS = 64
# People's questions at a time; each may take half a GiB in the engine, and one more question waits for its turn.
_QUERIES = 2


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a server answers: `http` is a base URL, `grpc` is host:port, `store` is the store's URL."""

    http: str
    grpc: str
    store: str


class Server:
    """A collector with its store and detectors. Use start() and stop(), or `with Server(config) as server`."""

    def __init__(self, config: ServeConfig) -> None:
        self._config = config
        self._running = ExitStack()
        self._addresses: Addresses | None = None
        self._store: Store | None = None
        self._counts = Counts()

    @property
    def addresses(self) -> Addresses:
        """Where it answers."""
        if self._addresses is None:
            raise OverclaimError("the server is not running: call start() first")
        return self._addresses

    @property
    def store(self) -> Store:
        """Its store, for use in the same process."""
        if self._store is None:
            raise OverclaimError("the server is not running: call start() first")
        return self._store

    @property
    def counts(self) -> Counts:
        """Spans since the start."""
        return self._counts

    def start(self) -> Addresses:
        """Open the store, listen, detect.

        Raises:
            InputError: a port cannot be had, or the expectations cannot be used.
            StoreError: the store cannot be opened.
        """
        with ExitStack() as starting:
            self._addresses = self._start(starting)
            self._running = starting.pop_all()
        return self._addresses

    def stop(self) -> None:
        """Take nothing more, store what was taken, and close; twice is fine. Takes less than five seconds."""
        self._addresses = None
        self._running.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self, running: ExitStack) -> Addresses:
        """Start each part; `running` undoes it in the opposite order."""
        config = self._config
        expected = chosen(config.expectations)
        sock = _listen(config)
        running.callback(sock.close)
        store = self._store = open_store(config.store)
        running.callback(store.close)
        running.callback(store.interrupt)  # again, for what came in while the server stopped
        migrate(store)
        if config.retention_days is not None:
            keep(store, config.retention_days)
        detector = _Detector(store, config.detect_interval, expected)
        running.callback(detector.join)
        ingest = Ingest(self._start_writer(running, store))
        grpc_port = _start_grpc(running, ingest, config)
        http_address = f"http://{with_port(config.host, sock.getsockname()[1])}"
        addresses = Addresses(http_address, with_port(config.host, grpc_port), store.url)
        self._start_http(running, ingest, sock, addresses, detector)
        store.announce(addresses.http)
        if config.detect:
            detector.start()
        running.callback(store.interrupt)
        running.callback(detector.tell_to_stop)
        return addresses

    def _start_writer(self, running: ExitStack, store: Store) -> Writer:
        writer = Writer(store)
        self._counts = writer.counts
        writer.start()
        running.callback(writer.stop, _WRITER_SECONDS)
        return writer

    def _start_http(
        self, running: ExitStack, ingest: Ingest, sock: socket.socket, addresses: Addresses, detector: _Detector
    ) -> None:
        receivers = _pool(running, "overclaim-http-worker", _WORKERS)
        queries = _pool(running, "overclaim-query", _QUERIES)
        about = {
            "pid": os.getpid(),
            "command": " ".join([os.path.basename(sys.argv[0]), *sys.argv[1:]]),
            "url": addresses.http,
            "grpc": addresses.grpc,
            "store": addresses.store,
            "version": __version__,
        }
        api = Api(self.store, self._counts, lambda: {**about, "detector": detector.state()}, queries)
        server = HttpServer([*HttpReceiver(ingest, receivers).routes(), *api.routes()], sock)
        server.start()
        running.callback(server.stop)


class _Detector:
    """The detectors' loop in a thread."""

    def __init__(self, store: Store, interval: float, expected: Expectations | None) -> None:
        self._store = store
        self._expected = expected
        self._interval = interval
        self._stop = threading.Event()
        self._progress = Progress()
        self._thread = threading.Thread(target=self._run, name="overclaim-detector", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def tell_to_stop(self) -> None:
        self._stop.set()

    def join(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_DETECTOR_SECONDS)

    def state(self) -> dict[str, object]:
        """How it goes: state is off, running, failing (it tries again) or dead."""
        done = self._progress
        last = done.last.isoformat(timespec="milliseconds") if done.last else None
        return {
            "state": self._word(),
            "interval": self._interval,
            "passes": done.passes,
            "last_pass": last,
            "error": done.error,
        }

    def _word(self) -> str:
        if self._thread.ident is None:
            return "off"
        if not self._thread.is_alive():
            return "dead"
        return "failing" if self._progress.error else "running"

    def _run(self) -> None:
        try:
            follow(self._store, self._interval, self._stop, progress=self._progress, expected=self._expected)
        except BaseException as error:  # nobody waits for this thread, so the log must say it
            self._progress.failed(error)
            _log.critical("the detectors ended: nothing is judged until a restart", exc_info=True)


def _listen(config: ServeConfig) -> socket.socket:
    try:
        return listening_socket(config.host, config.http_port)
    except OSError as error:
        raise port_in_use("HTTP", config.host, config.http_port, "--http-port") from error


def _start_grpc(running: ExitStack, ingest: Ingest, config: ServeConfig) -> int:
    receiver = GrpcReceiver(ingest, _pool(running, "overclaim-grpc-worker", _WORKERS))
    port = receiver.start(with_port(config.host, 0).removesuffix(":0"), config.grpc_port)
    running.callback(receiver.stop, _GRPC_SECONDS)
    return port


def _pool(running: ExitStack, name: str, size: int) -> ThreadPoolExecutor:
    pool = ThreadPoolExecutor(size, thread_name_prefix=name)
    running.callback(pool.shutdown, wait=False, cancel_futures=True)
    return pool
