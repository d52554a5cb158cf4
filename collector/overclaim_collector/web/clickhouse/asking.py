"""From an HTTP request to a question: as parameters in the URL, as the body, or as a form of several parts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from starlette.requests import Request

from overclaim_collector.receivers.bodies import body
from overclaim_collector.web.clickhouse import coding, forms, frames
from overclaim_collector.web.clickhouse.native import FIRST_REVISION
from overclaim_detectors.asking import Question
from overclaim_detectors.store import QueryError

_SECONDS: Final = 30.0
_NOT_IMPLEMENTED: Final = 48
_PARAM: Final = "param_"
_QUERY_ID: Final = re.compile(r"[\x21-\x7e]{1,100}")
# Parameters of the protocol itself, which are no settings. Sessions are taken and not kept: each question stands alone.
_TRANSPORT: Final = frozenset(
    {
        *("query", "database", "default_format", "query_id", "user", "password", "quota_key", "role", "stacktrace"),
        *("session_id", "session_timeout", "session_check", "close_session", "client_protocol_version"),
        *("compress", "decompress", "wait_end_of_query", "buffer_size", "add_http_cors_header"),
        *("send_progress_in_http_headers", "http_headers_progress_interval_ms"),
    }
)


@dataclass(frozen=True, slots=True)
class Asking:
    """A question, with how its answer shall be sent. coding: of HTTP, "" for none; framed: in ClickHouse's blocks."""

    question: Question
    query_id: str
    coding: str
    framed: bool


async def read(request: Request, limit: int) -> Asking:
    """Take in what a request asks; its body may have `limit` bytes, packed and plain.

    Raises:
        Refusal: the body cannot be had.
        QueryError: it asks for what is not offered.
    """
    data = await body(request, limit, _SECONDS)
    # Undoing what was packed takes its time, in which others are served.
    return await asyncio.to_thread(_asking, request, data, limit)


def _asking(request: Request, packed: bytes, limit: int) -> Asking:
    given = dict(request.query_params)
    data = coding.unpacked(packed, request.headers.get("content-encoding", ""), limit)
    if given.get("decompress") == "1":
        data = frames.unframed(data, limit)
    if forms.is_form(content_type := request.headers.get("content-type", "")):
        given |= forms.fields(content_type, data)
        data = b""
    return Asking(
        _question(request.headers, given, data),
        _query_id(given.get("query_id") or request.headers.get("x-clickhouse-query-id", "")),
        _coding(request.headers, given),
        _framed(given),
    )


def _question(headers: Mapping[str, str], given: Mapping[str, str], data: bytes) -> Question:
    statement = given.get("query", "").encode("utf-8", "surrogateescape")
    return Question(
        text=b"\n".join(filter(None, (statement, data))),
        params={name.removeprefix(_PARAM): value for name, value in given.items() if name.startswith(_PARAM)},
        settings={name: value for name, value in given.items() if not _is_transport(name)},
        database=given.get("database") or headers.get("x-clickhouse-database", ""),
        format=given.get("default_format") or headers.get("x-clickhouse-format") or "TabSeparated",
        blocks=_revision(given.get("client_protocol_version", "")) >= FIRST_REVISION,
    )


def _revision(given: str) -> int:
    return int(given) if re.fullmatch("[0-9]{1,9}", given) else 0


def _is_transport(name: str) -> bool:
    return name in _TRANSPORT or name.startswith(_PARAM)


def _framed(given: Mapping[str, str]) -> bool:
    wanted = given.get("compress") == "1"
    if wanted and not frames.OFFERED:
        raise QueryError("compress=1 needs the package lz4 here: use enable_http_compression=1", _NOT_IMPLEMENTED)
    return wanted


def _coding(headers: Mapping[str, str], given: Mapping[str, str]) -> str:
    if given.get("enable_http_compression") == "0" or given.get("compress") == "1":
        return ""
    return coding.chosen(headers.get("accept-encoding", ""))


def _query_id(given: str) -> str:
    return given if _QUERY_ID.fullmatch(given) else str(uuid4())
