"""The command `overclaim doctor`."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, entry_points, version

from overclaim._scrub import scrub
from overclaim._version import __version__
from overclaim.cli import Command
from overclaim.doctor import GROUP, Check, Doctor, endpoint, environment, instrumentation

_PACKAGES = ("opentelemetry-api", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http")


def _configure(parser: argparse.ArgumentParser) -> None:
    default = "default: OTEL_EXPORTER_OTLP_ENDPOINT or http://localhost:4318"
    parser.add_argument("--endpoint", help=f"OTLP/HTTP base URL to probe ({default})")
    parser.add_argument("--store", metavar="URL", help="the store to look at (default: OVERCLAIM_STORE, else your own)")
    parser.add_argument(
        "--check-parts", action="store_true", help="also read every file of the store and compare it with its checksum"
    )


def _run(args: argparse.Namespace) -> int:
    bad = False
    for check in _checks(args):
        print(check, flush=True)
        bad = bad or check.level == "bad"
    return 1 if bad else 0


def _checks(args: argparse.Namespace) -> Iterator[Check]:
    yield from versions()
    yield from environment.checks()
    yield from instrumentation.checks()
    yield from endpoint.checks(args.endpoint)
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        yield from _more(point.name, point.load, args)


def _more(name: str, load: Callable[[], Doctor], args: argparse.Namespace) -> Iterator[Check]:
    try:
        for check in load()(args):
            if not isinstance(check, Check):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"gave {type(check).__name__} instead of Check")
            yield check
    except Exception as error:
        yield Check("note", name, f"could not be checked: {type(error).__name__}: {scrub(str(error), 200)}")


def versions() -> Iterator[Check]:
    """Python and the OpenTelemetry packages."""
    yield Check("ok", "overclaim", f"{__version__} on Python {platform.python_version()}")
    for package in _PACKAGES:
        try:
            yield Check("ok", package, version(package))
        except PackageNotFoundError:
            yield Check("bad", package, "not installed", f"pip install {package}")


COMMAND = Command(
    "check that spans are made here and that they arrive",
    _configure,
    _run,
    epilog=(
        "Variables that the SDK heeds: OVERCLAIM_HASH_KEY, OVERCLAIM_EXPECTATIONS, OTEL_SDK_DISABLED,\n"
        "OTEL_TRACES_EXPORTER, OTEL_TRACES_SAMPLER, OTEL_BSP_SCHEDULE_DELAY, OTEL_BSP_MAX_QUEUE_SIZE,\n"
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS (such as overclaim_langchain),\n"
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS,\n"
        "OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_TIMEOUT, and these four for traces alone:\n"
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_HEADERS, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL,\n"
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT.\n"
        "Exit codes: 0 all is well, 1 something will not work."
    ),
)
