"""A postcondition that is one GET request, declared as data.

What a call is about may end up in the path and the query, always encoded, and never in scheme, host or port: those
stay as they were declared, also across redirects. Headers come from the environment.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from typing import IO, Any, Final
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from overclaim._postconditions import Answer
from overclaim._version import __version__
from overclaim.outcome.conditions import MISSING, UNREAD, Result, comparisons, field, holds, path_of, telling
from overclaim.outcome.model import Condition, Outcome
from overclaim.outcome.results.payload import parse

MAX_BODY: Final = 1 << 20
_MAX_VALUE: Final = 300
_MAX_REDIRECTS: Final = 3
_SLOT: Final = re.compile(r"\{([^{}]*)\}")
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_GONE: Final = (404, 410)
_CHARSETS: Final = ("utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16", "utf-32")  # others may take for ever


class _Unusable(Exception):
    """The request cannot be made; the message is one word for the evidence."""


@dataclass(frozen=True, slots=True)
class HttpCheck:
    """GET `url` with its slots filled; it holds where the status is one of `status` and the body meets `where`.

    Any other 2xx, 404 and 410 say that it is not so; whatever else comes back is no answer, and neither is a page of
    HTML where `where` asks for fields. timeout and pause are in
    seconds, for each of the attempts and between them; it is asked again until it holds.
    """

    url: str
    status: frozenset[int] = frozenset({200})
    where: Condition | None = None
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = 3.0
    attempts: int = 1
    pause: float = 1.0

    @property
    def longest(self) -> float:
        """Seconds that it may take, with a little more for the machine."""
        return self.attempts * self.timeout + (self.attempts - 1) * self.pause + 1.0

    def __call__(self, arguments: Mapping[str, Any], result: object) -> Answer:
        """Ask, and ask again; gives the last answer."""
        answer = Answer(Outcome.UNKNOWN, "")
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(self.pause)
            answer = self._once(arguments, result)
            if answer.outcome is Outcome.SUCCESS:
                break
        return answer

    def _once(self, arguments: Mapping[str, Any], result: object) -> Answer:
        try:
            request = Request(filled(self.url, arguments, result), headers=self._headers(), method="GET")
            with _open(request, self.timeout) as response:
                return self._read(response, arguments)
        except _Unusable as error:
            return Answer(Outcome.UNKNOWN, str(error))
        except (OSError, HTTPException, ValueError) as error:
            return Answer(Outcome.UNKNOWN, _why(error))

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"overclaim/{__version__}"}
        return headers | {name: _from_environment(text) for name, text in self.headers}

    def _read(self, response: Any, arguments: Mapping[str, Any]) -> Answer:
        status = int(response.status)
        if status not in self.status:
            said = status // 100 == 2 or status in _GONE
            return Answer(Outcome.FAILURE if said else Outcome.UNKNOWN, str(status))
        if self.where is None:
            return Answer(Outcome.SUCCESS, str(status))
        text = _body(response, time.monotonic() + self.timeout)
        if isinstance(parse(text), str) and any(one.path for one in comparisons(self.where)):
            return Answer(Outcome.UNKNOWN, f"{status} no_json")  # a login page, or JSON that was cut off
        body = Result(text)
        answer = holds(self.where, body, arguments)
        outcome = Outcome.UNKNOWN if answer is None else Outcome.SUCCESS if answer else Outcome.FAILURE
        return Answer(outcome, f"{status} {telling(self.where, body, arguments, answer)}")


def slots(url: str) -> list[str]:
    """The names in the curly braces of a template."""
    return _SLOT.findall(url)


def filled(url: str, arguments: Mapping[str, Any], result: object) -> str:
    """The URL with the arguments of a call, and fields of its result, in the places of their slots."""
    query = url.find("?")
    whole = Result(result)

    def value(match: re.Match[str]) -> str:
        text = _text(_value(match[1], arguments, whole))
        in_path = query < 0 or match.start() < query
        if not text or len(text) > _MAX_VALUE or (in_path and {".", ".."} & set(re.split(r"[/\\]", text))):
            raise _Unusable(f"unusable_{match[1]}")
        return quote(text, safe="")

    return _SLOT.sub(value, url)


def variables(text: str) -> list[str]:
    """The names of the environment variables in the value of a header."""
    return _VARIABLE.findall(text)


def _value(name: str, arguments: Mapping[str, Any], result: Result) -> object:
    if name.startswith("result."):
        return result.field(path_of(name.removeprefix("result.")) or ())
    return field(dict(arguments), path_of(name) or ())


def _text(value: object) -> str:
    if value is MISSING or value is UNREAD or not isinstance(value, str | int | float):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _from_environment(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], "").strip()  # files of secrets end with a line break
        if not found:
            raise _Unusable(f"no_{match[1]}")
        if not (found.isascii() and found.isprintable()):
            raise _Unusable(f"unusable_{match[1]}")
        return found

    return _VARIABLE.sub(value, text)


class _SameOrigin(HTTPRedirectHandler):
    """Follows redirects on the same scheme, host and port."""

    max_redirections = _MAX_REDIRECTS

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        """The next request, unless it would go elsewhere."""
        if origin(newurl) != origin(req.full_url):
            fp.close()
            raise _Unusable("redirect_elsewhere")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


def _opener() -> OpenerDirector:
    return build_opener(_SameOrigin())


def _open(request: Request, timeout: float) -> Any:
    """The response, whatever its status."""
    try:
        return _opener().open(request, timeout=timeout)
    except HTTPError as error:
        return error


def _body(response: Any, deadline: float) -> str:
    headers: Message = response.headers
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        raise _Unusable("encoded")  # nobody asked for that, and it may be endless
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read1(65_536):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BODY:
            raise _Unusable("too_large")
        if time.monotonic() > deadline:
            raise _Unusable("timeout")
    charset = headers.get_content_charset("utf-8")
    return b"".join(chunks).decode(charset if charset in _CHARSETS else "utf-8", "replace")


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, Exception) else error
    return "timeout" if isinstance(cause, TimeoutError) else type(cause).__name__
