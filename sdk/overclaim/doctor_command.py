"""`overclaim doctor`: whether spans would be made here, and whether they would arrive.

Other packages add checks, such as of the store, by an entry point of the group `overclaim.doctor`: a function that
takes the parsed arguments and gives `Check`s, of which it may yield as many as it likes.

    [project.entry-points."overclaim.doctor"]
    store = "your_package.doctor:checks"

    def checks(args: argparse.Namespace) -> Iterator[Check]:
        yield Check("ok", "store", "reachable")

They run last, by name. One that cannot be loaded or fails half-way becomes a note that says so, and the others go
on; what it had found until then is still shown. A package that is not installed adds nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from urllib.parse import urlsplit

from overclaim import _hashing
from overclaim._errors import OverclaimError
from overclaim._scrub import scrub
from overclaim._version import __version__
from overclaim.cli import Command

GROUP = "overclaim.doctor"
MAX_REPLY = 64 * 1024
_SECONDS = 5.0
_PACKAGES = ("opentelemetry-api", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http")
_DEFAULT_ENDPOINT = "http://localhost:4318"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report. level: ok, note (worth knowing) or bad (something will not work)."""

    level: str
    what: str
    found: str
    cure: str = ""

    def __str__(self) -> str:
        line = f"{self.level:<5} {self.what}: {self.found}"
        return f"{line}\n      {self.cure}" if self.cure else line


Doctor = Callable[[argparse.Namespace], Iterable[Check]]
"""What the entry-point group `overclaim.doctor` holds: more checks, such as of the store."""


def _configure(parser: argparse.ArgumentParser) -> None:
    default = "default: OTEL_EXPORTER_OTLP_ENDPOINT or http://localhost:4318"
    parser.add_argument("--endpoint", help=f"OTLP/HTTP base URL to probe ({default})")


def _run(args: argparse.Namespace) -> int:
    bad = False
    for check in _checks(args):
        print(check)
        bad = bad or check.level == "bad"
    return 1 if bad else 0


def _checks(args: argparse.Namespace) -> Iterator[Check]:
    yield from versions()
    yield from environment()
    yield from provider()
    yield from clients()
    yield endpoint(args.endpoint)
    yield hash_key()
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


def environment() -> Iterator[Check]:
    """Variables that switch something off or change what leaves."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield Check("bad", "OTEL_SDK_DISABLED", "true: no span is made", "unset it to see anything")
    sampler = os.environ.get("OTEL_TRACES_SAMPLER", "")
    if sampler.endswith("always_off"):
        cure = "unset it, or use parentbased_always_on"
        yield Check("bad", "OTEL_TRACES_SAMPLER", f"{sampler}: no span is recorded", cure)
    elif "ratio" in sampler:
        yield Check("note", "OTEL_TRACES_SAMPLER", f"{sampler}: runs that are sampled out are not judged")
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter == "none":
        yield Check("bad", "OTEL_TRACES_EXPORTER", "none: no span is sent", "unset it, or set it to otlp")
    yield _content()
    yield from _expectations()


def _expectations() -> Iterator[Check]:
    """What right means here, where the environment names a file for it."""
    named = os.environ.get("OVERCLAIM_EXPECTATIONS", "").strip()
    if not named:
        return
    from overclaim.expectations import load

    try:
        expected = load(named)
    except OverclaimError as error:
        yield Check("bad", "OVERCLAIM_EXPECTATIONS", str(error), "mend it; agents go on without it until then")
        return
    told = f"{named}: {len(expected.tools)} tools, {len(expected.all_procedures)} procedures"
    yield Check("ok", "OVERCLAIM_EXPECTATIONS", told)


def _content() -> Check:
    from overclaim._content import VARIABLE, wanted

    raw = os.environ.get(VARIABLE, "")
    if wanted():
        return Check("note", "content", f"{VARIABLE}={raw}: arguments, results and answers leave, scrubbed and capped")
    known = ("", "NO_CONTENT", "EVENT_ONLY")
    if raw.strip().upper() not in known:
        return Check("note", "content", f"{VARIABLE}={raw} is not a known value, so content stays", "use SPAN_ONLY")
    return Check("ok", "content", "stays in the process")


def provider() -> Iterator[Check]:
    """The tracer provider that `instrument()` would use in a process set up like this one."""
    from opentelemetry import trace

    from overclaim._provider import ProcessorHost

    found = trace.get_tracer_provider()
    if isinstance(found, trace.ProxyTracerProvider):
        yield Check("ok", "tracer provider", "none set here; instrument() makes one that sends by OTLP")
    elif isinstance(found, ProcessorHost):
        yield Check("ok", "tracer provider", f"{type(found).__qualname__}, reused")
    else:
        yield Check(
            "note", "tracer provider", f"{type(found).__qualname__} takes no span processors",
            "tool spans work, but evidence from child spans is not gathered",
        )  # fmt: skip


def clients() -> Iterator[Check]:
    """The integrations, and why one cannot be used."""
    from overclaim.integrations import known

    for integration in known():
        promise = "would be switched on"
        try:
            switch = integration.switch()
            why, promise = switch.probe(), getattr(switch, "promise", promise)
        except Exception as error:
            why = f"{type(error).__name__}: {scrub(str(error), 200)}"
        yield Check("note" if why else "ok", f"integration {integration.name}", why or promise)


def hash_key() -> Check:
    """Whether hashes of targets are keyed with a secret."""
    if os.environ.get(_hashing.KEY_VARIABLE):
        return Check("ok", _hashing.KEY_VARIABLE, "set")
    return Check(
        "note", _hashing.KEY_VARIABLE, "not set: hashes are keyed with the service name, which can be guessed",
        "set it to a secret, the same one in all processes of a service",
    )  # fmt: skip


def endpoint(given: str | None = None) -> Check:
    """Whether the endpoint takes an OTLP request: posts an empty one and reads the reply."""
    from overclaim._provider import is_url

    url = _traces_url(given)
    if _protocol() == "grpc":
        return Check("note", "endpoint", "OTLP over gRPC is set; only OTLP/HTTP is probed")
    if not is_url(url):
        return Check("bad", f"endpoint {scrub(url, 100)}", "is no URL", "begin it with http:// or https://")
    try:
        status, body = _post(url)
    except (OSError, ValueError) as error:
        reason = scrub(str(getattr(error, "reason", error)), 200)
        return Check("bad", f"endpoint {_shown(url)}", f"not reachable: {reason}", "start one: overclaim serve")
    return _reply(url, status, body)


def _reply(url: str, status: int, body: bytes) -> Check:
    where = f"endpoint {_shown(url)}"
    if status != 200:
        said = scrub(body[:200].decode("utf-8", "replace"), 200).strip()
        cure = _CURES.get(status, "this is no OTLP/HTTP endpoint for traces")
        return Check("bad", where, f"answers HTTP {status} {said}".rstrip(), cure)
    if not _is_reply(body):
        return Check("bad", where, "answers HTTP 200, but not as an OTLP endpoint does", "check host, port and path")
    return Check("ok", where, "takes spans")


_CURES = {
    401: "set OTEL_EXPORTER_OTLP_HEADERS, such as authorization=Bearer%20TOKEN",
    403: "the token in OTEL_EXPORTER_OTLP_HEADERS may not write here",
    301: "the exporter does not follow redirects; use the address it redirects to",
    308: "the exporter does not follow redirects; use the address it redirects to",
}


def _is_reply(body: bytes) -> bool:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        ExportTraceServiceResponse.FromString(body)
    except Exception:  # the parser's error class differs between protobuf implementations
        return False
    return True


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The exporter follows no redirect, so the probe must not either."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Decline."""


def _post(url: str) -> tuple[int, bytes]:
    headers = {"content-type": "application/x-protobuf", **_headers()}
    request = urllib.request.Request(url, data=b"", headers=headers, method="POST")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as reply:
            return reply.status, reply.read(MAX_REPLY)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(MAX_REPLY)


def _headers() -> dict[str, str]:
    from opentelemetry.util.re import parse_env_headers

    raw = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or os.environ.get("OTEL_EXPORTER_OTLP_HEADERS") or ""
    return dict(parse_env_headers(raw, liberal=True))


def _protocol() -> str:
    specific = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
    return specific or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"


def _traces_url(given: str | None) -> str:
    from overclaim._provider import traces_url

    specific = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if specific and not given:
        return specific
    return traces_url(given or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or _DEFAULT_ENDPOINT)


def _shown(url: str) -> str:
    """The URL without user info and query."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(unreadable URL)"
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


COMMAND = Command(
    "check that spans are made here and that they arrive",
    _configure,
    _run,
    epilog=(
        "Variables that the SDK heeds: OVERCLAIM_HASH_KEY, OVERCLAIM_EXPECTATIONS, OTEL_SDK_DISABLED,\n"
        "OTEL_TRACES_EXPORTER, OTEL_TRACES_SAMPLER, OTEL_BSP_SCHEDULE_DELAY,\n"
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS,\n"
        "OTEL_EXPORTER_OTLP_PROTOCOL, and the last three for traces alone: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,\n"
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL.\n"
        "Exit codes: 0 all is well, 1 something will not work."
    ),
)
