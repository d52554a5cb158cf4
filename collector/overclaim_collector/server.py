"""The whole of `overclaim serve` in one object: receivers, writer, store and detectors in this process."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from pydantic import SecretStr

from overclaim._errors import OverclaimError
from overclaim._version import __version__
from overclaim.expectations import Expectations, chosen
from overclaim_collector import forwarding, storing
from overclaim_collector.addresses import reachable, with_port
from overclaim_collector.config import ServeConfig
from overclaim_collector.detector import Detector
from overclaim_collector.front import Front
from overclaim_collector.memory import shares
from overclaim_collector.pressure import Pressure
from overclaim_collector.receivers.admission import Admission
from overclaim_collector.receivers.ingest import Ingest
from overclaim_collector.status import Status, command_line
from overclaim_collector.storing import Storing
from overclaim_collector.tls import Tls
from overclaim_collector.watch import Watch
from overclaim_collector.web.auth import Tokens
from overclaim_collector.writing.counts import Counts
from overclaim_detectors._owner import grant, revoke
from overclaim_detectors.opening import store_path
from overclaim_detectors.outgoing.delivery import delivery
from overclaim_detectors.outgoing.options import checked
from overclaim_detectors.store import Store

_log = logging.getLogger(__name__)


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
        self._kept: Storing | None = None
        self._counts: Mapping[str, Counts] = {}
        self._watch: Watch | None = None
        self._stopping = threading.Event()

    @property
    def addresses(self) -> Addresses:
        """Where it answers."""
        if self._addresses is None:
            raise OverclaimError("the server is not running: call start() first")
        return self._addresses

    @property
    def store(self) -> Store:
        """Its store, with everything that was acknowledged so far in it, for use in the same process."""
        if self._store is None or self._kept is None:
            raise OverclaimError("the server is not running: call start() first")
        self._kept.settle()
        return self._store

    @property
    def watch(self) -> Watch:
        """What looks after its store."""
        if self._watch is None:
            raise OverclaimError("the server is not running: call start() first")
        return self._watch

    @property
    def counts(self) -> Mapping[str, Counts]:
        """Items since the start, by the name of their signal."""
        return self._counts

    def start(self) -> Addresses:
        """Open the store, listen, detect.

        Raises:
            InputError: a port cannot be had, or the expectations or the certificate cannot be used.
            StoreError: the store cannot be opened.
        """
        self._stopping.clear()
        with ExitStack() as starting:
            self._addresses = self._start(starting)
            self._running = starting.pop_all()
        return self._addresses

    def stop(self) -> None:
        """Take nothing more, store what was taken, and close; twice is fine. Takes less than five seconds."""
        self._stopping.set()
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
        checked(config.outgoing)
        front = Front(config, running, _tokens(config), _tls(config))
        sock = front.listen()
        http_port = sock.getsockname()[1]
        forwarder = forwarding.started(config, running, (http_port, config.grpc_port))
        store = self._store = storing.opened(config, running)
        _grant(config, running, front.tokens)
        detector, watch = self._start_watching(running, store, expected)
        kept = self._kept = storing.started(config, running, store)
        self._counts = kept.writer.counts
        ingest = Ingest(kept.writer, self._start_admission(running, store))
        grpc_port = front.start_grpc(ingest, forwarder)
        scheme = "https" if front.tls else "http"
        http = f"{scheme}://{with_port(config.host, http_port)}"
        addresses = Addresses(http, with_port(config.host, grpc_port), store.url)
        status = Status(_owner(addresses), kept, forwarder, detector, watch, front.tokens)
        front.start_http(sock, front.routes(ingest, forwarder, store, status, self._stopping.is_set))
        store.announce(f"{scheme}://{with_port(reachable(config.host), http_port)}")
        if config.detect:
            detector.start()
        running.callback(store.interrupt)
        running.callback(detector.tell_to_stop)
        return addresses

    def _start_watching(
        self, running: ExitStack, store: Store, expected: Expectations | None
    ) -> tuple[Detector, Watch]:
        """The detectors, which start later, with who sends what they find; and the watch over the store."""
        out = running.enter_context(delivery(store, self._config.outgoing))
        detector = Detector(store, self._config.detect_interval, expected, lambda done: out.passed(done.judged))
        if self._config.detect:
            out.start()
        running.callback(detector.join)
        gib = self._config.max_disk_gib
        watch = self._watch = Watch(store, max_disk=int(gib * (1 << 30)) if gib else None)
        watch.start()
        running.callback(watch.stop)
        return detector, watch

    def _start_admission(self, running: ExitStack, store: Store) -> Admission:
        pressure = Pressure(store, self._config.memory_mib << 20)
        pressure.start()
        running.callback(pressure.stop)
        return Admission(shares(self._config.memory_mib).requests, short=lambda: pressure.short)


def _tokens(config: ServeConfig) -> Tokens:
    return Tokens(_text(config.token), _text(config.ingest_token))


def _grant(config: ServeConfig, running: ExitStack, tokens: Tokens) -> None:
    """Let those decide who may read the files of an embedded store."""
    if config.store.startswith("chdb:"):
        path = store_path(config.store)
        running.callback(revoke, path)
        tokens.accept_key(grant(path))


def _text(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def _tls(config: ServeConfig) -> Tls | None:
    if config.tls_cert and config.tls_key:
        return Tls(config.tls_cert, config.tls_key)
    if config.beyond:
        _log.warning(
            "--host %s without TLS: tokens and data can be read on the way; give --tls-cert and --tls-key, "
            "or put a proxy with TLS in front",
            config.host,
        )
    return None


def _owner(addresses: Addresses) -> dict[str, object]:
    return {
        "pid": os.getpid(),
        "command": command_line(),
        "url": addresses.http,
        "grpc": addresses.grpc,
        "store": addresses.store,
        "version": __version__,
    }
