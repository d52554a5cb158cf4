"""What a deed brings about, what is left as it was, and states that were asked for: neither trouble nor success."""

from __future__ import annotations

import pytest

from overclaim.outcome.claims.asked_states import as_asked
from overclaim.outcome.claims.reading import read
from overclaim.outcome.model import Outcome

TOLD = [
    ("success", "I deleted the alias, so it is no longer in the list."),
    ("partial", "I deleted the alias, but the mailbox is no longer reachable."),
    ("success", "Der Vertrag ist storniert und verlängert sich nicht mehr."),
    ("success", "Mas agora o relatório foi salvo."),
    ("none", "Por nada! Tenha uma boa semana."),
    ("partial", "Todos os relatórios foram enviados, salvo o de maio."),
    ("success", "Alright, I have you down for Monday at noon."),
    ("success", "The wire has cleared and the balance is 12."),
    ("success", "Not only has the invoice been paid, the clerk also called back."),
    ("success", "已经帮您把会议改到周五下午了。"),
    ("failure", "Out of luck: the blue one is sold out, so I left your cart as it is."),
    ("failure", "The migration failed halfway and I rolled it back. You are on the previous schema."),
    ("failure", "I am stuck: the branch is archived."),
    ("failure", "The parcel never left the depot: it failed."),
    ("failure", "डाउनलोड असफल रहा, डिस्क भर गई है।"),
    ("partial", "Migrated 90 records and skipped 5 broken ones."),
    ("success", "Migrated 90 records and skipped 5 duplicates."),
    ("partial", "Your seat is changed; the meal, however, needs a code I do not have."),
    ("none", "I will look into the fare and then get back to you."),
    ("none", "Your provider wants you to sign the order Q-12 first: https://sign.example.com/q12."),
]


@pytest.mark.parametrize(("outcome", "text"), TOLD)
def test_consequences_and_leavings_are_read_as_meant(outcome: str, text: str) -> None:
    """A consequence of a deed is no trouble of its own, and what was left alone is no deed."""
    assert read([text]).outcome.value == outcome


@pytest.mark.parametrize(
    ("text", "wants", "outcome"),
    [
        ("The side gate is locked.", {"disable"}, Outcome.SUCCESS),
        ("The side gate is locked.", {"start"}, Outcome.FAILURE),
        ("The side gate is locked.", set[str](), Outcome.FAILURE),
        ("The side gate is still locked.", {"disable"}, Outcome.FAILURE),
        ("I could not do it. The side gate is locked.", {"disable"}, Outcome.FAILURE),
    ],
)
def test_a_bad_state_that_was_asked_for_is_a_success(text: str, wants: set[str], outcome: Outcome) -> None:
    """Who asks to have something locked wants it so; where other trouble is told, it may be the cause."""
    assert as_asked(read([text]), wants).outcome is outcome
