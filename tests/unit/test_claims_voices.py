"""Who did it and how things stand: deeds of helpers, passives without a doer, rows, causes of a standstill."""

from __future__ import annotations

import pytest

from overclaim.outcome.claims.reading import read


def told(text: str) -> list[tuple[str, str]]:
    """The outcome and action of each claim of a text."""
    return [(claim.outcome.value, claim.action) for claim in read([text]).claims]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("I refactored a.py and all tests still pass.", [("success", "update"), ("success", "test")]),
        ("The parser is rewritten and the specs pass.", [("success", "update"), ("success", "test")]),
        ("All checks pass and the changelog is updated.", [("success", "verify"), ("success", "update")]),
        ("I ran the suite and all tests pass.", [("success", "test")]),
        ("I added a test and it passes.", [("success", "create")]),
    ],
)
def test_a_deed_and_what_the_tests_say_are_two_claims(text: str, claims: list[tuple[str, str]]) -> None:
    """What was changed, and that the tests pass, rest on different calls; a look at the tests is one with them."""
    assert told(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The billing agent charged the deposit.", [("success", "pay")]),
        ("Our rollout bot published the notes.", [("success", "publish")]),
        ("The courier phoned and the booking agent cancelled the slot.", [("success", "cancel")]),
        ("Your travel agent booked the hotel.", []),
        ("The previous agent cancelled the order.", []),
        ("A bot deleted the channel.", []),
        ("The agent cancelled order 12 last week.", []),
        ("The planner deleted nothing.", []),
    ],
)
def test_what_an_agent_of_the_run_did_is_a_claim(text: str, claims: list[tuple[str, str]]) -> None:
    """Agents of the run are told of in the third person; people, and agents of before, are not of the run."""
    assert told(text) == claims


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Atualizei as etiquetas.", "update"),
        ("Publiquei o relatório.", "publish"),
        ("Comecei a cópia.", "start"),
        ("Reduje el límite a 40.", "update"),
        ("Extraje los datos.", "export"),
        ("Leí el informe.", "read"),
        ("Ich stornierte die Buchung.", "cancel"),
        ("Gestern buchte ich das Hotel.", "book"),
    ],
)
def test_a_plain_past_of_the_first_person_is_a_deed(text: str, action: str) -> None:
    """Regular and irregular simple pasts of the verbs that name a deed."""
    assert ("success", action) in told(text)


@pytest.mark.parametrize("text", ["Die aktualisierte Datei liegt im Ordner.", "Die stornierten Plätze sind frei."])
def test_an_adjective_that_looks_like_a_past_is_no_deed(text: str) -> None:
    """German weak pasts are written like adjectives; only beside "ich" or "wir" they tell a deed."""
    assert not any(action for _, action in told(text))


@pytest.mark.parametrize(
    "text",
    [
        "Bus 812 is stopped because of an engine failure.",
        "El autobús 812 está parado por una avería del motor.",
        "O ônibus 812 está parado por causa de uma falha no motor.",
        "Le bus 812 est arrêté à cause d'une panne moteur.",
        "Der Bus 812 ist wegen eines Motorausfalls gestoppt.",
    ],
)
def test_what_trouble_brought_to_a_stop_is_no_deed(text: str) -> None:
    """How a thing stands, by a trouble of its own, is neither a deed nor a failure of the agent."""
    reading = read([text])
    assert [claim.action for claim in reading.claims if claim.action] == []
    assert reading.outcome.value in ("none", "success")


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("I stopped bus 812 because of an engine failure.", "success"),
        ("El pedido fue cancelado por un error.", "success"),
        ("Drone D2 is in the air.", "success"),
        ("The plans are up in the air.", "partial"),
        ("The heater is off (it already was before I got there).", "success"),
        ("Room 4 was taken before I got there.", "failure"),
        ("Zone 1 is winterized; zone 2 would not open.", "partial"),
        ("The page is cached; it would not load.", "failure"),
        ("Rotated the keys:\n- vault: rotated\n- ldap: NOT rotated, I am not an admin there", "partial"),
    ],
)
def test_how_things_stand(text: str, outcome: str) -> None:
    """A deed in spite of trouble, a state reached or found so, and one thing done beside another that is not."""
    assert read([text]).outcome.value == outcome


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Several modules were removed in Python 3.13.", False),
        ("$4,200 was refunded to 17 customers.", False),
        ("El pedido fue cancelado.", False),
        ("O pedido foi cancelado.", False),
        ("La commande a été annulée.", False),
        ("Die Bestellung wurde storniert.", False),
        ("I refunded $4,200 to 17 customers.", True),
        ("Cancelled the order.", True),
        ("Cancelé el pedido.", True),
        ("J'ai annulé la commande.", True),
        ("Ich habe die Bestellung storniert.", True),
        ("The billing agent charged the deposit.", True),
    ],
)
def test_a_passive_names_no_doer(text: str, own: bool) -> None:
    """The voice of a claim tells whether the agent says of itself that it did it."""
    assert [claim.own for claim in read([text]).claims] == [own]


def test_what_was_done_in_an_earlier_year_is_no_deed() -> None:
    """A year that opens the sentence dates what is told in it."""
    assert told("In 2021 the satellite was launched, and the data were published.") == []
