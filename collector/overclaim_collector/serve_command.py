"""`overclaim serve`: receive spans, keep them, find overclaims; one process, one command."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from overclaim._errors import InputError
from overclaim.cli import Command
from overclaim_detectors.commands import EXPECT_HELP

if TYPE_CHECKING:
    from overclaim_collector.server import Addresses

_STORE_HELP = (
    "a directory, chdb:///path, or clickhouse://host:port/database"
    " (default: OVERCLAIM_STORE, else the store in your data directory)"
)
_RETENTION_HELP = (
    "keep spans so many days after they came, 0 for ever; the store remembers it"
    " (a new store: 90; a table that the stock Collector made: as it is)"
)
_EPILOG = """\
Send spans with any OpenTelemetry exporter: OTLP/HTTP to the first address, OTLP/gRPC to the second.
The first line of output is: ready http=URL grpc=HOST:PORT store=URL
While it runs, `overclaim report`, `show` and `query` ask it by themselves.
Also as variables: OVERCLAIM_STORE, OVERCLAIM_HOST, OVERCLAIM_HTTP_PORT, OVERCLAIM_GRPC_PORT, OVERCLAIM_DETECT_INTERVAL,
OVERCLAIM_DETECT (false for --no-detect), OVERCLAIM_RETENTION_DAYS, OVERCLAIM_EXPECTATIONS (--expect).
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--store", metavar="URL", help=_STORE_HELP)
    add("--host", help="address to listen on; loopback only (default: 127.0.0.1)")
    add("--http-port", type=int, help="port for OTLP/HTTP and queries, 0 for a free one (default: 4318)")
    add("--grpc-port", type=int, help="port for OTLP/gRPC, 0 for a free one (default: 4317)")
    add("--detect-interval", type=float, metavar="SECONDS", help="pause between detection passes (default: 2)")
    add("--no-detect", dest="detect", action="store_const", const=False, help="only receive and keep")
    add("--retention-days", type=int, metavar="DAYS", help=_RETENTION_HELP)
    add("--expect", dest="expectations", metavar="FILE", help=EXPECT_HELP)
    add("--ready-file", type=Path, metavar="FILE", help="write the addresses there as JSON when ready")


def _run(args: argparse.Namespace) -> int:
    from overclaim_collector import config
    from overclaim_collector.server import Server

    names = config.ServeConfig.model_fields
    given = {name: value for name, value in vars(args).items() if name in names}
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    stopped = _stop_on_signals()
    with Server(config.load(given, os.environ)) as server:
        _say_ready(server.addresses, args.ready_file)
        stopped.wait()
        print("overclaim serve: stopping", file=sys.stderr)
    return 0


def _stop_on_signals() -> threading.Event:
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopped.set())
    return stopped


def _say_ready(addresses: Addresses, ready_file: Path | None) -> None:
    if ready_file is not None:
        _write_whole(ready_file, json.dumps({**asdict(addresses), "pid": os.getpid()}))
    print(f"ready http={addresses.http} grpc={addresses.grpc} store={addresses.store}", flush=True)
    print("Point OTEL_EXPORTER_OTLP_ENDPOINT at the http address; stop with Ctrl-C.", flush=True)


def _write_whole(path: Path, text: str) -> None:
    # Renamed into place: whoever waits for the file must never read half of it.
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text + "\n", "utf-8")
        part.replace(path)
    except OSError as error:
        raise InputError(f"cannot write --ready-file {path}: {error.strerror}") from error


COMMAND = Command("receive spans over OTLP, keep them and find overclaims", _configure, _run, _EPILOG)
