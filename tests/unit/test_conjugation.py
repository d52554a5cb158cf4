"""Romance verb forms made from an infinitive."""

from __future__ import annotations

import pytest

from overclaim.outcome.claims.conjugation import forms
from overclaim.outcome.lexicon import table


@pytest.mark.parametrize(
    ("code", "infinitive", "form", "kind"),
    [
        ("es", "enviar", "envié", "first"),
        ("es", "publicar", "publiqué", "first"),
        ("es", "pagar", "pagué", "first"),
        ("es", "organizar", "organicé", "first"),
        ("es", "hacer", "hicimos", "first"),
        ("es", "devolver", "devuelta", "participle"),
        ("es", "borrar", "borraron", "third"),
        ("pt", "publicar", "publiquei", "first"),
        ("pt", "excluir", "excluída", "participle"),
        ("pt", "fazer", "fizemos", "first"),
        ("fr", "annuler", "annulées", "participle"),
        ("fr", "mettre", "mise", "participle"),
    ],
)
def test_forms_of_an_infinitive(code: str, infinitive: str, form: str, kind: str) -> None:
    """Regular forms by the ending, respelled where the sound asks for it; irregular ones as listed."""
    lexicon = table(code)
    assert (form, kind) in set(forms(infinitive, lexicon["conjugation"], lexicon["irregular_verbs"]))


def test_an_unknown_ending_has_no_forms() -> None:
    """A word that is no infinitive of the language makes nothing."""
    assert list(forms("xyz", table("es")["conjugation"], {})) == []
