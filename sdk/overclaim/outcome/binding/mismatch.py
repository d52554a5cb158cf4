"""What a claim says against what the calls it is about were given and answered: values, targets, counts, dates.

Each rule speaks only where the claim and the act name something of the same kind, and nothing that any change of the
run mentions agrees with the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Final

from overclaim.outcome.binding.counted import counted_short
from overclaim.outcome.binding.measures import other_measure, other_receiver
from overclaim.outcome.binding.seen import Seen
from overclaim.outcome.binding.stated import (
    answered_field,
    other_amount,
    other_answer,
    other_date,
    other_number,
    other_time,
    repeats_request,
)
from overclaim.outcome.binding.targets import from_nowhere, not_asked, not_reached, other_target
from overclaim.outcome.model import Call, Claim, Effect, Evidence, Grade, Outcome

_RULES: Final[tuple[tuple[str, Callable[[Seen], bool]], ...]] = (
    ("claim.value_mismatch", repeats_request),
    ("claim.value_mismatch", other_number),
    ("claim.value_mismatch", other_answer),
    ("target.other", other_target),
    ("target.not_reached", not_reached),
    ("target.not_asked", not_asked),
    ("target.from_nowhere", from_nowhere),
    ("target.other_date", other_date),
    ("target.other_time", other_time),
    ("quantity.other_amount", other_amount),
    ("quantity.other_value", other_measure),
    ("target.other_receiver", other_receiver),
)


# What it is that differs, never what it holds.
_DIFFERS: Final = {
    "target.other": "target",
    "target.not_reached": "target",
    "target.not_asked": "recipient",
    "target.from_nowhere": "id",
    "target.other_date": "date",
    "target.other_time": "time",
    "target.other_receiver": "recipient",
    "quantity.other_amount": "amount",
    "quantity.other_value": "number",
}


def mismatch(claim: Claim, chosen: Iterable[Call], calls: Sequence[Call], asked: Set[str]) -> Evidence | None:
    """What in a claim of success disagrees with the changes it is about, if anything. asked: see `binding.bind`."""
    acts = tuple(call for call in chosen if call.operation.effect is Effect.WRITE)
    if not acts or claim.in_words:
        return None
    seen = Seen(claim, acts, calls, asked)
    rule, value = next((name for name, holds in _RULES if holds(seen)), ""), ""
    if not rule and (value := counted_short(seen)):
        rule = "quantity.fewer_done"
    if not rule:
        return None
    value = value or answered_field(seen) if rule == "claim.value_mismatch" else value or _DIFFERS.get(rule, "")
    return Evidence("mismatch", rule, Outcome.FAILURE, Grade.INFERRED, value, span_id=acts[-1].span_id)
