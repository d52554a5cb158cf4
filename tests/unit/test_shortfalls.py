"""Counts in claims: the whole told first, all of a number, and numbers in words."""

from __future__ import annotations

import time

import pytest

from overclaim.outcome.claims.detection import detect
from overclaim.outcome.claims.reading import read
from overclaim.outcome.model import Quantity


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("50行中48行を取り込みました。", Quantity(48, 50, False)),
        ("50行里导入了48行。", Quantity(48, 50, False)),
        ("50 में से 48 पंक्तियाँ आयात हुईं।", Quantity(48, 50, False)),
        ("Von 50 Zeilen wurden 48 importiert.", Quantity(48, 50, False)),
        ("Of the 20 tickets, 17 are closed.", Quantity(17, 20, False)),
        ("I closed every one of the 9 tickets.", Quantity(9, None, True)),
        ("Alle 12 Rechnungen wurden verschickt.", Quantity(12, None, True)),
        ("Tous les 12 dossiers ont été archivés.", Quantity(12, None, True)),
        ("12件すべてを登録しました。", Quantity(12, None, True)),
        ("全部12个联系人已导入。", Quantity(12, None, True)),
        ("सभी 12 संपर्क जोड़ दिए गए हैं।", Quantity(12, None, True)),
        ("I deleted twenty-five files.", Quantity(25, None, False)),
        ("Borré treinta y cinco registros.", Quantity(35, None, False)),
        ("The remaining 3 files were deleted.", Quantity(3, None, False)),
    ],
)
def test_how_much_a_claim_says_was_done(text: str, quantity: Quantity) -> None:
    """A part of a whole is partial success; all of it is success."""
    claim = read([text]).claims[0]
    assert claim.quantity == quantity
    short = quantity.total is not None and quantity.count != quantity.total
    assert claim.outcome.value == ("partial" if short else "success")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("O envio deu errado.", "pt"),
        ("El banco negó la transferencia.", "es"),
        ("Mot de passe réinitialisé.", "fr"),
        ("Loin käyttäjän ja lähetin viestin.", "?"),
        ("Jag har skickat fakturan till kunden.", "?"),
    ],
)
def test_near_languages_are_told_apart(text: str, code: str) -> None:
    """Words of one language alone weigh more, and the spelling breaks ties; other languages stay unread."""
    assert detect(text) == code


@pytest.mark.parametrize(
    "unit",
    [
        "pude ",
        "नहीं भेजा ",
        "没有发送,",
        "送信しませんでした",
        "schlug ",
        "neither a nor b ",
        "x, which failed, ",
        "- a: ❌ b\n",
    ],
)
def test_a_text_of_a_megabyte_is_read_in_bounded_time(unit: str) -> None:
    """However often a telling word is repeated, the time stays that of a bounded part."""
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    read([text])
    assert time.process_time() - start < 3
