"""A relay in front of a server: it can speak TLS, and it can lose answers."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Relay:
    """Where it listens, and what it does. losing: how many answers to requests with `word` in them are lost."""

    port: int
    word: bytes = b"\0"
    losing: int = 0
    asked: list[bytes] = field(default_factory=list[bytes])

    def passes(self, request: bytes) -> bool:
        """Whether the answer to what was sent reaches its client."""
        if self.word not in request:
            return True
        self.asked.append(request)
        self.losing -= 1
        return self.losing < 0


@contextmanager
def relay(server: str, context: ssl.SSLContext | None = None) -> Iterator[Relay]:
    """Pass connections on to a server (host:port)."""
    host, _, port = server.rpartition(":")
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        made = Relay(listening.getsockname()[1])

        def run() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    threading.Thread(
                        target=_serve, args=(client, (host, int(port)), made, context), daemon=True
                    ).start()

        threading.Thread(target=run, daemon=True).start()
        yield made
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def _serve(client: socket.socket, server: tuple[str, int], made: Relay, context: ssl.SSLContext | None) -> None:
    with (
        suppress(OSError),
        closing(client),
        closing(socket.create_connection(server)) as upstream,
        closing(context.wrap_socket(client, server_side=True) if context else client) as plain,
    ):
        _pump(plain, upstream, made)


def _pump(client: socket.socket, upstream: socket.socket, made: Relay) -> None:
    request = b""
    waiting = select.poll()  # select() knows no descriptor above 1023, and the engine of the same process has many open
    for one in (client, upstream):
        waiting.register(one, select.POLLIN)
    while True:
        pending = isinstance(client, ssl.SSLSocket) and client.pending()
        if pending or client.fileno() in dict(waiting.poll()):
            data = client.recv(1 << 16)
            request += data
            upstream.sendall(data)
        else:
            data = upstream.recv(1 << 16)
            if request and not made.passes(request):
                return
            request = b""
            client.sendall(data)
        if not data:
            return


def certificate(directory: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate for 127.0.0.1 that signs itself, and what serves with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(2))
    signed = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    cert, private = directory / "server.crt", directory / "server.key"
    cert.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, private)
    return cert, context
