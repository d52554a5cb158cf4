"""Identifiers and numbers in one normal form."""

import time

import pytest

from overclaim.outcome.mentions import counts, identifiers, mentions, normal_number, numbers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mail Ann@Example.com now.", ("ann@example.com",)),
        ("Order #W2378156 is open", ("w2378156",)),
        ("POST /v1/charges answered", ("/v1/charges",)),
        ("see https://a.example/b?q=1.", ("https://a.example/b",)),
        ("wrote build/html and report.csv", ("build/html", "report.csv")),
        ('The post "Winter hours" is out', ("winter hours",)),
        ("version v4.2 of PK-9", ("v4.2", "pk-9")),
        ("nothing here, e.g. words", ()),
    ],
)
def test_identifiers_in_text(text: str, found: tuple[str, ...]) -> None:
    """E-mails, codes, paths, URLs, files and quoted names are identifiers; plain words are not."""
    assert identifiers(text) == found


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,520", "1520"),
        ("1.520", "1520"),
        ("1 200 000", "1200000"),
        ("45.00", "45"),
        ("12.50", "12.5"),
        ("1.520,50", "1520.5"),
        ("007", "7"),
        ("0", "0"),
    ],
)
def test_numbers_have_one_form(text: str, number: str) -> None:
    """Thousands separators, decimal commas and trailing zeros do not matter."""
    assert normal_number(text) == number
    assert numbers(f"about {text} EUR") == (number,)


def test_payloads_are_searched_to_the_leaves() -> None:
    """Nested values count, and so does the length of a list."""
    assert {"re_12", "4500", "2", "ann"} <= mentions({"id": "re_12", "items": [{"amount": 4500}, {"who": "Ann"}]})


def test_a_hostile_payload_is_bounded() -> None:
    """A huge or deep payload costs a bounded search."""
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    assert len(mentions(deep, ["x" * 30_000_000], list(range(1_000_000)))) < 2000


@pytest.mark.parametrize("leaf", ["l", [], {}, "x" * 20_000, "a.b 1,2 " * 2_500])
def test_shared_parts_are_not_searched_without_end(leaf: object) -> None:
    """A few lists that hold each other many times stand for more leaves than anybody can visit; measured 0.3 s."""
    for _ in range(12):
        leaf = [leaf] * 256
    started = time.monotonic()
    assert len(mentions({"a": leaf, "b": leaf}, leaf)) < 2000
    assert time.monotonic() - started < 3


def test_numbers_too_long_to_write_out_are_left_out() -> None:
    """Python refuses to print whole numbers of thousands of digits; they identify nothing."""
    assert mentions({"id": 10**5000, "other": -(10**5000), "n": 17, "big": 2**100}) == {"17", str(2**100)}


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({"inserted": 9, "created_at": 17_000}, {"inserted": 9}),
        ('{"deletedCount": 3}', {"deleted_count": 3}),
        ({"sent": ["a", "b"]}, {"sent": 2}),
        ("UPDATE 20", {"affected": 20}),
        ("Query OK, 20 rows affected", {"affected": 20}),
        ("sent: 3\nskipped: 1", {"sent": 3}),
        ("modified: 12:30", {}),
    ],
)
def test_counts_of_what_was_done(payload: object, found: dict[str, int]) -> None:
    """Fields, tags of SQL and short texts count what was done; times and what was left out are no such count."""
    assert counts(mentions(payload)) == found
