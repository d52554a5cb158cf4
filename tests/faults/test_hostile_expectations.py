"""Files and objects of expectations, procedures and normals that nobody should write: a clear word, and soon."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from overclaim._errors import InputError
from overclaim.expectations import chosen, load
from overclaim.expectations.conditions import When
from overclaim.normals_file import load as load_normals
from overclaim.normals_file import save as save_normals
from overclaim.outcome.conditions import Result, holds
from overclaim.outcome.normals import Counts, Normals
from overclaim.outcome.pattern_cost import cost


class Rude:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


LOOP: dict[str, Any] = {}
LOOP["not"] = LOOP
RING: list[Any] = []
RING.append(RING)


def told(source: object) -> str:
    """The message that refuses these expectations."""
    with pytest.raises(InputError) as caught:
        load(source)
    return str(caught.value)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ({"expected_status": 10**5000}, "tools.pay.expected_status: must be less than or equal to 599, not this int"),
        ({"success_when": {"field": "a", "gt": 10**400}}, "must be a number of at most 38 digits"),
        ({"success_when": {"field": "a", "equals": 10**400}}, "must be a number of at most 38 digits"),
        ({"success_when": LOOP}, "holds itself: write out what it means"),
        ({"success_when": RING}, "must be a mapping of names to values"),
        ({"success_when": {"field": "a", "equals": RING}}, "nested too deep"),
        ({"effect": Rude()}, "must be 'read' or 'write', not this Rude"),
        (Rude(), "must be a mapping of names to values, not this Rude"),
        ({"success_when": {"any": [{"any": [{"field": "a", "gt": 1}] * 60}] * 60}}, "more than 256"),
        ({"postcondition": {"get": "https://shop.example.com/ä/{id}"}}, "must be written in ASCII"),
        ({"postcondition": {"get": "https://shop.example.com/\x01/{id}"}}, "must be written in ASCII"),
    ],
)
def test_values_that_cannot_be_meant_are_told(tool: object, said: str) -> None:
    """Huge numbers, loops, objects of somebody's own, bombs."""
    assert said in told({"tools": {"pay": tool}})


@pytest.mark.parametrize(
    "postcondition",
    [
        {"get": "https://ann:hunter2@shop.example.com/x"},
        {"get": "https://shop.example.com/", "headers": "hunter2"},
        {"get": "https://shop.example.com/", "headers": {"Authorization": "hunter2"}},
        {"get": "https://shop.example.com/", "headers": {"Authorization": ["hunter2"]}},
        {"get": "https://shop.example.com/", "headers": ["hunter2"]},
    ],
)
def test_a_secret_that_stands_where_it_should_not_is_not_repeated(postcondition: object) -> None:
    """The message says what is wrong without what is secret."""
    said = told({"tools": {"pay": {"postcondition": postcondition}}})
    assert "hunter2" not in said
    assert "tools.pay.postcondition" in said


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("e.yaml", "", "holds nothing"),
        ("e.yaml", "# all commented out\n", "holds nothing"),
        ("e.toml", "", "holds nothing"),
        ("e.json", "{}", "holds nothing"),
        ("e.toml", f"a = {'1' * 5000}", "is no TOML"),
        ("e.json", '{"a": ' + "1" * 5000 + "}", "is no JSON"),
        ("e.json", "[" * 100_000, "nested too deep"),
        ("e.yaml", "tools: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("e.yaml", "tools:\n  on: {effect: write}\n", "must be a text in quotes, not True"),
        (
            "e.yaml",
            "procedures:\n- {id: a, abscence: x}\n",
            "procedures[0].abscence: there is no such key; did you mean",
        ),
        ("e.txt", "", "its name must end in"),
    ],
)
def test_files_that_cannot_be_used_are_told(tmp_path: Path, name: str, text: str, said: str) -> None:
    """With the file, and what to do; an empty file is a mistake, too, for it expects nothing."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    message = told(str(path))
    assert message.startswith(str(path))
    assert said in message


@pytest.mark.parametrize("source", ["", "  ", "a\0.yaml"])
def test_names_that_are_none_are_told(source: str) -> None:
    """Neither an empty name nor one that no file can have ends in a traceback."""
    assert told(source)


def test_the_variable_is_named_where_it_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who did not give a file must learn where its name comes from."""
    monkeypatch.setenv("OVERCLAIM_EXPECTATIONS", "/nowhere/e.yaml")
    with pytest.raises(InputError, match=r"OVERCLAIM_EXPECTATIONS names what cannot be used: /nowhere/e\.yaml"):
        chosen(None)


def test_a_large_file_is_read_soon(tmp_path: Path) -> None:
    """Time grows with the size of a file, and no faster."""
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"tools": {f"tool_{number}": {} for number in range(40_000)}}), encoding="utf-8")
    start = time.monotonic()
    assert len(load(path).tools) == 40_000
    assert time.monotonic() - start < 20


def test_too_many_procedures_are_told() -> None:
    """Every run is judged by each of them."""
    many = [{"id": f"p{number}", "absence": f"drop_{number}"} for number in range(1001)]
    assert "procedures: are 1001, more than 1000" in told({"procedures": many})
    assert len(load({"procedures": many[1:]}).procedures) == 1000


HARD = [
    "a?" * 30 + "a" * 30,
    "(a{1,9}){1,9}b",
    "(?:(?:a?){9}){9}b",
    ".{0,99}.{0,99}.{0,99}b",
    "(?:a|b|ab){1,9}(?:a|b|ab){1,9}c",
    "(a+)+b",
    "(a|aa)*b",
    "(a*){2,3}b",
    "(?>a|aa)*b",
    "a*a*a*a*b",
    "(?=a)b",
    "(?<!a)b",
    r"(a)\1",
    "(a)?(?(1)b|c)",
    "[",
    "a{99999999999}",
]
EASY = ["a*b", "a*a*b", "a*a*a*b", "(a|aa){9}b", "a*+b", "^(.*)x(.*)$", r"\d{1,3}(?:,\d{3})*", "[(]a+[)]+"]


@pytest.mark.parametrize("pattern", HARD)
def test_patterns_that_could_take_for_ever_are_refused(pattern: str) -> None:
    """Whatever nests, adds up or looks around, before it meets a text."""
    assert "success_when" in told({"tools": {"pay": {"success_when": {"field": "a", "matches": pattern}}}})


@pytest.mark.parametrize("pattern", EASY)
@pytest.mark.parametrize("text", ["a" * 50_000, "ab" * 20_000, "(a)" * 9_000 + "!", "1,234" * 9_000])
def test_patterns_that_are_taken_come_to_an_end(pattern: str, text: str) -> None:
    """The worst text for them costs less than a second or two, on a slow machine."""
    condition = When(field="text", matches=pattern).compiled()
    start = time.monotonic()
    holds(condition, Result({"text": text}), {})
    assert time.monotonic() - start < 5


def test_a_costly_pattern_sees_less_of_a_text() -> None:
    """The more ways a pattern has, the shorter the text that it may look at."""
    seen = [cost(pattern).text for pattern in ("ab", "a*b", "a*a*b", "a*a*a*b")]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] > 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        '[{"tool": "a", "changed": 1, "void": 5}]',
        '[{"tool": "a", "missed": 5}]',
        '[{"tool": "a", "changed": ' + "9" * 400 + "}]",
        '[{"tool": "a", "changed": -1}]',
        '[{"tool": "a", "changed": NaN}]',
        '"x"',
        '{"a": 1}',
        "[1]",
    ],
)
def test_normals_that_are_none_are_told(tmp_path: Path, text: str) -> None:
    """Counts that no runs could have given are refused here, for no run could be judged by them."""
    path = tmp_path / "normals.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="--save-normals"):
        load_normals(str(path))


def test_normals_of_a_tool_with_half_a_character_are_kept(tmp_path: Path) -> None:
    """A name that is no Unicode text comes back as it was."""
    path = str(tmp_path / "normals.json")
    save_normals(path, Normals({("", "\ud800tool"): Counts(3, 1)}))
    assert list(load_normals(path).items()) == [("", "\ud800tool", Counts(3, 1))]


FULL = """
import resource, sys, tempfile
from overclaim._errors import InputError
from overclaim.reading import spool
spool._IN_MEMORY = 1
{limit}
try:
    with spool.Spool() as waiting:
        for number in range({count}):
            waiting.add("x" * 100)
        print(sum(1 for _ in waiting))
except InputError as error:
    print("told", error)
"""


@pytest.mark.parametrize("count", [1, 1000])
def test_a_full_disk_is_told(count: int) -> None:
    """Whether it is full while runs are written, or when the last of them are."""
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))"
    done = _ran(FULL.format(limit=limit, count=count))
    assert done.startswith("told runs cannot be kept in")
    assert "TMPDIR" in done


def test_a_missing_folder_for_temporary_files_is_told() -> None:
    """No folder at all is a message, and no traceback."""
    done = _ran(FULL.format(limit="tempfile._candidate_tempdir_list = lambda: ['/nowhere']", count=1))
    assert done.startswith("told runs cannot be kept in the folder for temporary files")


def _ran(code: str) -> str:
    """What a program of its own prints; a limit of this process would hold for all tests."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert not done.stderr
    return done.stdout
