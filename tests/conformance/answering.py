"""The real receivers over loopback with a script in place of the store: for each request what is to come of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.applications import Starlette

from overclaim_collector.addresses import listening_socket
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.signals import TRACES, Signal
from overclaim_collector.receivers.admission import Admission, Claim
from overclaim_collector.receivers.grpc import GrpcReceiver
from overclaim_collector.receivers.http import HttpReceiver
from overclaim_collector.receivers.ingest import Receipt
from overclaim_collector.receivers.others import Onward
from overclaim_collector.refusal import Refusal
from overclaim_collector.web.http_server import HttpServer

DONE = Receipt(0, "")


@dataclass
class Script:
    """Stands for the ingest: what comes of each request, the last for all further ones; and the bodies that came."""

    outcomes: Sequence[Receipt | Refusal] = (DONE,)
    admission: Admission = field(default_factory=Admission)
    bodies: list[bytes] = field(default_factory=list[bytes])

    def begin_anew(self) -> None:
        """Let everything succeed, and forget what came."""
        self.outcomes, self.admission = (DONE,), Admission()
        self.bodies.clear()

    def receive(
        self, claim: Claim, body: bytes, encoding: Encoding, compression: str = "", signal: Signal = TRACES
    ) -> Receipt:
        """What the script says."""
        outcome = self.outcomes[min(len(self.bodies), len(self.outcomes) - 1)]
        self.bodies.append(body)
        if isinstance(outcome, Refusal):
            raise outcome
        return outcome


@dataclass(frozen=True)
class Answering:
    """Where it answers."""

    http: str
    grpc: str


@contextmanager
def answering(script: Script, onward: Onward | None = None) -> Iterator[Answering]:
    """Both receivers on free ports."""
    with ThreadPoolExecutor(4) as workers, listening_socket("127.0.0.1", 0) as sock:
        ingest = cast(Any, script)
        http = HttpServer(Starlette(routes=HttpReceiver(ingest, workers, onward).routes()), sock)
        rpc = GrpcReceiver(ingest, workers, onward)
        http.start()
        try:
            port = rpc.start("127.0.0.1", 0)
            yield Answering(f"http://127.0.0.1:{sock.getsockname()[1]}", f"127.0.0.1:{port}")
        finally:
            rpc.stop(0)
            http.stop()
