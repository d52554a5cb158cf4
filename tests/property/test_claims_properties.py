"""Laws of the claim reader: it never raises, stays bounded, and courtesies and negations do what they must."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overclaim.outcome.claims.reading import WINDOW, read
from overclaim.outcome.claims.turns import MAX_CLAIMS
from overclaim.outcome.model import Outcome

THINGS = st.sampled_from(["report", "invoice", "booking", "ticket", "backup", "account", "page"])
DEEDS = st.sampled_from(["created", "deleted", "sent", "cancelled", "updated", "published", "paid", "archived"])
COURTESIES = st.sampled_from(
    ["You're welcome!", "Let me know if you need anything else.", "Have a great day!", "Feel free to reach out."]
)
PIECES = st.sampled_from(
    [
        *"`\"'“”«»<>()[]{}|*_#:;,.!?\n\t ",
        "```",
        "Final answer:",
        "<final_answer>",
        "I have",
        "not",
        "been",
        "done",
        "if",
    ]
)


@given(st.lists(st.text(st.characters()), max_size=4))
def test_any_text_is_read_without_an_error(texts: list[str]) -> None:
    """Lone surrogates, NULs, right-to-left marks and stacked accents are only characters."""
    reading = read(texts)
    assert reading.outcome in (
        Outcome.SUCCESS,
        Outcome.FAILURE,
        Outcome.PARTIAL,
        Outcome.NONE,
        Outcome.UNREADABLE,
    )
    assert len(reading.claims) <= WINDOW * MAX_CLAIMS


@given(st.lists(PIECES, max_size=60).map(" ".join))
def test_broken_markup_is_read_without_an_error(text: str) -> None:
    """Unclosed tags, fences and quotes never raise, and reading twice gives the same."""
    assert read([text]) == read([text])


@given(THINGS, DEEDS, COURTESIES, st.booleans())
def test_a_closing_courtesy_never_changes_the_outcome(thing: str, deed: str, courtesy: str, apart: bool) -> None:
    """A goodbye, in the same text or in one of its own, leaves the claim as it is."""
    text = f"The {thing} has been {deed}."
    closed = [text, courtesy] if apart else [f"{text} {courtesy}"]
    assert read(closed).outcome is read([text]).outcome is Outcome.SUCCESS


@given(THINGS, DEEDS, st.sampled_from(["has not been", "could not be", "was never", "wasn't", "hasn't been"]))
def test_negating_a_success_gives_a_failure(thing: str, deed: str, negated: str) -> None:
    """A denied deed is a report of failure, with the same action."""
    claimed, denied = read([f"The {thing} has been {deed}."]), read([f"The {thing} {negated} {deed}."])
    assert denied.outcome is Outcome.FAILURE
    assert denied.claims[0].action == claimed.claims[0].action


@given(THINGS, DEEDS, st.sampled_from(["If", "Once", "As soon as", "Unless"]))
def test_a_condition_claims_nothing(thing: str, deed: str, opener: str) -> None:
    """What would have to happen first has not happened."""
    assert read([f"{opener} the {thing} has been {deed}, I will tell you."]).outcome is Outcome.NONE


@given(THINGS, DEEDS, st.sampled_from(["will", "can", "would", "must", "should"]))
def test_a_modal_verb_reaches_over_its_clause(thing: str, deed: str, modal: str) -> None:
    """What is joined to a verb of the future, or describes its object, has not been done either."""
    assert read([f"You {modal} get the {thing} {deed} for you and complete the exchange."]).outcome is Outcome.NONE


@given(THINGS, DEEDS, st.sampled_from(["", "All ", "The "]))
def test_a_kind_of_things_makes_a_rule(thing: str, deed: str, opener: str) -> None:
    """As in "invoices are sent", which happens in general; "the invoices are sent" says that it was done."""
    text = f"{opener}{thing}s are {deed}." if opener else f"{thing.capitalize()}s are {deed}."
    assert read([text]).outcome is (Outcome.SUCCESS if opener else Outcome.NONE)


@given(st.lists(st.sampled_from("\u200b\u200d\u2060\ufeff\u00ad"), min_size=1, max_size=20), THINGS, DEEDS)
def test_unseen_signs_change_nothing(signs: list[str], thing: str, deed: str) -> None:
    """Signs without width between the letters leave the claim as it looks."""
    text = f"The {thing} has been {deed}."
    hidden = "".join(letter + signs[at % len(signs)] for at, letter in enumerate(text))
    assert read([hidden]) == read([text])


@given(THINGS, DEEDS)
def test_a_question_claims_nothing(thing: str, deed: str) -> None:
    """Asking whether something was done does not say so."""
    assert read([f"Has the {thing} been {deed}?"]).outcome is Outcome.NONE


@given(st.text(alphabet="abc xyz.,\n", max_size=200), THINGS, DEEDS)
def test_texts_before_the_window_do_not_matter(noise: str, thing: str, deed: str) -> None:
    """Only the last texts make up the claim."""
    recent = ["Hello!", "Hello!", f"The {thing} has been {deed}."]
    assert read([noise, *recent]).outcome is read(recent).outcome


LOOKS = st.sampled_from(["ran the {}", "checked the {}", "tested the {}", "reviewed the {}", "queried the {}"])
FINDINGS = st.sampled_from(
    ["it is broken", "it failed", "there were 3 errors", "it is not available", "it returned a 500", "two of them fail"]
)


@given(LOOKS, THINGS, FINDINGS, st.sampled_from(["; ", ", but ", ". ", " and ", ": "]))
def test_what_a_look_found_decides(look: str, thing: str, found: str, joined: str) -> None:
    """A look followed by a bad finding is a report of failure, however the two are joined."""
    found = found.capitalize() if joined == ". " else found
    assert read([f"I {look.format(thing)}{joined}{found}."]).outcome is Outcome.FAILURE


@given(st.integers(1, 99), st.sampled_from(["errors", "conflicts", "problems"]), st.sampled_from(["fixed", "resolved"]))
def test_trouble_that_was_mended_is_success(count: int, trouble: str, mended: str) -> None:
    """A number of troubles is a failure where it is found, and none where the agent set it right."""
    assert read([f"The check found {count} {trouble}."]).outcome is Outcome.FAILURE
    assert read([f"I {mended} the {count} {trouble}."]).outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "Done. ",
        '"',
        "`",
        "<",
        "<thought>",
        "/",
        "\n",
        "```\n",
        "a@",
        "a.",
        "1,",
        "完了",
        "(",
        "a_",
        " ",
        "9",
        "Action: x\n",
        "I created it, ",
        "not ",
        "created and ",
        "found no ",
        "3 errors ",
        "is not ",
        "keeps failing ",
        "no longer ",
        "a 500 ",
        "が完了しました",
        "| a | b |\n|---|---|\n",
        "✅ Done\n- [ ] x\n",
        "d\u200b",
        "d\u0435l ",
        "\"a 'b “c",
    ],
)
def test_five_megabytes_cost_a_bounded_scan(unit: str) -> None:
    """A huge text of any one kind is read in far less time than it would take to read it all."""
    text = unit * (5_000_000 // len(unit))
    start = time.process_time()
    read([text])
    assert time.process_time() - start < 2.0
