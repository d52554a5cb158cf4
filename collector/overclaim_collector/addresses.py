"""Addresses to listen on, and those that requests name."""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address

_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+))(?::\d{1,5})?", re.ASCII)


def is_loopback(host: str) -> bool:
    """Whether a host name or address stays on this machine."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def named_host(header: str) -> str:
    """The host in a Host header, to the letter: "" for whatever is more or less than a name or address with a port."""
    found = _HOST.fullmatch(header)
    return (found[1] or found[2]).lower() if found else ""


def is_address(host: str) -> bool:
    """Whether this is an IP address: no name, which its owner can point anywhere."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket bound to the address and listening, so that nobody else gets it.

    Raises:
        OSError: it cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, the event loop knows it for TCP, and sends without Nagle's delay of 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host.strip("[]"), port))
        sock.listen(1024)
    except OSError:
        sock.close()
        raise
    return sock


def with_port(host: str, port: int) -> str:
    """host:port, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def reachable(host: str) -> str:
    """Where this machine itself reaches a server that listens on `host`: all addresses include the loopback one."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1"}.get(host, host)
