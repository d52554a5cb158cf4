"""Marks by which a result says that it is not the whole: cut off, or a page of more. They decide nothing."""

from __future__ import annotations

from typing import Any, cast

from overclaim.outcome.model import Evidence, Grade, Outcome
from overclaim.outcome.results import payload
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.rules import line_pattern
from overclaim.outcome.results.view import Form, form_of

_MAX_DEPTH = 3
_END = 300  # characters at the end of a text in which such a mark stands
_INSIDE = ("inside", "streams")
_GROUPS = ("more_flag", "last_flag", "next_page", "page_info", *_INSIDE)
_NOWHERE = frozenset({"null", "none", "nil", "n/a", "end"})
_HINTS = ("truncat", " more ", "omitted", "remaining", "cut off", "not shown")
_LEAST_TOKEN = 2  # letters of a token or an address that leads to the next page


def left_out(value: object) -> list[Evidence]:
    """The mark in a result, as `payload.plain` gives it, that says that more was left out; at most one."""
    mark = _mark(value, 0)
    return [Evidence("result_flag", "result.truncated", Outcome.UNKNOWN, Grade.INFERRED, mark)] if mark else []


def _mark(value: object, depth: int) -> str:
    """The name of the field that says so, "text" where words do, or ""."""
    if isinstance(value, str):
        return _of_text(value)
    if depth > _MAX_DEPTH:
        return ""
    if isinstance(value, dict):
        return _of_dict(cast("dict[Any, Any]", value), depth)
    parts = payload.blocks(value) or ()
    return next((mark for part in parts if (mark := _mark(plain(part), depth + 1))), "")


def _of_text(text: str) -> str:
    end = text[-_END:]
    lowered = end.lower()
    hinted = any(hint in lowered for hint in _HINTS)
    return "text" if hinted and line_pattern("left_out").search(end) else ""


def _of_dict(value: dict[Any, Any], depth: int) -> str:
    form = form_of(value)
    if not any(map(form.group, _GROUPS)) and "next" not in form.names:
        return ""
    fields = form.fields(value)
    said = _said(form, fields)
    pages = [payload.as_dict(plain(fields[name])) or {} for name in form.group("page_info")]
    if said or _is_address(fields.get("next")) or any(_leads_on(plain(page.get("next"))) for page in pages):
        return said or "next"
    inside = [*pages, *(plain(fields[name]) for group in _INSIDE for name in form.group(group))]
    return next((mark for held in inside if (mark := _mark(held, depth + 1))), "")


def _said(form: Form, fields: dict[str, object]) -> str:
    """The field of a dict that says it."""
    for group, says in (("more_flag", _is_true), ("last_flag", _is_false), ("next_page", _leads_on)):
        for name in form.group(group):
            if says(plain(fields[name])):
                return name
    return ""


def _is_address(held: object) -> bool:
    return isinstance(held, str) and held.startswith(("http://", "https://", "/"))


def _is_true(held: object) -> bool:
    return held is True or (isinstance(held, str) and held.strip().lower() == "true")


def _is_false(held: object) -> bool:
    return held is False or (isinstance(held, str) and held.strip().lower() == "false")


def _leads_on(held: object) -> bool:
    """Whether it is a token, an address or the number of a page, rather than nothing."""
    if isinstance(held, bool):
        return False
    if isinstance(held, str):
        return len(held.strip()) >= _LEAST_TOKEN and held.strip().lower() not in _NOWHERE
    return (isinstance(held, int) and held > 0) or bool(payload.as_dict(held))
