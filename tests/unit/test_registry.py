from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from overclaim._errors import InputError
from overclaim_detectors import registry as module
from overclaim_detectors.checks import problems
from overclaim_detectors.registry import BUILTIN, GROUP, registry
from overclaim_detectors.rule import Case, Rule, call

OWN = Rule("ACME001", "mine", "", text="SELECT 1")


def point(name: str, value: str) -> EntryPoint:
    """An entry point of another package."""
    return EntryPoint(name, value, GROUP)


@pytest.mark.parametrize("rule", BUILTIN, ids=lambda rule: rule.id)
def test_every_built_in_rule_passes_the_checks(rule: Rule) -> None:
    """Documentation, question and cases of each rule are as they should be."""
    assert problems(rule) == []


def test_a_rule_of_another_package_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule behind an entry point stands beside the built-in ones."""
    monkeypatch.setattr(module, "OWN", OWN, raising=False)
    found = registry([point("acme", f"{module.__name__}:OWN")])
    assert [rule.id for rule in found.rules] == [*(rule.id for rule in BUILTIN), "ACME001"]
    assert found.broken == {}


def test_a_broken_package_stops_no_other() -> None:
    """What does not load is named with the reason; the built-in rules are there."""
    found = registry([point("gone", "no_such_package:RULE"), point("odd", f"{module.__name__}:GROUP")])
    assert set(found.broken) == {"gone", "odd"}
    assert "no_such_package" in found.broken["gone"]
    assert "str, not" in found.broken["odd"]
    assert found.rules == BUILTIN


def test_an_id_is_used_once() -> None:
    """Two rules with one id are refused, since a finding would not say which one made it."""
    with pytest.raises(InputError, match="two rules have the id OC101"):
        registry([point("copy", "overclaim_detectors.rules.oc101:RULE")])


def test_the_checks_find_what_is_wrong() -> None:
    """A rule without documentation, bound traces and cases fails each check."""
    wrong = Rule("x", "A sentence.", None, text="SELECT {threshold:UInt8}", severities=("urgent",))
    found = " ".join(problems(wrong))
    for word in ("id 'x'", "full stop", "severities", "## Cure", "{traces:Array(String)}", "threshold", "three cases"):
        assert word in found
    assert "report/nothing" in " ".join(problems(Rule("AB123", "t", "", query="report/nothing")))


def test_a_rule_about_the_fleet_is_checked_as_such() -> None:
    """It need not bind the traces of a pass, and gets none; its cases say what happened over time."""
    case = Case("no time", (call(0, "send", "failure"),))
    text = "SELECT {until:UInt32}, {traces:Array(String)}"
    found = " ".join(problems(Rule("AB123", "t", "", text=text, scope="fleet", fires=(case,))))
    assert "nothing binds traces in" in found
    assert "over time" in found
    assert "does not bind" not in found
