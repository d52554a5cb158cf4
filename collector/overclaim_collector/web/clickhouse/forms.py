"""Forms of several parts (multipart/form-data), in which clients send values that are too long for a URL.

Python's own parser is made for mail, and takes minutes for what somebody may send here.
"""

from __future__ import annotations

import re
from typing import Final

from overclaim_collector.refusal import invalid
from overclaim_detectors.store import QueryError

_NOT_IMPLEMENTED: Final = 48
_TYPE: Final = re.compile(r'multipart/form-data\s*;.*?\bboundary="?([^\s";,]{1,70})', re.IGNORECASE)
_NAME: Final = re.compile(rb'content-disposition:[^\r\n]*?[; ]name="([^"\r\n]*)"', re.IGNORECASE)
_FILE: Final = re.compile(rb"content-disposition:[^\r\n]*?[; ]filename", re.IGNORECASE)
_MOST_PARTS: Final = 1000
_LONGEST_HEAD: Final = 1000


def is_form(content_type: str) -> bool:
    """Whether a body of this type is a form."""
    return content_type.lower().startswith("multipart/form-data")


def fields(content_type: str, body: bytes) -> dict[str, str]:
    """The values of a form by name.

    Raises:
        Refusal: it is damaged.
        QueryError: it holds a table, which ClickHouse calls external data.
    """
    found = _TYPE.match(content_type)
    if found is None:
        raise invalid("the form does not say what stands between its parts: it needs a boundary")
    mark = b"\r\n--" + found[1].encode("latin-1")
    parts = (b"\r\n" + body).split(mark, _MOST_PARTS)
    if len(parts) < 3 or not parts[-1].startswith(b"--"):
        raise invalid(f"the form has no end, or more than {_MOST_PARTS} parts")
    return dict(_field(part) for part in parts[1:-1])


def _field(part: bytes) -> tuple[str, str]:
    head, blank, value = part.partition(b"\r\n\r\n")
    name = _NAME.search(head, 0, _LONGEST_HEAD)
    if not (blank and name):
        raise invalid("a part of the form has no name")
    if _FILE.search(head, 0, _LONGEST_HEAD):
        raise QueryError("tables sent along with a question are not offered here", _NOT_IMPLEMENTED)
    return name[1].decode("utf-8", "replace"), value.decode("utf-8", "surrogateescape")
