"""`overclaim serve`: receive spans, keep them, find overclaims; one process, one command."""

from __future__ import annotations

import argparse
import json
import logging
import os
import socket
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from overclaim._errors import InputError
from overclaim.cli import Command
from overclaim_detectors.commands import EXPECT_HELP, with_outgoing

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
_TOKEN_HELP = (
    "a file with the token that everybody must show who asks or sends (Authorization: Bearer TOKEN);"
    " needed with a --host that other machines reach"
)
_EPILOG = """\
Send spans with any OpenTelemetry exporter: OTLP/HTTP to the first address, OTLP/gRPC to the second.
The first line of output is: ready http=URL grpc=HOST:PORT store=URL
While it runs, `overclaim report`, `show` and `query` ask it by themselves.

A token: python3 -c 'import secrets; print(secrets.token_urlsafe(32))' > token; chmod 600 token
Senders show it by OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN, the commands by OVERCLAIM_TOKEN or
OVERCLAIM_TOKEN_FILE, which hold for the server, too, as do OVERCLAIM_INGEST_TOKEN and OVERCLAIM_INGEST_TOKEN_FILE.
With the token of --ingest-token-file one can send, and read nothing: it is the one for agents.

SIGTERM or Ctrl-C ends it within five seconds, and what was acknowledged is kept; a second one ends it at once.

Also as variables: OVERCLAIM_STORE, OVERCLAIM_HOST, OVERCLAIM_HTTP_PORT, OVERCLAIM_GRPC_PORT, OVERCLAIM_DETECT_INTERVAL,
OVERCLAIM_DETECT (false for --no-detect), OVERCLAIM_RETENTION_DAYS, OVERCLAIM_MAX_DISK_GIB, OVERCLAIM_EXPECTATIONS
(--expect), OVERCLAIM_TLS_CERT, OVERCLAIM_TLS_KEY, OVERCLAIM_MEMORY_MIB, OVERCLAIM_DURABILITY, OVERCLAIM_SPOOL_DIR,
OVERCLAIM_SPOOL_MIB, OVERCLAIM_FORWARD, OVERCLAIM_FORWARD_MIB, OVERCLAIM_EVENTS, OVERCLAIM_WEBHOOK and its others; and
only so, since they may hold a secret: OVERCLAIM_FORWARD_HEADERS and OVERCLAIM_EVENTS_HEADERS (name=value pairs with
commas between, as OTEL_EXPORTER_OTLP_HEADERS has them).
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--store", metavar="URL", help=_STORE_HELP)
    add("--host", help="address to listen on; beyond this machine only with a token (default: 127.0.0.1)")
    add("--http-port", type=int, help="port for OTLP/HTTP and queries, 0 for a free one (default: 4318)")
    add("--grpc-port", type=int, help="port for OTLP/gRPC, 0 for a free one (default: 4317)")
    add("--token-file", type=Path, metavar="FILE", help=_TOKEN_HELP)
    add("--ingest-token-file", type=Path, metavar="FILE", help="a file with a token that only allows to send")
    add("--tls-cert", type=Path, metavar="FILE", help="certificate (PEM) for HTTPS and gRPC over TLS")
    add("--tls-key", type=Path, metavar="FILE", help="its private key (PEM, without a passphrase)")
    pause = "pause between detection passes, longer after long ones (default: 2)"
    add("--detect-interval", type=float, metavar="SECONDS", help=pause)
    add("--no-detect", dest="detect", action="store_const", const=False, help="only receive and keep")
    add("--expect", dest="expectations", metavar="FILE", help=EXPECT_HELP)
    with_outgoing(parser)
    _configure_keeping(parser)
    add("--ready-file", type=Path, metavar="FILE", help="write the addresses there as JSON when ready")


def _configure_keeping(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--retention-days", type=int, metavar="DAYS", help=_RETENTION_HELP)
    add("--max-disk-gib", type=float, metavar="GIB", help="the oldest spans go when the store takes more")
    add("--memory-mib", type=int, metavar="MIB", help="what the process may take (default: 1536)")
    add("--durability", choices=("fsync", "os"), help="acknowledge what the disk has, or the system (default: fsync)")
    add("--spool-dir", type=Path, metavar="DIR", help="where data wait for the store (default: beside it)")
    add("--spool-mib", type=int, metavar="MIB", help="how much may wait there; 0: senders wait instead (default: 1024)")
    add("--forward", metavar="URL", help="pass everything on to this OTLP/HTTP endpoint, too")
    add("--forward-mib", type=int, metavar="MIB", help="how much may wait for that in memory (default: 64)")


def _run(args: argparse.Namespace) -> int:
    from overclaim_collector.lifetime import Lifetime
    from overclaim_detectors._light import load_light
    from overclaim_detectors._pages import let_go_of_start_pages

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    load_light()
    from overclaim_collector import config
    from overclaim_collector.server import Server

    names = {*config.ServeConfig.model_fields, "token_file", "ingest_token_file", "webhook_secret_file"}
    given = {name: value for name, value in vars(args).items() if name in names}
    server = Server(config.load(given, os.environ))

    def ready() -> None:
        let_go_of_start_pages()
        _say_ready(server.addresses, args.ready_file)

    return Lifetime().run(server, ready)


def _say_ready(addresses: Addresses, ready_file: Path | None) -> None:
    usable = replace(addresses, http=_usable(addresses.http), grpc=_usable(addresses.grpc))
    if ready_file is not None:
        _write_whole(ready_file, json.dumps({**asdict(usable), "pid": os.getpid()}))
    others = f", on other machines at {_of_others(usable.http)}" if usable != addresses else ""
    print(f"ready http={usable.http} grpc={usable.grpc} store={usable.store}", flush=True)
    print(f"Point OTEL_EXPORTER_OTLP_ENDPOINT at the http address{others}; stop with Ctrl-C.", flush=True)


def _usable(address: str) -> str:
    """An address that one can send to: 0.0.0.0 is none, and stands in no certificate."""
    from overclaim_collector.addresses import reachable, with_port

    scheme, slashes, rest = address.rpartition("//")
    host, _, port = rest.rpartition(":")
    return f"{scheme}{slashes}{with_port(reachable(host), int(port))}"


def _of_others(http: str) -> str:
    scheme, port = http.partition(":")[0], http.rpartition(":")[2]
    return f"{scheme}://{socket.gethostname()}:{port}"


def _write_whole(path: Path, text: str) -> None:
    # Renamed into place: whoever waits for the file must never read half of it.
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text + "\n", "utf-8")
        part.replace(path)
    except OSError as error:
        raise InputError(f"cannot write --ready-file {path}: {error.strerror}") from error


COMMAND = Command("receive spans over OTLP, keep them and find overclaims", _configure, _run, _EPILOG)
