"""Keep web pages of other sites away: a browser on this machine can reach loopback, and DNS can point there.

A browser names the site: in Host, when a name was made to point here, and in Origin with every POST. A server that
listens beyond this machine is reached by any name; there a token keeps strangers out, and only Origin is looked at.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from overclaim_collector.addresses import is_address, is_loopback, named_host
from overclaim_collector.refusal import Reason, Refusal
from overclaim_collector.web.auth import Role, needed

_ELSEWHERE = "this address answers only on loopback names, such as http://127.0.0.1, and to no page of another site"
_NO_SITES = "data are not taken from web pages, nor under another machine's name"


class Origins:
    """Which requests come from where they may. beyond: the server listens beyond this machine."""

    def __init__(self, *, beyond: bool) -> None:
        self._beyond = beyond

    def refusal(self, request: Request) -> Refusal | None:
        """Why a request is refused for where it comes from, if it is."""
        wanted = needed(request.scope["path"])
        if wanted is Role.ANONYMOUS:
            return None
        if wanted is Role.SENDER:
            return Refusal(Reason.FORBIDDEN, _NO_SITES) if self._is_from_a_site(request) else None
        return Refusal(Reason.FORBIDDEN, _ELSEWHERE) if self._is_foreign(request) else None

    def _is_foreign(self, request: Request) -> bool:
        """Whether it was meant for another host than a loopback name or address, or comes from a page of one."""
        host = named_host(request.headers.get("host", ""))
        return not (self._beyond or is_loopback(host)) or self._from_elsewhere(request, host)

    def _is_from_a_site(self, request: Request) -> bool:
        """Whether it shows signs of a web page: less strict, for senders that reach us by an address or a proxy.

        Names below .internal belong to nobody on the internet; container engines call their host so.
        """
        host = named_host(request.headers.get("host", ""))
        ours = self._beyond or is_loopback(host) or is_address(host) or host.endswith(".internal")
        return ("host" in request.headers and not ours) or self._from_elsewhere(request, host)

    def _from_elsewhere(self, request: Request, host: str) -> bool:
        origin = request.headers.get("origin")
        if origin is None:  # browsers leave it out of a page's GET, and say this instead
            return request.headers.get("sec-fetch-site") == "cross-site"
        try:
            parts = urlsplit(origin)
        except ValueError:
            return True
        site = named_host(parts.netloc)
        ours = is_loopback(site) or (self._beyond and site != "" and site == host)
        return parts.scheme not in ("http", "https") or not ours
