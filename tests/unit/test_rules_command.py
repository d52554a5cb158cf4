from __future__ import annotations

import argparse
import json

import pytest

from overclaim._errors import InputError
from overclaim_detectors import registry as module
from overclaim_detectors.registry import BUILTIN, Registry
from overclaim_detectors.rule import SEVERITIES, Rule
from overclaim_detectors.rules_command import COMMAND, FORMATS, finds

HOSTILE = Rule("EVIL666", "a | b\x1b[2J", "x\n\n## What it finds\nA \x1b[31m red\u202e thing. More.", text="SELECT 1")


def ran(*words: str) -> int:
    """Run the command with these words."""
    parser = argparse.ArgumentParser()
    COMMAND.configure(parser)
    return COMMAND.run(parser.parse_args(words))


@pytest.mark.parametrize("form", FORMATS)
def test_every_rule_is_listed(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each format has the id, the title, the severities and what is found of each rule, in the order of the ids."""
    assert ran("--format", form) == 0
    text = " ".join(capsys.readouterr().out.split())
    places = [text.index(rule.id) for rule in sorted(BUILTIN, key=lambda rule: rule.id)]
    assert places == sorted(places)
    for rule in BUILTIN:
        assert rule.title in text
        assert json.dumps(finds(rule))[1:-1] in text if form == "json" else finds(rule) in text


def test_what_is_found_is_one_sentence() -> None:
    """For each rule it is there, begins with a capital letter, and is not the title again."""
    for rule in BUILTIN:
        found = finds(rule)
        assert found[:1].isupper(), rule.id
        assert len(found) > 40, rule.id
        assert found.rstrip(".") != rule.title
        assert found.endswith(".")
        assert not found.endswith((":.", "..")), rule.id


def test_json_can_be_read_by_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """It is one list of objects with the severities as a list, worst first."""
    ran("--format", "json")
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == sorted(rule.id for rule in BUILTIN)
    for row in rows:
        assert row["severities"] == [one for one in SEVERITIES if one in row["severities"]] != []
    assert {row["id"] for row in rows if row["scope"] == "fleet"} >= {"OC304", "OC310"}


@pytest.mark.parametrize("form", FORMATS)
def test_one_rule_is_told_in_full(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its whole documentation is printed, whatever the case of the id, and that of no other rule."""
    assert ran("oc207", "--format", form) == 0
    text = capsys.readouterr().out
    whole = json.loads(text)["doc"] if form == "json" else text
    for words in ("What it finds", "Why it matters", "Example", "Cure", "gave up"):
        assert words in whole
    assert "OC207" in text
    assert BUILTIN[0].title not in text


def test_an_unknown_rule_is_named() -> None:
    """The error says where to find the ids."""
    with pytest.raises(InputError, match="no rule 'OC999', and none that speaks of it: `overclaim rules` lists them"):
        ran("OC999")
    with pytest.raises(InputError, match="no rule ''"):
        ran("")


def test_a_rule_is_found_by_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    """A word that one rule has tells all about it, a reason in a report too; the beginning of ids lists those."""
    ran("Timeout")
    whole = capsys.readouterr().out
    assert whole.startswith("OC208")
    assert "## Cure" in whole
    ran("status_word.partial", "--format", "json")
    assert json.loads(capsys.readouterr().out)["id"] == "OC204"
    ran("oc40", "--format", "json")
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == ["OC401", "OC402", "OC403", "OC404"]
    ran("newsletter", "--format", "json")
    assert json.loads(capsys.readouterr().out)["id"] == "OC204"


@pytest.mark.parametrize("words", [[], ["EVIL666"]])
@pytest.mark.parametrize("form", FORMATS)
def test_a_strange_rule_acts_on_no_terminal(
    words: list[str], form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters of another package's rule are written out, and one that does not load is told of."""
    strange = Registry((*BUILTIN, HOSTILE), {"gone": "ModuleNotFoundError: no \x1b module"})
    monkeypatch.setattr(module, "registry", lambda: strange)
    ran(*words, "--format", form)
    out, err = capsys.readouterr()
    assert "EVIL666" in out
    assert "the rule gone cannot be loaded" in err
    for text in (out, err):
        assert not {"\x1b", "\u202e"} & set(text)
