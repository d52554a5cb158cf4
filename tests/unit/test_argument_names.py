"""What a labelled call keeps of its arguments: their names, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overclaim.outcome.model import BoundClaim, Claim, Outcome, Quantity, Run
from overclaim.reading.spans import Span
from overclaim_detectors import rows

GIVEN = "gen_ai.tool.call.arguments"
KEPT = [
    ({GIVEN: '{"order": "o-1", "amount": 5}'}, ["amount", "order"]),
    ({GIVEN: '{"order": {"id": 1, "to": "ann"}}'}, ["order"]),
    ({"input.value": '{"sql": "SELECT 1"}'}, ["sql"]),
    ({GIVEN: '{"ann@example.com": 1, "two words": 2, "3": 3, "naïve": 4, "ok_1": 5}'}, ["ok_1"]),
    ({GIVEN: json.dumps({"x" * 65: 1, "y" * 64: 1})}, ["y" * 64]),
    ({GIVEN: "order o-1"}, []),
    ({GIVEN: "[1, 2]"}, []),
    ({GIVEN: '{"order": '}, []),
    ({}, []),
]


@pytest.mark.parametrize(("attributes", "kept"), KEPT, ids=str)
def test_names_are_kept(attributes: dict[str, object], kept: list[str]) -> None:
    """Those of the call itself, sorted, of any convention; what is no name may be data, and is left out."""
    assert rows.argument_names(Span("t", "s", attributes=attributes)) == kept


@given(st.dictionaries(st.text(max_size=20), st.text(min_size=1)))
def test_no_value_is_kept(arguments: dict[str, str]) -> None:
    """Whatever is given: what is kept are some of the keys, and at most 64."""
    kept = rows.argument_names(Span("t", "s", attributes={GIVEN: json.dumps({"args": 1, **arguments})}))
    assert set(kept) <= {"args", *arguments}
    assert len(kept) <= 64


@pytest.mark.parametrize(
    ("quantity", "told"), [(Quantity(everything=True), 1), (Quantity(count=3, total=5), 0), (None, 0)]
)
def test_a_claim_of_all_is_kept(quantity: Quantity | None, told: int) -> None:
    """Whether a claim says that it is about all there are stands in its row."""
    said = BoundClaim(Claim(Outcome.SUCCESS, action="read", quantity=quantity))
    made = rows.trace_rows([Run("r", claims=(said,), trace_id="t", span_id="s")], [Span("t", "s")], 1)
    assert [dict(zip(rows.CLAIM_COLUMNS, row, strict=True))["Everything"] for row in made.claims] == [told]
