"""HTTP requests inside a tool: the status of the answer, or that there was none. No span is made and no body is read.

What is noted is what the spans of the official instrumentors would show (see evidence/http.py), so that a request that
is seen both ways counts once. Of clients that are built upon each other the outermost speaks; where an instrumentor is
at work, that one does.

    requests, urllib    the URL that was asked for, with the status of the last answer after redirects
    aiohttp             the same
    httpx, httpx2       each answer on the way
    urllib3             each answer on the way, and redirects that do not end
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar, Token
from importlib import import_module
from typing import Any, NamedTuple, cast
from urllib.parse import urljoin

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import report
from overclaim._record import Record
from overclaim._wrapping import Arguments
from overclaim.evidence.http import bare_url
from overclaim.evidence.inside import missing, note, shown_by, tool_inside
from overclaim.integrations.patching import Patches
from overclaim.outcome.results.observing import http_evidence, no_answer_evidence

_REFUSED = 400
_MOST_HOPS = 20
_MCP_HEADERS = ("mcp-protocol-version", "mcp-session-id")
_SCHEMES = ("http:", "https:")
# The request that is on its way here. A task that begins meanwhile inherits it, so it is asked whether it still is, and
# for which call.
_asking: ContextVar[_Request | None] = ContextVar("overclaim_http", default=None)


class Asked(NamedTuple):
    """What is asked for: `POST https://api.example.com/payments`."""

    method: str
    url: str


class Answered(NamedTuple):
    """A status, and what was asked for to get it."""

    method: str
    url: str
    status: int


class Client(NamedTuple):
    """How one client is read.

    module, where: the function that sends a request, such as "Session.send".
    asked: finds in its arguments what is asked for, None where it is no HTTP, or not the tool's own.
    answers: finds in its result the answers, in the order in which they came.
    passes: whether it only hands on to a layer below that is read as well, so that all it tells is that it failed.
    """

    module: str
    where: str
    asked: Callable[[Arguments, dict[str, Any]], Asked | None]
    answers: Callable[[Any, Asked], Iterable[Answered]]
    passes: bool = False


class _Request:
    """One request on its way, inside a tool."""

    __slots__ = ("_asked", "_client", "_token", "_tool", "context")

    def __init__(self, client: Client, tool: Record, asked: Asked) -> None:
        self.context = None
        self._client, self._tool, self._asked = client, tool, asked
        self._token: Token[_Request | None] | None = None if client.passes else _asking.set(self)

    def hides(self, tool: Record) -> bool:
        """Whether it is still on its way for this call, so that what layers below it do is seen with it."""
        return self._token is not None and self._tool is tool

    def returned(self, result: object) -> None:
        """Note the answers."""
        self._leave()
        if self._client.passes:
            return
        try:
            for one in self._client.answers(result, self._asked):
                self._note(Asked(one.method, one.url), one.status, "")
        except Exception as error:
            report(f"evidence {self._client.module}", error)

    def raised(self, error: BaseException) -> None:
        """Note the status that the error tells of, or that there was no answer. A cancelled request says nothing."""
        self._leave()
        if not isinstance(error, Exception):
            return
        try:
            self._note(_asked_last(error) or self._asked, _status_of(error), type(error).__qualname__)
        except Exception as fault:
            report(f"evidence {self._client.module}", fault)

    def abandoned(self, result: object) -> None:
        """No request is a generator."""
        self._leave()

    def _note(self, asked: Asked, status: int, why: str) -> None:
        url, span_id = bare_url(asked.url), shown_by(self._tool)
        if status >= _REFUSED or (status and not why):
            found = http_evidence(asked.method, url, status, facts=self._tool.facts, span_id=span_id)
        else:
            found = no_answer_evidence(asked.method, url, why, span_id=span_id)
        note(self._tool, found)

    def _leave(self) -> None:
        token, self._token = self._token, None
        if token is not None:
            try:
                _asking.reset(token)
            except ValueError:  # closed in another context
                return


def _status_of(error: Exception) -> int:
    """The status of the answer that an error holds, 0 where there is none."""
    for holder in (getattr(error, "response", None), error):
        for name in ("status_code", "status"):
            status = getattr(holder, name, None)
            if isinstance(status, int):
                return status
    return 0


def _asked_last(error: Exception) -> Asked | None:
    """The request of the hop that failed, where the error of an httpx client tells it."""
    request: Any = getattr(error, "_request", None)
    return Asked(request.method, str(request.url)) if request is not None else None


class Evidence:
    """The switch of one client: all the functions of it that send requests."""

    def __init__(self, name: str, *clients: Client) -> None:
        self._clients = clients
        self._patches = Patches(f"evidence {name}")

    def probe(self) -> str:
        """Say why it cannot be used, "" where it can."""
        return "already switched on" if self._patches.on else missing(self._clients[0].module)

    def on(self, _: TracerProvider) -> None:
        """Look at the requests."""
        try:
            for client in self._clients:
                kind, function = client.where.split(".")
                owner = getattr(import_module(client.module), kind)
                self._patches.around(owner, function, _begin(client))
        except AttributeError:
            self._patches.undo()
            raise

    def off(self) -> None:
        """Look away again."""
        self._patches.undo()


def _begin(client: Client) -> Callable[[Arguments, dict[str, Any]], _Request | None]:
    def begin(args: Arguments, kwargs: dict[str, Any]) -> _Request | None:
        tool = tool_inside(http=True)
        if tool is None or ((around := _asking.get()) is not None and around.hides(tool)):
            return None
        asked = client.asked(args, kwargs)
        return None if asked is None else _Request(client, tool, asked)

    return begin


def _argument(args: Arguments, kwargs: dict[str, Any], at: int, name: str) -> Any:
    return args[at] if len(args) > at else kwargs.get(name)


def _prepared(args: Arguments, kwargs: dict[str, Any]) -> Asked | None:
    """Of requests and httpx, whose first argument is a request."""
    request = _argument(args, kwargs, 1, "request")
    return None if _carries_mcp(request) else Asked(request.method or "", str(request.url))


def _carries_mcp(request: Any) -> bool:
    """Whether it is the transport of the Model Context Protocol, which takes a 405 for "no": the call itself tells."""
    return any(name in request.headers for name in _MCP_HEADERS)


def _pooled(args: Arguments, kwargs: dict[str, Any]) -> Asked | None:
    """Of a pool of urllib3, which knows the host, while the URL may be a path."""
    pool: Any = args[0]
    url = str(_argument(args, kwargs, 2, "url"))
    if url.startswith("/"):
        usual = {"http": 80, "https": 443}.get(pool.scheme)
        host = pool.host if pool.port in (None, usual) else f"{pool.host}:{pool.port}"
        url = f"{pool.scheme}://{host}{url}"
    return Asked(str(_argument(args, kwargs, 1, "method")), url)


def _managed(args: Arguments, kwargs: dict[str, Any]) -> Asked | None:
    """Of the manager of such pools."""
    return Asked(str(_argument(args, kwargs, 1, "method")), str(_argument(args, kwargs, 2, "url")))


def _opened(args: Arguments, kwargs: dict[str, Any]) -> Asked | None:
    """Of urllib, which opens other things as well."""
    given, data = _argument(args, kwargs, 1, "fullurl"), _argument(args, kwargs, 2, "data")
    if isinstance(given, str):
        asked = Asked("GET" if data is None else "POST", given)
    else:
        asked = Asked(given.get_method() if data is None or given.data is not None else "POST", given.full_url)
    return asked if asked.url.lower().startswith(_SCHEMES) else None


def _in_session(args: Arguments, kwargs: dict[str, Any]) -> Asked | None:
    """Of a session of aiohttp, which may have a base URL."""
    base = getattr(args[0], "_base_url", None)
    url = str(_argument(args, kwargs, 2, "str_or_url"))
    return Asked(str(_argument(args, kwargs, 1, "method")), urljoin(str(base), url) if base is not None else url)


def _final(result: Any, asked: Asked) -> Iterable[Answered]:
    """The last answer, whatever the client calls its status."""
    for name in ("status_code", "status"):
        status = getattr(result, name, None)
        if isinstance(status, int):
            return [Answered(asked.method, asked.url, status)]
    return []


def _first_url(result: Any, asked: Asked) -> Iterable[Answered]:
    """The last answer of aiohttp, for the URL as it normalised it."""
    first = next(iter(getattr(result, "history", ())), result)
    return _final(result, Asked(asked.method, str(first.url)))


def _hops(result: Any, asked: Asked) -> Iterable[Answered]:
    """All answers of httpx, those of redirects and challenges first."""
    answers = (*cast("list[Any]", result.history)[-_MOST_HOPS:], result)
    return [Answered(one.request.method, str(one.request.url), one.status_code) for one in answers]


REQUESTS = Evidence("requests", Client("requests", "Session.send", _prepared, _final))
HTTPX = Evidence(
    "httpx",
    Client("httpx", "Client.send", _prepared, _hops),
    Client("httpx", "AsyncClient.send", _prepared, _hops),
)
HTTPX2 = Evidence(
    "httpx2",
    Client("httpx2", "Client.send", _prepared, _hops),
    Client("httpx2", "AsyncClient.send", _prepared, _hops),
)
URLLIB3 = Evidence(
    "urllib3",
    Client("urllib3", "HTTPConnectionPool.urlopen", _pooled, _final),
    Client("urllib3", "PoolManager.urlopen", _managed, _final, passes=True),
)
URLLIB = Evidence("urllib", Client("urllib.request", "OpenerDirector.open", _opened, _final))
AIOHTTP = Evidence("aiohttp", Client("aiohttp", "ClientSession._request", _in_session, _first_url))
