"""HTTP client spans -> evidence. Reads the old and the new attribute names; URLs lose query and user info."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from overclaim.outcome.model import Evidence, Grade, Outcome, ToolFacts
from overclaim.outcome.results import http_evidence


def evidence(attributes: Mapping[str, object], *, failed: bool, span_id: str, facts: ToolFacts) -> Evidence | None:
    """What an HTTP client span says, None for other spans. No answer at all is a failure, too."""
    method = attributes.get("http.request.method") or attributes.get("http.method")
    if not isinstance(method, str):
        return None
    url = _url(attributes)
    status = attributes.get("http.response.status_code", attributes.get("http.status_code"))
    if isinstance(status, int):
        return http_evidence(method, url, status, facts=facts, span_id=span_id)
    return _no_answer(method, url, attributes, span_id) if failed else None


def bare_url(url: str) -> str:
    """The URL without user info, query and fragment: these may hold secrets."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return url.partition("?")[0].partition("#")[0].rpartition("@")[2]
    place = f"{host}:{port}" if port else host
    return f"{parts.scheme}://{place}{parts.path}" if parts.scheme else parts.path


def _url(attributes: Mapping[str, object]) -> str:
    full = attributes.get("url.full") or attributes.get("http.url")
    if isinstance(full, str):
        return bare_url(full)
    host = attributes.get("server.address") or attributes.get("net.peer.name") or ""
    path = attributes.get("url.path") or attributes.get("http.target") or ""
    return bare_url(f"//{host}{path}")


def _no_answer(method: str, url: str, attributes: Mapping[str, object], span_id: str) -> Evidence:
    why = attributes.get("error.type")
    return Evidence(
        "exception", "http.no_response", Outcome.FAILURE, Grade.STRUCTURED,
        value=why if isinstance(why, str) else "", target=f"{method} {url}", span_id=span_id,
    )  # fmt: skip
