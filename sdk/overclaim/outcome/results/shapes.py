"""Texts that are no sentences: errors in XML, and what printing an object shows instead of what it holds."""

from __future__ import annotations

import re

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.status import status_evidence
from overclaim.outcome.results.tools import is_data, reporting

_HEAD = 4_000
_PRINTED = 400
_PROLOG = re.compile(r"\A\ufeff?\s{0,40}(?:<\?xml[^>]{0,200}\?>\s{0,40})?(?:<!--[^>]{0,400}-->\s{0,40})?(?=<[A-Za-z])")
_TAG = re.compile(r"<(?:[\w.-]{1,60}:)?([\w.-]{1,80})((?:\s[^<>]{0,1000})?)>")
_BAD_ROOTS = frozenset({
    "error", "errors", "fault", "exception", "errorresponse", "exceptionreport", "serviceexceptionreport", "apierror",
    "errordetails", "errorreport", "soapfault", "errorlist", "serviceexception", "errormessage", "restexception",
})  # fmt: skip
_ANSWERS = frozenset({
    "response", "envelope", "body", "result", "results", "reply", "rpc-reply", "methodresponse", "apiresponse", "rsp",
    "multistatus", "answer", "api", "output", "return", "ack", "acknowledgement", "status", "xml", "root", "data",
})  # fmt: skip
_BAD_INSIDE = frozenset({"fault", "error", "errors", "exception", "rpc-error", "errorcode", "faultcode", "err"})
_BAD_ATTRIBUTE = re.compile(
    r"\s(?:status|stat|result|success|ok|outcome|code)\s{0,3}=\s{0,3}[\"'](?:error|err|fail|failed|failure|false|nok|"
    r"[45]\d\d)[\"']",
    re.I,
)
_BAD_WORD = (
    r"(?:[\w-]{0,20}[_-])?(?:error|err|fail|failed|failure|nok|ng|rejected|refused|denied|declined|aborted|cancell?ed-by-\w{1,20}"
    r"|undelivered|invalid|timeout|timed[_-]?out|not[_-]\w{1,20})"
)
_BAD_STATE = re.compile(
    r"\s(?:status|stat|state|result|success|ok|outcome|code|etat|estado|zustand)"
    rf"\s{{0,3}}=\s{{0,3}}[\"'](?:{_BAD_WORD}|false|[45]\d\d)[\"']",
    re.I,
)
_BAD_ELEMENT = re.compile(
    r"<(?:[\w.-]{1,20}:)?(?:status|state|result|outcome|success|statusCode|etat|estado)>"
    rf"\s{{0,10}}(?:{_BAD_WORD}|false|[45]\d\d)\s{{0,10}}</",
    re.I,
)
_REFUSED = frozenset({
    "refused", "rejected", "failed", "failure", "error", "fault", "exception", "denied", "declined", "undelivered",
    "notmoved", "notsent", "notprocessed", "unprocessed", "rejection", "nack",
})  # fmt: skip
_ZERO = re.compile(r"\s(?:count|n|num|total)\s{0,3}=\s{0,3}[\"']0[\"']", re.I)
_MOST_TAGS = 60
_DOCUMENTS = ("html", "svg", "rss", "feed")
_MULTISTATUS = re.compile(r"<(?:[\w.-]{1,20}:)?status>\s{0,10}HTTP/[\d.]{1,4} ([45]\d\d)\b")
_REPR = re.compile(
    r"<(?:coroutine|async_generator|generator|function|bound method|built-in (?:function|method)|Task|Future|class"
    r"|module|lambda|partial|map|filter|zip|_io\.\w+|asyncio\.\w+)\b[^<>\n]{0,300}>"
    r"|<[\w.<>]{1,120} object at 0x[0-9a-fA-F]{4,16}[^\n]{0,40}>|<[\w.]{1,120} (?:instance )?at 0x[0-9a-fA-F]{4,16}>"
    r"|\[object [A-Z]\w{0,40}\]|Promise \{[^\n{}]{0,80}\}|\[(?:Async)?Function[^\n\]]{0,80}\]"
    r"|(?:[a-z]\w{0,40}\.){1,8}[A-Z]\w{0,60}@[0-9a-f]{4,16}|#<[A-Z][\w:]{1,80}:0x[0-9a-f]{4,16}>"
)
_HTTP_REPR = re.compile(
    r"<(?:\w{0,20}Response|HTTPResponse) \[(?:status )?([1-5]\d\d)[^\n\]]{0,60}\]>"
    r"|[A-Z]\w{0,40}\((?:[\w.]{1,30}=[^\n(),]{0,60}, ?){0,3}(?:status_code|status|statusCode)=([1-5]\d\d)\b"
)
_FAILED_REPR = re.compile(
    r"<?[A-Z]\w{0,60}[( ](?:\w{1,40}=[^=\n]{0,200}, ?){0,12}"
    r"(?:(?:is_?|has_?|\w{1,30}_)?(?:error|failed|failure)=True|(?:is_?)?(?:success|ok|succeeded|successful)=False"
    r"|(?:status|state|outcome)=(?:\w{1,30}\.)?[\"']?(?:error|failed|failure|FAILED|ERROR|FAILURE)\b)"
)
_FLAGGED = Evidence("result_flag", "flag.message_error", Outcome.FAILURE, Grade.STRUCTURED)
_BAD_STATUS = Evidence("result_text", "text.xml_error", Outcome.FAILURE, Grade.STRUCTURED)
_UNREAD = Evidence("result_text", "text.object_repr", Outcome.UNKNOWN, Grade.INFERRED)


def shape_evidence(text: str, context: Context) -> Evidence | None:
    """What an answer in XML or a printed object says; None where the text is neither, or says nothing bad."""
    first = text[:40].lstrip("\ufeff \r\n\t")[:1]
    if first == "<" and (found := _xml(text[:_HEAD].lstrip("\ufeff \r\n\t"), context)):
        return found
    printed = len(text) < _PRINTED and (first in "<[P#" or "@" in text or "(" in text)
    return _printed(text.strip(), context) if first and printed else None


def _xml(head: str, context: Context) -> Evidence | None:
    """An error at the root of a document, or right inside an answer. Errors deeper in a document are data."""
    start = _PROLOG.match(head)
    if start is None:
        return None
    tags = [(match[1].lower(), match[2]) for match, _ in zip(_TAG.finditer(head, start.end()), range(4), strict=False)]
    if not tags:
        return None
    root, attributes = tags[0]
    if root in _BAD_ROOTS or (root.endswith(("error", "exception", "fault")) and root not in _BAD_ROOTS):
        return None if root == "error" and _is_empty(head) else _BAD_STATUS
    if root not in _ANSWERS and not root.endswith(("response", "reply", "result", "answer")):
        return _of_deed(root, attributes, head, context)
    inner = [name for name, _ in tags[1:]]
    if _BAD_ATTRIBUTE.search(attributes) or (inner and _first_bad(inner)):
        return _BAD_STATUS
    if root == "multistatus" and _MULTISTATUS.search(head):
        return _BAD_STATUS
    return _of_deed(root, "", head, context)


def _of_deed(root: str, attributes: str, head: str, context: Context) -> Evidence | None:
    """A document that tells of a change: its own state, or one of its parts that was refused."""
    if context.effect is Effect.READ or reporting(context) or is_data(context) or root in _DOCUMENTS:
        return None
    if _BAD_STATE.search(attributes):
        return _BAD_STATUS
    for match, _ in zip(_TAG.finditer(head), range(_MOST_TAGS), strict=False):
        empty = head[match.end() : match.end() + 2] == "</" or head[match.end() : match.end() + 3] == "0</"
        if match[1].lower() in _REFUSED and (not empty or "=" in match[2]) and not _ZERO.search(match[2]):
            return _BAD_STATUS
    return _BAD_STATUS if _BAD_ELEMENT.search(head) else None


def _first_bad(inner: list[str]) -> bool:
    """Whether the first element is an error, or the first one in a body."""
    at = 0
    while at < len(inner) - 1 and inner[at] in ("header", "body", "errors", "status"):
        at += 1
    return inner[0] in _BAD_INSIDE or inner[at] in _BAD_INSIDE


def _is_empty(head: str) -> bool:
    return re.fullmatch(r"[^<]{0,200}<error\s{0,10}/>\s{0,40}", head, re.I) is not None


def _printed(text: str, context: Context) -> Evidence | None:
    if match := _HTTP_REPR.match(text):
        return status_evidence(int(match[1] or match[2]), context)
    if _FAILED_REPR.match(text):
        return _FLAGGED
    return _UNREAD if _REPR.fullmatch(text) else None
