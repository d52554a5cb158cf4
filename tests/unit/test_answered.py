"""Numbers that a call asked for and its answer tells otherwise, as mentions."""

import pytest

from overclaim.outcome.binding.answered import answers
from overclaim.outcome.mentions import mentions


@pytest.mark.parametrize(
    ("asked", "answer", "found"),
    [
        ({"pct": 15}, {"discount_pct": 10}, {(("discount",), "15", "10")}),
        ({"qty": 6}, '{"data": {"qty": 4}}', {((), "6", "4")}),
        ({"qty": 6}, {"qty": 6}, set[object]()),
        ({"qty": 6}, {"wanted": 6, "qty": 4}, set[object]()),
        ({"qty": 6}, {"first_qty": 3, "second_qty": 4}, set[object]()),
        ({"flag": True}, {"flag": False}, set[object]()),
        ({"qty": 6}, "4", set[object]()),
    ],
)
def test_a_number_that_is_answered_otherwise(asked: object, answer: object, found: set[object]) -> None:
    """Only the one field that ends in the argument's word counts, where the answer never repeats the number."""
    assert {told for one in mentions(asked, answer) if (told := answers(one))[1]} == found


@pytest.mark.parametrize("mention", ["", "a->b", "12:30", "inserted=9", "http://x.org/a"])
def test_other_mentions_are_no_such_answer(mention: str) -> None:
    """An id, a time, a count or an address says nothing of what was asked for."""
    assert answers(mention)[1] == ""
