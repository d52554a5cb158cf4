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

from overclaim import cli, doctor_command


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
    check = doctor_command.endpoint(f"{base}/{path}")
    assert check.level == level
    assert word in str(check)
    assert "abc123" not in str(check)


def test_unreachable_endpoint_names_the_cure() -> None:
    """A refused connection is bad, and the line says how to start an endpoint."""
    check = doctor_command.endpoint("http://user:pass@127.0.0.1:9")
    assert check.level == "bad"
    assert "overclaim serve" in str(check)
    assert "pass" not in str(check)


def test_exit_code_says_whether_all_is_well(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0 when spans would arrive, 1 when not; the report is plain lines."""
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
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true", "note"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY", "note"),
    ],
)
def test_variables_that_switch_something_off(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, level: str
) -> None:
    """Variables that disable us or change what leaves are named."""
    monkeypatch.setenv(name, value)
    assert level in {check.level for check in doctor_command.environment()}


def test_a_check_of_somebody_else_may_fail_alone() -> None:
    """A check that cannot be loaded becomes a note."""

    def broken() -> doctor_command.Doctor:
        raise ImportError("no such module")

    (check,) = doctor_command._more("store", broken, None)  # type: ignore[arg-type]
    assert check.level == "note"
    assert "no such module" in str(check)


def test_what_a_failing_check_had_found_is_shown() -> None:
    """A check that fails half-way keeps what it said, and its own failure is a note without secrets."""

    def halfway(_: argparse.Namespace) -> Iterator[doctor_command.Check]:
        yield doctor_command.Check("bad", "store", "locked")
        raise OSError("password=hunter2 is wrong")

    first, second = doctor_command._more("store", lambda: halfway, argparse.Namespace())
    assert (first.level, second.level) == ("bad", "note")
    assert "hunter2" not in str(second)


def test_checks_by_entry_point(base: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Entry points of the group `overclaim.doctor` add lines and decide the exit code, each on its own."""
    names = ("store", "nothing", "odd", "gone")
    points = [EntryPoint(name, f"{__name__}_checks:{name}", doctor_command.GROUP) for name in names]
    module = types.ModuleType(f"{__name__}_checks")
    module.store = lambda args: [doctor_command.Check("bad", "store", f"no room, says {args.endpoint}")]  # type: ignore[attr-defined]
    module.nothing = lambda args: []  # type: ignore[attr-defined]
    module.odd = lambda args: ["a text"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(doctor_command, "entry_points", lambda group: points if group == doctor_command.GROUP else [])
    assert cli.main(["doctor", "--endpoint", f"{base}/good"]) == 1
    out = capsys.readouterr().out
    assert f"bad   store: no room, says {base}/good" in out
    assert "note  gone: could not be checked: AttributeError" in out
    assert "note  odd: could not be checked: TypeError: gave str instead of Check" in out


def test_endpoint_without_a_scheme() -> None:
    """The cure is named where somebody wrote only host and port."""
    check = doctor_command.endpoint("localhost:4318")
    assert check.level == "bad"
    assert "http://" in check.cure
