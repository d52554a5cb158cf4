from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import grpc
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from relay import relay
from serving import OWNER, SENDER, TOKENS, Served, served

from overclaim._errors import InputError
from overclaim.cli import main
from overclaim_collector.receivers import grpc as grpc_receiver
from overclaim_collector.tls import Tls
from overclaim_collector.web import http_server

HANDSHAKE_SECONDS = 0.5


@dataclass(frozen=True)
class Pair:
    """A certificate for 127.0.0.1 and localhost, signed by itself, and its key."""

    cert: Path
    key: Path


def pair(
    directory: Path,
    name: str,
    days: tuple[int, int] = (-1, 30),
    passphrase: bytes = b"",
    address: str = "127.0.0.1",
) -> Pair:
    """Make such a pair, or one for another address, which is valid from and until so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address(address))])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now + timedelta(days[0])).not_valid_after(now + timedelta(days[1]))
    signed = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    found = Pair(directory / f"{name}.crt", directory / f"{name}.key")
    found.cert.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    locked = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    found.key.write_bytes(key.private_bytes(pem, pkcs8, locked))
    found.key.chmod(0o600)
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A good pair."""
    return pair(tmp_path_factory.mktemp("tls"), "good")


@pytest.fixture(scope="module")
def server(files: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that speaks TLS, wants tokens, and has little patience with handshakes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_server, "_HANDSHAKE_SECONDS", HANDSHAKE_SECONDS)
        options = dict(grpc_receiver._OPTIONS)  # pyright: ignore[reportPrivateUsage]
        assert options["grpc.server_handshake_timeout_ms"] == 10_000
        options["grpc.server_handshake_timeout_ms"] = int(HANDSHAKE_SECONDS * 1000)
        patch.setattr(grpc_receiver, "_OPTIONS", tuple(options.items()))
        with served(tmp_path_factory.mktemp("tls-store"), tls_cert=files.cert, tls_key=files.key, **TOKENS) as running:
            yield running


def exporter(server: Served, files: Pair, kind: str) -> SpanExporter:
    """A stock exporter that trusts the certificate and shows the token for sending."""
    headers = {"authorization": f"Bearer {SENDER}"}
    if kind == "http":
        return HttpExporter(endpoint=f"{server.url}/v1/traces", certificate_file=str(files.cert), headers=headers)
    credentials = grpc.ssl_channel_credentials(files.cert.read_bytes())
    return GrpcExporter(endpoint=f"https://{server.grpc}", credentials=credentials, headers=headers)


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_stock_exporters_deliver_over_tls(
    server: Served, files: Pair, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans of the stock exporters arrive, with the token for sending, on both transports."""
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # the exporter's library would trust those instead
        monkeypatch.delenv(variable, raising=False)
    assert server.url.startswith("https://127.0.0.1:")
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter(server, files, kind)))
    with provider.get_tracer("test").start_as_current_span(f"over-tls-{kind}"):
        pass
    provider.shutdown()
    assert server.server
    sql = "SELECT count() FROM otel_traces WHERE SpanName = {name:String}"
    assert server.server.store.query(sql, {"name": f"over-tls-{kind}"}).rows == [(1,)]


def test_commands_ask_over_tls(
    server: Served, files: Pair, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`overclaim query --store https://...` trusts what SSL_CERT_FILE names, and nothing unknown."""
    monkeypatch.setenv("OVERCLAIM_TOKEN", OWNER)
    question = ["query", "SELECT 1", "--store", server.url]
    assert main(question) == 4
    said = capsys.readouterr().err
    assert "its certificate cannot be verified (self-signed certificate): set SSL_CERT_FILE to the file of" in said
    monkeypatch.setenv("SSL_CERT_FILE", str(files.cert))
    assert main(question) == 0


def test_commands_find_the_server_that_owns_a_store_over_tls(server: Served, files: Pair) -> None:
    """By the path of the store, as without TLS; in processes of their own, since this one has the store open."""
    assert server.server
    environment = {"OVERCLAIM_TOKEN": OWNER, "PATH": os.environ["PATH"]}
    question = [sys.executable, "-m", "overclaim.cli", "query", "SELECT 1 AS One", "--format", "csv"]
    question += ["--store", server.server.store.url.removeprefix("chdb://")]
    unknown = subprocess.run(question, env=environment, capture_output=True, text=True, timeout=60)
    assert unknown.returncode == 4
    assert f"{server.url} is not trusted" in unknown.stderr
    assert "SSL_CERT_FILE" in unknown.stderr
    known = environment | {"SSL_CERT_FILE": str(files.cert)}
    answer = subprocess.run(question, env=known, capture_output=True, text=True, timeout=60)
    assert (answer.returncode, answer.stdout.split()) == (0, ["One", "1"]), answer.stderr


def test_a_certificate_for_another_name_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to write instead: nobody should switch verification off."""
    other = pair(tmp_path, "other", address="127.0.0.2")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(other.cert, other.key)
    monkeypatch.setenv("SSL_CERT_FILE", str(other.cert))
    with (
        socket.create_server(("127.0.0.1", 0)) as behind,
        relay(f"127.0.0.1:{behind.getsockname()[1]}", context) as between,
    ):
        assert main(["query", "SELECT 1", "--store", f"https://127.0.0.1:{between.port}"]) == 4
    said = capsys.readouterr().err
    assert "its certificate is for another name" in said
    assert f"use --store https://NAME:{between.port}, with a name that stands in it" in said


def test_who_forgets_https_is_told(server: Served, capsys: pytest.CaptureFixture[str]) -> None:
    """From who asks where nobody is."""
    assert main(["query", "SELECT 1", "--store", server.url.replace("https", "http")]) == 4
    assert "with --tls-cert? Then its address begins with https://" in capsys.readouterr().err


def test_nothing_answers_without_tls(server: Served) -> None:
    """A request in plain text gets no answer, on neither port."""
    for address in (server.url.removeprefix("https://"), server.grpc):
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://{address}/healthz", trust_env=False)


def spoken(address: str, files: Pair, version: ssl.TLSVersion) -> bool:
    """Whether a server shakes hands in this version of TLS, with a client that would take any cipher."""
    context = ssl.create_default_context(cafile=files.cert)
    context.set_alpn_protocols(["h2", "http/1.1"])
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of old versions
        context.minimum_version = context.maximum_version = version
    host, _, port = address.partition(":")
    with closing(socket.create_connection((host, int(port)), 10)) as raw:
        try:
            context.wrap_socket(raw, server_hostname=host).close()
        except OSError:
            return False
    return True


def test_old_versions_of_tls_are_refused(server: Served, files: Pair) -> None:
    """TLS 1.2 is spoken, 1.1 is not, on both ports; the floor is ours, whatever this machine's OpenSSL allows."""
    assert Tls(files.cert, files.key).context.minimum_version is ssl.TLSVersion.TLSv1_2
    for address in (server.url.removeprefix("https://"), server.grpc):
        assert spoken(address, files, ssl.TLSVersion.TLSv1_3)
        assert spoken(address, files, ssl.TLSVersion.TLSv1_2)
        assert not spoken(address, files, ssl.TLSVersion.TLSv1_1)


def test_a_handshake_that_never_ends_is_given_up(server: Served) -> None:
    """Who connects and says nothing is cut off, on both ports; half a second here, ten in earnest."""
    for address in (server.url.removeprefix("https://"), server.grpc):
        host, _, port = address.partition(":")
        begun = time.monotonic()
        with closing(socket.create_connection((host, int(port)), 20)) as raw:
            raw.sendall(b"\x16\x03\x01")  # the first bytes of a hello
            while raw.recv(1000):
                pass
        assert time.monotonic() - begun < 10


def test_files_that_cannot_be_used_are_told_apart(files: Pair, tmp_path: Path) -> None:
    """Missing, exchanged, expired, too early, locked, or no PEM: each error names the file and what is wrong."""
    other, locked = pair(tmp_path, "other"), pair(tmp_path, "locked", passphrase=b"secret")
    expired, early = pair(tmp_path, "expired", (-30, -1)), pair(tmp_path, "early", (1, 30))
    noise = tmp_path / "noise"
    noise.write_bytes(b"no PEM")
    for cert, key, said in (
        (tmp_path / "none", files.key, "cannot read --tls-cert .*none: No such file"),
        (files.cert, tmp_path / "none", "cannot read --tls-key .*none: No such file"),
        (files.cert, other.key, "--tls-key .*other.key is not the key of --tls-cert .*good.crt"),
        (expired.cert, expired.key, "--tls-cert .*expired.crt has expired"),
        (early.cert, early.key, "--tls-cert .*early.crt is not valid yet"),
        (locked.cert, locked.key, "no passphrase"),
        (noise, files.key, "cannot use --tls-cert .*noise"),
        (files.cert, noise, "cannot use .*--tls-key .*noise"),
        (tmp_path, files.key, "cannot read --tls-cert"),
    ):
        with pytest.raises(InputError, match=said):
            Tls(cert, key)


def test_a_key_that_others_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As with tokens: a word in the log, and the cure."""
    made = pair(tmp_path, "open")
    Tls(made.cert, made.key)
    assert caplog.text == ""
    made.key.chmod(0o640)
    Tls(made.cert, made.key)
    assert f"chmod 600 {made.key}" in caplog.text


def test_a_certificate_without_a_key_is_refused(files: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    """`overclaim serve` says that they go together, and ends with 2."""
    assert main(["serve", "--tls-cert", str(files.cert)]) == 2
    assert "--tls-cert and --tls-key go together" in capsys.readouterr().err
