"""Keep web pages of other sites away: a browser on this machine can reach loopback, and DNS can point there.

A browser names the site: in Host, when a name was made to point here, and in Origin with every POST.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from overclaim_collector.addresses import is_address, is_loopback, named_host


def is_foreign(request: Request) -> bool:
    """Whether a request was meant for another host than a loopback name or address, or comes from a page of one."""
    return not is_loopback(named_host(request.headers.get("host", ""))) or _from_elsewhere(request)


def is_from_a_site(request: Request) -> bool:
    """Whether a request shows signs of a web page: less strict, for senders that reach us by an address or a proxy.

    Names below .internal belong to nobody on the internet; container engines call their host so.
    """
    host = named_host(request.headers.get("host", ""))
    ours = is_loopback(host) or is_address(host) or host.endswith(".internal")
    return ("host" in request.headers and not ours) or _from_elsewhere(request)


def _from_elsewhere(request: Request) -> bool:
    origin = request.headers.get("origin")
    if origin is None:
        return False
    try:
        parts = urlsplit(origin)
    except ValueError:
        return True
    return parts.scheme not in ("http", "https") or not is_loopback(named_host(parts.netloc))
