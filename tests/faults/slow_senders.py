"""Senders that begin a request and then send nothing more."""

from __future__ import annotations

import socket
import time
from typing import Self


def head(path: str, length: int, media_type: str = "application/x-protobuf") -> bytes:
    """The header of a POST that announces a body."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {media_type}", f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


HALF_BODY = head("/v1/traces", 1000) + b"x"
HALF_HEADER = b"POST /v1/traces HTTP/1.1\r\nHost:"


class Stalled:
    """So many connections to a port on loopback that send `begin`."""

    def __init__(self, port: int, begin: bytes, count: int = 1) -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        for sender in self._sockets:
            sender.sendall(begin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for sender in self._sockets:
            sender.close()

    def answer(self, timeout: float) -> tuple[bytes, float]:
        """What the first one is told, and after how many seconds; empty where it is cut off."""
        begun, sender = time.monotonic(), self._sockets[0]
        sender.settimeout(timeout)
        return sender.recv(1000), time.monotonic() - begun
