"""Errors as a ClickHouse server answers them: a line of text, a header with the code, a status that fits the code."""

from __future__ import annotations

from typing import Final

from starlette.responses import PlainTextResponse, Response

from overclaim._errors import StoreError
from overclaim_collector.refusal import Reason, Refusal
from overclaim_detectors.store import QueryError

PATH: Final = "/"
CODE_HEADER: Final = "X-ClickHouse-Exception-Code"
# The engine puts the name behind its messages itself; these are of errors that we find before it.
_NAMES: Final = {
    36: "BAD_ARGUMENTS",
    48: "NOT_IMPLEMENTED",
    62: "SYNTAX_ERROR",
    73: "UNKNOWN_FORMAT",
    81: "UNKNOWN_DATABASE",
    115: "UNKNOWN_SETTING",
    164: "READONLY",
    167: "TOO_DEEP_AST",
    202: "TOO_MANY_SIMULTANEOUS_QUERIES",
    209: "SOCKET_TIMEOUT",
    229: "QUERY_IS_TOO_LARGE",
    394: "QUERY_WAS_CANCELLED",
    497: "ACCESS_DENIED",
    516: "AUTHENTICATION_FAILED",
    779: "UNSUPPORTED_MEDIA_TYPE",
    1002: "UNKNOWN_EXCEPTION",
}
_UNKNOWN: Final = 1002
_BAD: Final = (
    6,
    8,
    15,
    25,
    26,
    27,
    36,
    37,
    38,
    41,
    44,
    53,
    62,
    72,
    117,
    123,
    167,
    168,
    223,
    321,
    376,
    427,
    441,
    675,
    676,
)
# As in the server's exceptionCodeToHTTPStatus, but for 164, 202 and 516, where HTTP has a better one than 500 and 403.
_STATUSES: Final = {
    **dict.fromkeys((*_BAD, 675, 676), 400),
    **dict.fromkeys((46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511), 404),
    **dict.fromkeys((164, 192, 193, 497, 512), 403),
    **dict.fromkeys((76, 202, 209, 439), 503),
    **{48: 501, 159: 408, 194: 401, 229: 413, 381: 411, 516: 401, 779: 415},
}
_OF_REASONS: Final = {
    Reason.INVALID: 36,
    Reason.FORBIDDEN: 497,
    Reason.TIMEOUT: 209,
    Reason.TOO_LARGE: 229,
    Reason.UNSUPPORTED: 779,
    Reason.UNAVAILABLE: 202,
    Reason.UNAUTHENTICATED: 516,
}


def of_refusal(refusal: Refusal) -> QueryError:
    """A refusal of ours with the code that ClickHouse has for it."""
    return QueryError(refusal.message, _OF_REASONS.get(refusal.reason, _UNKNOWN))


def text(error: StoreError, version: str = "") -> str:
    """The error as clients read it: Code: 62. DB::Exception: ... (SYNTAX_ERROR) (version 26.9.2.1)."""
    code = _code(error)
    name = f"({_NAMES.get(code, '')})"
    message = str(error) if name == "()" or name in str(error) else f"{error}. {name}"
    engine = f" (version {version})" if version else ""
    return f"Code: {code}. DB::Exception: {message}{engine}\n"


def answer(error: StoreError, version: str = "") -> Response:
    """The answer to a question that ended in an error before anything was sent."""
    code = _code(error)
    return PlainTextResponse(text(error, version), _STATUSES.get(code, 500), headers={CODE_HEADER: str(code)})


def _code(error: StoreError) -> int:
    return (error.code if isinstance(error, QueryError) else 0) or _UNKNOWN
