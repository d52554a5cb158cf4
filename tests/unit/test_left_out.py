"""Marks by which a result says that it is not the whole; they never change how a call went."""

from __future__ import annotations

import pytest

from overclaim.outcome.model import Evidence, Outcome
from overclaim.outcome.results.observing import observe

PARTS: list[tuple[object, str]] = [
    ({"items": [1], "has_more": True}, "hasmore"),
    ({"rows": [1], "truncated": "true"}, "truncated"),
    ('{"files": ["a"], "nextPageToken": "CAE"}', "nextpagetoken"),
    ({"value": [1], "@odata.nextLink": "https://example.com/2"}, "@odata.nextlink"),
    ({"pageInfo": {"hasNextPage": True, "endCursor": "x"}, "nodes": [1]}, "hasnextpage"),
    ({"data": [1], "paging": {"next": {"after": "9"}}}, "next"),
    ({"count": 40, "next": "https://example.com/?page=2", "results": [1]}, "next"),
    ({"issues": [1], "isLast": False}, "islast"),
    ({"result": {"rows": [1], "next_offset": 100}}, "nextoffset"),
    ({"stdout": "a\nb\n[... 1200 characters truncated ...]", "exit_code": 0}, "text"),
    ("line 1\nline 2\n... 120 more lines", "text"),
    ("line 1\nline 2\n(14 results omitted)", "text"),
    ("Output was truncated after 100 lines", "text"),
    ([{"type": "text", "text": "a\n<truncated>"}], "text"),
    ({"error": "quota", "has_more": True}, "hasmore"),
]
WHOLES: list[object] = [
    {"items": [1], "has_more": False},
    {"items": [1], "next_cursor": None, "truncated": False},
    {"items": [1], "next_page_token": ""},
    {"items": [1], "next_page": 0},
    {"isLast": True, "issues": [1]},
    {"page": 2, "pages": 3, "total": 45},
    {"next_step": "call the bank", "next": "Tuesday"},
    {"title": "How to truncate a table", "text": "Use TRUNCATE. It is fast."},
    "We have 3 more items than before.",
    "The report was truncated by hand yesterday and sent.",
    "Wait...",
    "",
    [1, 2, 3],
    None,
]


def nothing(_: object) -> list[Evidence]:
    """No mark, whatever the result."""
    return []


@pytest.mark.parametrize(("result", "mark"), PARTS, ids=str)
def test_a_part_is_told(result: object, mark: str) -> None:
    """The fact names the field that says so, or that words do; there is one of it."""
    facts = [fact for fact in observe(result).evidence if fact.rule == "result.truncated"]
    assert [(fact.value, fact.outcome) for fact in facts] == [(mark, Outcome.UNKNOWN)]


@pytest.mark.parametrize("result", WHOLES, ids=str)
def test_a_whole_is_left_alone(result: object) -> None:
    """Fields that say that this is all, and texts that only use the words, are no such mark."""
    assert [fact for fact in observe(result).evidence if fact.rule == "result.truncated"] == []


@pytest.mark.parametrize(("result", "mark"), PARTS, ids=str)
def test_how_the_call_went_stays(result: object, mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcome and grade are those without the mark, and so is the fact that decided."""
    with_mark = observe(result)
    monkeypatch.setattr("overclaim.outcome.results.observing.left_out", nothing)
    without = observe(result)
    assert mark
    assert (with_mark.outcome, with_mark.grade) == (without.outcome, without.grade)
    assert with_mark.evidence[: len(without.evidence)] == without.evidence
