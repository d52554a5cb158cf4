"""HTTP client spans -> evidence. Reads the old and the new attribute names; URLs lose query and user info."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from overclaim.outcome.model import Evidence, ToolFacts
from overclaim.outcome.results.observing import http_evidence, no_answer_evidence

_REFUSED = 400
_MATRIX = re.compile(r";[^/]*")


def evidence(attributes: Mapping[str, object], *, failed: bool, span_id: str, facts: ToolFacts) -> Evidence | None:
    """What an HTTP client span says, None for other spans. No answer at all is a failure, too."""
    method = attributes.get("http.request.method") or attributes.get("http.method")
    if not isinstance(method, str):
        return None
    url = _url(attributes)
    status = attributes.get("http.response.status_code", attributes.get("http.status_code"))
    if isinstance(status, int) and not (failed and status < _REFUSED):
        return http_evidence(method, url, status, facts=facts, span_id=span_id)
    # A good status on a failed span: the answer broke off, or the redirects did not end.
    why = attributes.get("error.type")
    return no_answer_evidence(method, url, why if isinstance(why, str) else "", span_id=span_id) if failed else None


def bare_url(url: str) -> str:
    """The URL without user info, query, fragment and matrix parameters: these may hold secrets. The path stays."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # with an @ it cannot be told what of it is a password
        return "" if "@" in url else _MATRIX.sub("", re.split(r"[?#]", url, maxsplit=1)[0])
    place = f"[{host}]" if ":" in host else host
    place = f"{place}:{port}" if port else place
    path = _MATRIX.sub("", parts.path)
    return f"{parts.scheme}://{place}{path}" if parts.scheme else path


def _url(attributes: Mapping[str, object]) -> str:
    full = attributes.get("url.full") or attributes.get("http.url")
    if isinstance(full, str):
        return bare_url(full)
    host = attributes.get("server.address") or attributes.get("net.peer.name") or ""
    path = attributes.get("url.path") or attributes.get("http.target") or ""
    return bare_url(f"//{host}{path}")
