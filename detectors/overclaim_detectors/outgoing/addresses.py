"""Which addresses a webhook may go to: a URL that somebody chose must not reach what only this machine can reach.

A name is resolved once for each message, all its addresses are checked, and the connection goes to one that was
checked, so a name that resolves to something else a moment later changes nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from overclaim._errors import InputError
from overclaim_detectors.outgoing.sink import Undelivered

_Address = IPv4Address | IPv6Address
# IPv4 in other clothes, by which the checks of IPv4 could be passed by: mapped, compatible, translated, 6to4, Teredo.
_DISGUISES: Final = tuple(
    map(ip_network, ("::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16",
                     "2001::/32"))
)  # fmt: skip
# Where clouds tell a machine its secrets, as far as that is no private or link-local address anyway.
_METADATA: Final = frozenset(map(ip_address, ("168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254")))
_NETWORKS: Final = tuple(map(ip_network, ("192.88.99.0/24", "fec0::/10")))  # of old relays, and site-local


class Allowed:
    """What is allowed beyond public addresses over https: hosts as URLs write them, and networks such as 10.1.0.0/16.

    Raises:
        InputError: an entry is neither.
    """

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self._hosts = {entry.lower().strip("[]") for entry in entries if "/" not in entry}
        try:
            self._networks = [ip_network(entry) for entry in entries if "/" in entry]
        except ValueError as error:
            raise InputError(f"--webhook-allow: {error}; give a host or a network such as 10.1.0.0/16") from None

    def host(self, host: str) -> bool:
        """Whether this host is allowed by its name, also over http."""
        return host.lower() in self._hosts

    def address(self, host: str, address: str) -> bool:
        """Whether a connection to this address of a host may be made."""
        plain = ip_address(address.partition("%")[0])
        inside = any(plain in network for network in self._networks)
        return self.host(host) or inside or is_public(plain)


def is_public(address: _Address) -> bool:
    """Whether it is an address of the internet, and neither IPv4 in disguise nor one of a cloud's own."""
    others = (*_DISGUISES, *_NETWORKS) if isinstance(address, IPv6Address) else _NETWORKS
    if address in _METADATA or any(address in network for network in others):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def resolved(host: str, port: int, allowed: Allowed) -> str:
    """An address of a host that may be connected to.

    Raises:
        Undelivered: the name is not known now, or one of its addresses is not allowed.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Undelivered(f"the name {host} cannot be resolved ({error})") from None
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    for address in addresses:
        if not allowed.address(host, address):
            raise Undelivered(
                f"{host} is {address}, which is no public address: --webhook-allow {host} allows it if it is meant"
            )
    return addresses[0]
