from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

import overclaim
from overclaim._errors import InputError, MissingExtra
from overclaim.expectations import ToolExpectation, chosen, load
from overclaim.outcome.model import Effect

GOOD = """\
include: payments
tools:
  create_user:
    effect: write
    success_when: {field: status, in: [active, invited]}
    target: email
    postcondition:
      get: "https://api.example.com/users/{email}"
      headers: {Authorization: "Bearer ${USERS_TOKEN}"}
      where: {field: email, equals_argument: email}
  find_*: {empty_ok: true}
procedures:
  - {id: look-first, precedence: {first: find_user, then: create_user}}
"""


def mistake(tmp_path: Path, text: str, name: str = "expectations.yaml") -> str:
    """What is said of a file that cannot be used, without the folder."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(path)
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_a_yaml_file_becomes_rules_checks_and_procedures(tmp_path: Path) -> None:
    """Everything that is declared arrives where it is used."""
    path = tmp_path / "expectations.yaml"
    path.write_text(GOOD)
    expected = load(path)
    facts = expected.rules.facts("create_user")
    assert (facts.effect, facts.target) == (Effect.WRITE, ("email",))
    assert str(facts.success_when) == "status in ('active', 'invited')"
    assert expected.rules.facts("find_order").empty_ok is True
    assert expected.rules.facts("stripe_create_charge").effect is Effect.WRITE
    assert [check.pattern for check in expected.checks] == ["create_user"]
    assert [one.id for one in expected.all_procedures] == ["look-first", "payments.no-capture-after-cancel"]


def test_toml_json_mappings_and_python_objects_say_the_same(tmp_path: Path) -> None:
    """Four ways to declare one thing."""
    declared: dict[str, Any] = {"tools": {"pay": {"effect": "write", "expected_status": 409}}}
    (tmp_path / "a.toml").write_text('[tools.pay]\neffect = "write"\nexpected_status = 409\n')
    (tmp_path / "a.json").write_text(json.dumps(declared))
    tool = ToolExpectation(effect="write", expected_status=(409,))
    made = overclaim.Expectations(tools={"pay": tool})
    assert made == load(declared) == load(tmp_path / "a.toml") == load(str(tmp_path / "a.json")) == load(made)
    assert overclaim.Expectations.load("payments").tools


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tools: {pay: {efect: write}}", "tools.pay.efect: there is no such key; did you mean 'effect'?"),
        ("tools:\n  pay:\n    effect: wrote\n", ":3: tools.pay.effect: must be 'read' or 'write', not 'wrote'"),
        ("tool: {}", "expectations.yaml:1: tool: there is no such key; did you mean 'tools'?"),
        ("tools: {pay: {zzz: 1}}", "there is no such key: it may be effect, empty_ok"),
        ("tools: {pay: {empty_ok: maybe}}", "tools.pay.empty_ok: must be true or false, not 'maybe'"),
        ("tools: {pay: {expected_status: 20}}", "expected_status: must be greater than or equal to 100, not 20"),
        ("tools: {pay: {success_when: {fild: a, equals: 1}}}", "fild: there is no such key; did you mean 'field'?"),
        ("tools: {pay: {success_when: {field: a}}}", "success_when: compares with nothing: give one of equals, in,"),
        ("tools: {pay: {success_when: {equals: 1}}}", 'when: has no field: say which one, or "" for the whole result'),
        ("tools: {pay: {success_when: {field: a..b, exists: true}}}", "success_when.field: must be a path such as"),
        ("tools: {pay: {success_when: {field: a, in: x}}}", "when.in: must be a list of the values that are allowed"),
        ("tools: {pay: {success_when: {field: a, gt: x}}}", "success_when.gt: must be a number, not 'x'"),
        ("tools: {pay: {success_when: {field: a, equals: 2026-01-01}}}", "put a date in quotes"),
        ("tools: {pay: {success_when: {field: a, equals: {b: 1}}}}", "compare the fields inside one by one"),
        ("tools: {pay: {success_when: {field: a, equals: .nan}}}", "must be a finite number"),
        ("tools: {pay: {success_when: {field: a, matches: '('}}}", "matches: is no regular expression"),
        ("tools: {pay: {success_when: {field: a, matches: '(a+)+'}}}", "matches: repeats a group that repeats"),
        ("tools: {pay: {success_when: {field: a, matches: '(a)\\1'}}}", "must not refer back"),
        ("tools: {pay: {success_when: {field: a, matches: 'a+b+c+d+'}}}", "has more than 3 of * and +"),
        ("tools: {pay: {success_when: []}}", "success_when: is an empty list: give at least one condition"),
        ("tools: {pay: {success_when: {any: [{field: a, exists: true}], field: b}}}", "any stands alone"),
        ("tools: {pay: {postcondition: {get: 'ftp://h/x'}}}", "postcondition.get: must be an http or https URL"),
        ("tools: {pay: {postcondition: {get: 'https://{host}/x'}}}", "whose host holds no {argument}"),
        ("tools: {pay: {postcondition: {get: 'https://u:p@h/x'}}}", "and no password"),
        ("tools: {pay: {postcondition: {get: 'https://h/{x'}}}", "has a curly brace without its partner"),
        ("tools: {pay: {postcondition: {get: 'https://h/{}'}}}", "{} names no argument"),
        ("tools: {pay: {postcondition: {get: 'https://h/x#y'}}}", "must hold neither # nor blanks"),
        ("tools: {pay: {postcondition: {status: 200}}}", "tools.pay.postcondition.get: is missing: add it"),
        (
            "tools: {pay: {postcondition: {get: 'https://h/x', headers: {Authorization: sk_live_1234567890abcdef}}}}",
            "Authorization must not be written here: name a variable of the environment",
        ),
        (
            "tools: {pay: {postcondition: {get: 'https://h/x', attempts: 10, timeout: 30}}}",
            "could take longer than 60 s: lower attempts, timeout or pause",
        ),
        (
            "include: [paymants]",
            "include[0]: must be the name of a pack, coding, data, payments or support, not 'paymants'",
        ),
        ("procedures: [{id: a}]", "procedures[0]: has no template: give exactly one of precedence"),
        ("tools: {pay: 3}", "tools.pay: must be a mapping of names to values, not 3"),
        ("[1]", "expectations.yaml: holds a list: give a mapping with tools, procedures or include"),
        ("", "expectations.yaml: holds nothing"),
        ("tools: [", ": is not YAML"),
        ("tools: {}\n---\ntools: {}\n", "expectations.yaml:2: holds more than one document"),
        ("tools:\n  a: {}\n  a: {}\n", "expectations.yaml:3: 'a' stands in line 2 already"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place_and_the_cure(tmp_path: Path, text: str, said: str) -> None:
    """File, line, path, value and what to do about it."""
    told = mistake(tmp_path, text)
    assert told.startswith("expectations.yaml")
    assert said in told


def test_a_secret_in_a_header_is_not_repeated(tmp_path: Path) -> None:
    """The message names the header and never what stood there."""
    text = "tools: {pay: {postcondition: {get: 'https://h/x', headers: {X-Key: sk_live_1234567890abcdef}}}}"
    assert "sk_live" not in mistake(tmp_path, text)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """One a line, so that a file can be mended in one go."""
    told = mistake(tmp_path, "tools:\n  a: {efect: read}\n  b: {empty_ok: maybe}\n")
    assert [line.split(": ")[0] for line in told.splitlines()] == ["expectations.yaml:2", "expectations.yaml:3"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "a = 1\nb = ]\n", "a.toml: is no TOML: Invalid value (at line 2"),
        ("a.json", "{", "a.json: is no JSON: Expecting property name"),
        ("a.json", '{"tools": {"a": {}, "a": {}}}', "a.json: 'a' stands twice in one object"),
        ("a.txt", "", "a.txt: its name must end in .yaml, .yml, .toml or .json"),
        ("paymants", "", "did you mean 'payments'?; packs are coding, data, payments, support"),
    ],
)
def test_other_files(tmp_path: Path, name: str, text: str, said: str) -> None:
    """Every form of file says where it cannot be read."""
    assert said in mistake(tmp_path, text, name)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere.yaml", "nowhere.yaml: cannot be read (No such file or directory): check the path"),
        (3, "expectations cannot be int: give the path of a file, a mapping or overclaim.Expectations"),
        ({"tools": {"pay": {"efect": 1}}}, "expectations: tools.pay.efect: there is no such key"),
    ],
)
def test_other_sources(source: object, said: str) -> None:
    """What is neither file, mapping nor object is refused in plain words."""
    with pytest.raises(InputError) as caught:
        load(source)
    assert said in str(caught.value)


def test_yaml_without_its_extra_names_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The light install reads TOML and JSON, and says what YAML needs."""
    real = builtins.__import__

    def without_yaml(name: str, *more: Any) -> Any:
        if name == "yaml":
            raise ModuleNotFoundError("No module named 'yaml'", name="yaml")
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    path = tmp_path / "a.yaml"
    path.write_text(GOOD)
    with pytest.raises(MissingExtra, match=r"pip install 'overclaim\[yaml\]'"):
        load(path)


def test_an_anchor_that_repeats_itself_ends(tmp_path: Path) -> None:
    """YAML in which each level holds the one before ten times is refused, soon."""
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 12))
    assert "more than" in mistake(tmp_path, f"l0: &l0 [1, 1]\n{levels}")


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    """Conditions within conditions have a bottom."""
    deep = "{not: " * 12 + "{field: a, exists: true}" + "}" * 12
    assert "nested" in mistake(tmp_path, f"tools: {{pay: {{success_when: {deep}}}}}")


def test_what_is_given_comes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OVERCLAIM_EXPECTATIONS is used where nothing is given, and then has to be usable."""
    path = tmp_path / "a.toml"
    path.write_text("[tools.pay]\n")
    assert chosen(None) is None
    monkeypatch.setenv("OVERCLAIM_EXPECTATIONS", str(path))
    found = chosen(None)
    assert found is not None
    assert list(found.tools) == ["pay"]
    given = chosen("coding")
    assert given is not None
    assert "pay" not in given.tools
