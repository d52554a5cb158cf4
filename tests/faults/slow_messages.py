"""gRPC senders that announce a message, send all of it but the last byte, and then nothing more.

Written by hand, since no library does so: HTTP/2 with just what that takes.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Final, Self

EXPORT: Final = b"/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_ACK, _END_HEADERS, _STREAM = 1, 4, 1
_FRAME, _WINDOW, _INITIAL_WINDOW = 16_384, 65_535, 4
_FIELDS: Final = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", EXPORT),
    (b":authority", b"localhost"),
    (b"content-type", b"application/grpc"),
    (b"te", b"trailers"),
]


class StalledMessages:
    """So many connections to a gRPC port on loopback, each with a message of `size` bytes that never ends."""

    def __init__(self, port: int, size: int, count: int) -> None:
        self._senders = [_Sender(port, size) for _ in range(count)]
        self._threads = [threading.Thread(target=sender.run, daemon=True) for sender in self._senders]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for sender in self._senders:
            sender.close()
        for thread in self._threads:
            thread.join(5)

    def settle(self, seconds: float) -> None:
        """Wait until each has sent all that it will, or was told to come again."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not all(sender.sent or sender.ended for sender in self._senders):
            time.sleep(0.05)

    @property
    def refused(self) -> int:
        """How many were told to come again, or were cut off."""
        return sum(sender.ended for sender in self._senders)


class _Sender:
    def __init__(self, port: int, size: int) -> None:
        self.sent = self.ended = False
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._left = size - 1
        self._windows = [_WINDOW, _WINDOW]  # of the connection, and of the stream

    def close(self) -> None:
        """Hang up."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def run(self) -> None:
        """Send, and listen until the end."""
        with suppress(OSError):
            self._begin()
            while not self.ended:
                self._send()
                self._hear()
        self.ended = True

    def _begin(self) -> None:
        fields = b"".join(b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in _FIELDS)
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0, 0, b""))
        self._socket.sendall(_frame(_HEADERS, _END_HEADERS, _STREAM, fields))
        self._data(b"\x00" + struct.pack(">I", self._left + 1))

    def _send(self) -> None:
        while (size := min(self._left, *self._windows, _FRAME)) > 0:
            self._data(bytes(size))
            self._left -= size
        self.sent = not self._left

    def _data(self, content: bytes) -> None:
        self._windows = [window - len(content) for window in self._windows]
        self._socket.sendall(_frame(_DATA, 0, _STREAM, content))

    def _hear(self) -> None:
        head = self._exactly(9)
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        content = self._exactly(int.from_bytes(head[:3], "big"))
        if kind == _WINDOW_UPDATE:
            self._windows[min(stream, 1)] += int.from_bytes(content, "big")
        elif kind == _SETTINGS and not flags & _ACK:
            self._settings(content)
        elif kind == _PING and not flags & _ACK:
            self._socket.sendall(_frame(_PING, _ACK, 0, content))
        self.ended = kind in (_HEADERS, _RESET, _GOAWAY)

    def _settings(self, content: bytes) -> None:
        for name, value in struct.iter_unpack(">HI", content):
            if name == _INITIAL_WINDOW:
                self._windows[1] += value - _WINDOW
        self._socket.sendall(_frame(_SETTINGS, _ACK, 0, b""))

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self._socket.recv(size - len(found))
            if not more:
                raise OSError("the other end hung up")
            found += more
        return found


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content
