"""`overclaim doctor`: what it says about the environment and the endpoint."""

from __future__ import annotations

import argparse
import sys
import threading
import types
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest

from overclaim import cli
from overclaim.doctor import GROUP, Check, Doctor, command, endpoint, environment, instrumentation
from overclaim.integrations.registry import FIRST, HTTP_CLIENTS, Integration


class Endpoint(BaseHTTPRequestHandler):
    """Answers by path, as endpoints in the field do."""

    replies: ClassVar[dict[str, tuple[int, bytes]]] = {
        "/good/v1/traces": (200, b""), "/wrong/v1/traces": (404, b"not here"), "/web/v1/traces": (200, b"<html>"),
        "/locked/v1/traces": (401, b"token=abc123 is wrong"), "/moved/v1/traces": (308, b""),
    }  # fmt: skip

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, body = self.replies[self.path]
        self.send_response(status)
        if status == 308:
            self.send_header("location", "/good/v1/traces")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """The base URL of a loopback server."""
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def registry_of_few() -> tuple[Integration, ...]:
    """The integrations that need no import of a framework, which takes seconds."""
    return FIRST


@pytest.mark.parametrize(
    ("path", "level", "word"),
    [
        ("good", "ok", "takes spans"),
        ("wrong", "bad", "HTTP 404"),
        ("web", "bad", "not as an OTLP endpoint"),
        ("locked", "bad", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("moved", "bad", "does not follow redirects"),
    ],
)
def test_endpoint_is_really_asked(base: str, path: str, level: str, word: str) -> None:
    """The probe posts a request and judges by status and body; secrets in a reply are masked."""
    check = next(endpoint.checks(f"{base}/{path}"))
    assert check.level == level
    assert word in str(check)
    assert "abc123" not in str(check)


def test_unreachable_endpoint_names_the_cure() -> None:
    """A refused connection is bad, and the line says how to start an endpoint."""
    check = next(endpoint.checks("http://user:pass@127.0.0.1:9"))
    assert check.level == "bad"
    assert "overclaim serve" in str(check)
    assert "pass" not in str(check)


def test_exit_code_says_whether_all_is_well(
    base: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 0 when spans would arrive, 1 when not; the report is plain lines."""
    monkeypatch.setattr(instrumentation, "known", registry_of_few)
    assert cli.main(["doctor", "--endpoint", f"{base}/good"]) == 0
    out = capsys.readouterr().out
    assert "opentelemetry-sdk" in out
    assert "OVERCLAIM_HASH_KEY" in out
    assert cli.main(["doctor", "--endpoint", f"{base}/wrong"]) == 1


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("OTEL_SDK_DISABLED", "True", "bad"),
        ("OTEL_TRACES_SAMPLER", "parentbased_always_off", "bad"),
        ("OTEL_TRACES_SAMPLER", "traceidratio", "note"),
        ("OTEL_TRACES_EXPORTER", "none", "bad"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "64", "note"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "many", "note"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000", "note"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2s", "bad"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true", "note"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY", "note"),
    ],
)
def test_variables_that_switch_something_off(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, level: str
) -> None:
    """Variables that disable us or change what leaves are named."""
    monkeypatch.setenv(name, value)
    assert level in {check.level for check in environment.checks()}


def test_a_check_of_somebody_else_may_fail_alone() -> None:
    """A check that cannot be loaded becomes a note."""

    def broken() -> Doctor:
        raise ImportError("no such module")

    (check,) = command._more("store", broken, None)  # type: ignore[arg-type]
    assert check.level == "note"
    assert "no such module" in str(check)


def test_what_a_failing_check_had_found_is_shown() -> None:
    """A check that fails half-way keeps what it said, and its own failure is a note without secrets."""

    def halfway(_: argparse.Namespace) -> Iterator[Check]:
        yield Check("bad", "store", "locked")
        raise OSError("password=hunter2 is wrong")

    first, second = command._more("store", lambda: halfway, argparse.Namespace())
    assert (first.level, second.level) == ("bad", "note")
    assert "hunter2" not in str(second)


def test_checks_by_entry_point(base: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Entry points of the group `overclaim.doctor` add lines and decide the exit code, each on its own."""
    names = ("store", "nothing", "odd", "gone")
    points = [EntryPoint(name, f"{__name__}_checks:{name}", GROUP) for name in names]
    module = types.ModuleType(f"{__name__}_checks")
    module.store = lambda args: [Check("bad", "store", f"no room, says {args.endpoint}")]  # type: ignore[attr-defined]
    module.nothing = lambda args: []  # type: ignore[attr-defined]
    module.odd = lambda args: ["a text"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(instrumentation, "known", registry_of_few)
    monkeypatch.setattr(command, "entry_points", lambda group: points if group == GROUP else [])
    assert cli.main(["doctor", "--endpoint", f"{base}/good"]) == 1
    out = capsys.readouterr().out
    assert f"bad   store: no room, says {base}/good" in out
    assert "note  gone: could not be checked: AttributeError" in out
    assert "note  odd: could not be checked: TypeError: gave str instead of Check" in out


def test_endpoint_without_a_scheme() -> None:
    """The cure is named where somebody wrote only host and port."""
    check = next(endpoint.checks("localhost:4318"))
    assert check.level == "bad"
    assert "http://" in check.cure


def test_a_clock_that_is_off_is_noted(base: str) -> None:
    """The endpoint's Date header is compared with the time here; one that agrees is fine."""
    agrees = list(endpoint.checks(f"{base}/good"))[-1]
    assert (agrees.level, agrees.what) == ("ok", "clock")
    (off,) = endpoint._clock("Mon, 30 Nov 2026 12:00:00 GMT", 1_796_040_000.0 + 90)
    assert off.level == "note"
    assert "90 s ahead of" in off.found
    assert not list(endpoint._clock("yesterday", 0.0))


def test_integrations_are_tried_for_real(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fits is named with the version; one whose library lost a function says so; one may be switched off."""
    monkeypatch.setattr(instrumentation, "known", lambda: (*FIRST, *HTTP_CLIENTS))
    lines = {check.what: check for check in instrumentation.checks()}
    assert lines["integration httpx"].level == "ok"
    broken = Integration("httpx2", "integrations.nowhere", "httpx", "httpx")
    monkeypatch.setattr(instrumentation, "known", lambda: (broken,))
    (first, *_) = instrumentation.checks()
    assert first.level == "note"
    assert "AttributeError" in first.found
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "overclaim_httpx2")
    (first, *_) = instrumentation.checks()
    assert "off, as OTEL_PYTHON_DISABLED_INSTRUMENTATIONS says" in first.found


def test_a_mistyped_integration_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nobody would notice that it is still on."""
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "overclaim_langchian, requests")
    (check,) = instrumentation._mistyped()
    assert "did you mean overclaim_langchain?" in check.cure


@pytest.mark.parametrize(
    ("version", "tested", "within"),
    [("1.5.2", ">=1.2,<2", True), ("2.0", ">=1.2,<2", False), ("1.1.9", ">=1.2,<2", False), ("3.0.0rc1", ">=2", True)],
)
def test_versions_that_nobody_tested_are_said(version: str, tested: str, within: bool) -> None:
    """Release numbers against a range."""
    assert instrumentation._within(version, tested) is within


def test_two_instrumentors_of_one_library_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever installs both gets each span twice."""

    def points(group: str) -> list[types.SimpleNamespace]:
        makers = ("opentelemetry-instrumentation-langchain", "openinference-instrumentation-langchain")
        found = [types.SimpleNamespace(name="langchain", dist=types.SimpleNamespace(name=one)) for one in makers]
        return found if group == "opentelemetry_instrumentor" else []

    monkeypatch.setattr(instrumentation, "entry_points", points)
    (check,) = instrumentation._twice()
    assert "openinference-instrumentation-langchain and opentelemetry-instrumentation-langchain" in check.found
