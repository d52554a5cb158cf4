"""The command `overclaim demo`: every part of overclaim on this machine, and the verdicts it comes to."""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Final

from overclaim._errors import MissingExtra
from overclaim.cli import Command

if TYPE_CHECKING:
    from overclaim_collector.demo.story import Story
    from overclaim_detectors.store import Store

NEEDED: Final = {
    "chdb": "chdb-core",
    "clickhouse_connect": "clickhouse-connect",
    "grpc": "grpcio",
    "opentelemetry.instrumentation.requests": "opentelemetry-instrumentation-requests",
    "requests": "requests",
    "rich": "rich",
    "starlette": "starlette",
    "uvicorn": "uvicorn",
}
EPILOG = """\
Everything is real but the agents' decisions and words: a payments API over HTTP on loopback, the SDK with its
OTLP exporter in a process of its own, the collector, ClickHouse, the detectors. No network beyond this machine;
temporary files are removed. What agents `said` comes from their own process: no content is in the traces.

Exit codes: 0 fine, 2 wrong usage, 3 an extra is not installed, 4 the store cannot be used."""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", metavar="DIR", help="keep the store in DIR, for `report`, `show` and `query`")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what to print (default: text)")


def _run(args: argparse.Namespace) -> int:
    start = time.monotonic()
    _check_installed()
    from overclaim_collector.demo import screen, stage, story

    with _leaving_on_signals(), stage.performance(args.keep) as (server, told):
        stories = story.read(server.store, told)
        seconds = time.monotonic() - start
        if args.format == "json":
            print(json.dumps(screen.data(stories, seconds), indent=2, ensure_ascii=False))
        else:
            _show(server.store, stories, seconds, args.keep)
    return 0


def _show(store: Store, stories: Sequence[Story], seconds: float, kept: str | None) -> None:
    from rich.console import Console
    from rich.text import Text

    from overclaim_collector.demo import screen
    from overclaim_detectors.formats import write
    from overclaim_detectors.report import REPORTS, Window, run_report

    console = Console(highlight=False)
    title = f"{len(stories)} agents at work on a payments API, traced over OTLP into ClickHouse ({seconds:.0f} s)"
    screen.lines(console, Text(title, style="bold"), Text())
    screen.runs(console, stories)
    screen.lines(console, Text("$ overclaim report claims", style="bold"))
    now = datetime.now(UTC)
    rows = run_report(store, "claims", Window(now - timedelta(days=7), now))
    write(rows, "table", layout=REPORTS["claims"].layout)
    screen.closing(console, stories, kept)


@contextmanager
def _leaving_on_signals() -> Generator[None]:
    """End as the signal wants it, but on a way that still removes the temporary files."""
    received: list[int] = []

    def leave(number: int, _: FrameType | None) -> None:
        received.append(number)
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal, too
        signal.signal(number, leave)
    try:
        yield
    finally:
        if received:  # said again: a C module that was being loaded makes an ImportError of it
            raise SystemExit(128 + received[0])


def _check_installed() -> None:
    for module, package in NEEDED.items():
        if not _installed(module):
            raise MissingExtra("demo", package, "server")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a parent package
        return False


COMMAND = Command("watch agents overclaim, and be caught, on this machine", _configure, _run, EPILOG)
