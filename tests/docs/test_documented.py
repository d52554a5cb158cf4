"""What exists is documented, in the README or in the help of a command; and what the documents name exists."""

from __future__ import annotations

import importlib.util
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import overclaim
from overclaim import Verdict, _attributes, cli, expectations
from overclaim.expectations import packs
from overclaim.expectations.model import HttpPostcondition, ToolExpectation
from overclaim.integrations.registry import FRAMEWORKS
from overclaim.outcome.conditions import OPERATORS
from overclaim.procedures.model import TEMPLATES, Procedure
from overclaim_collector.config import ServeConfig
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.report import REPORTS

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "collector/README.md", "CONTRIBUTING.md")
README = "".join((ROOT / name).read_text("utf-8") for name in DOCUMENTS[:2])
CODE = "\n".join(
    path.read_text("utf-8")
    for part in ("sdk", "detectors", "collector")
    for path in sorted((ROOT / part).rglob("*.py"))
)
OF_OTHERS = {"--dist", "--data-binary", "--database"}  # pytest's, curl's, clickhouse-client's
OF_THE_DEMO = {"OVERCLAIM_DEMO_KEY", "OVERCLAIM_DEMO_URL"}  # how the demo talks to its own child process


@cache
def parsers() -> dict[str, Any]:
    """The parser of each command."""
    (group,) = (action for action in cli._parser()._actions if action.choices)  # pyright: ignore[reportPrivateUsage]
    return dict(group.choices or {})


@cache
def helps() -> str:
    """The help of all commands."""
    return "\n".join(parser.format_help() for parser in parsers().values())


def everywhere() -> str:
    """The README, and the help of all commands."""
    return README + helps()


def missing(names: Any, text: str) -> list[str]:
    """The names that do not stand in a text as words of their own."""
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def options() -> Iterator[tuple[str, Any]]:
    """Each argument of each command."""
    for name, parser in parsers().items():
        yield from ((name, action) for action in parser._actions)


def test_every_command_is_in_the_readme() -> None:
    """Each command of the entry points is shown as `overclaim NAME`."""
    names = [point.name for point in entry_points(group=cli.GROUP)]
    assert not missing([f"overclaim {name}" for name in names], " ".join(README.split()))


def test_every_command_and_option_has_a_help_text() -> None:
    """No argument of any command stands in the help without a word."""
    silent = [f"{name} {action.dest}" for name, action in options() if not action.help or action.help == "==SUPPRESS=="]
    assert not silent


def test_every_report_is_in_the_readme() -> None:
    """Each kind of report is shown."""
    assert not missing([f"overclaim report {name}" for name in REPORTS], README)


def test_every_variable_is_documented() -> None:
    """Each variable of ours, and of OpenTelemetry's that the code reads, is named in the README or in a help."""
    ours = set(re.findall(r"OVERCLAIM_[A-Z_]*[A-Z]", CODE)) - OF_THE_DEMO
    ours |= {f"OVERCLAIM_{name.upper()}" for name in ServeConfig.model_fields}
    theirs = set(re.findall(r"\"(OTEL_[A-Z_]+)\"", CODE))
    assert "OVERCLAIM_HASH_KEY" in ours
    assert "OTEL_SDK_DISABLED" in theirs
    assert not missing(sorted(ours | theirs), everywhere())


def test_every_variable_named_is_read() -> None:
    """Each OVERCLAIM_ variable in the documents is one that something reads."""
    known = set(re.findall(r"OVERCLAIM_[A-Z_]*[A-Z]", CODE))
    known |= {f"OVERCLAIM_{name.upper()}" for name in ServeConfig.model_fields}
    assert set(re.findall(r"OVERCLAIM_[A-Z_]*[A-Z]", everywhere())) <= known


def test_the_rules_named_are_the_rules_there_are() -> None:
    """Each rule id stands in the README, and each that stands there exists."""
    assert set(re.findall(r"OC\d{3}", README)) == {rule.id for rule in BUILTIN}
    assert set(re.findall(r"OC\d{3}", helps())) <= {rule.id for rule in BUILTIN}


def test_every_public_name_is_in_the_readme() -> None:
    """Each exported name is shown as `overclaim.NAME` or `@overclaim.NAME`."""
    assert not missing([f"overclaim.{name}" for name in overclaim.__all__], README)


def test_the_names_shown_are_public() -> None:
    """Each `overclaim.name` with a call, or with a capital letter, in the README is exported."""
    named = set(re.findall(r"overclaim\.(\w+)\(|`overclaim\.([A-Z]\w+)", README))
    assert {name for pair in named for name in pair if name} <= set(overclaim.__all__)


@pytest.mark.parametrize("function", [overclaim.instrument, overclaim.tool])
def test_every_parameter_is_in_the_readme(function: Any) -> None:
    """Each keyword of the two functions that have many is named."""
    keywords = [name for name in inspect.signature(function).parameters if name != "function"]
    assert not missing(keywords, README)


def test_every_field_of_expectations_is_documented() -> None:
    """Tools, postconditions, conditions, procedures and packs: each word of an expectations file."""
    models = (expectations.Expectations, ToolExpectation, HttpPostcondition, Procedure)
    fields = {name for model in models for name in model.model_fields}
    assert not missing(sorted(fields | {*OPERATORS, *TEMPLATES, "any", "all", "not"}), parsers_help("expectations"))
    assert not missing(packs.NAMES, README)


def parsers_help(name: str) -> str:
    """The help of one command, and the YAML of the README beside it."""
    return parsers()[name].format_help() + "".join(re.findall(r"^```yaml\n(.*?)^```$", README, re.M | re.S))


def test_verdicts_are_all_explained() -> None:
    """The table of verdicts has a row for each, and says rightly whether it accuses."""
    rows = dict(re.findall(r"^\| (\w+) \| (yes|no) \|", README, re.M))
    assert rows == {verdict.value: "yes" if verdict.accuses else "no" for verdict in Verdict}


def test_attributes_shown_exist() -> None:
    """Each overclaim.* attribute in the README is one of ours."""
    known = {value for value in vars(_attributes).values() if isinstance(value, str)}
    shown = set(re.findall(r"`(overclaim\.(?!guards\b)\w+\.[\w.]+)`", README))
    assert shown
    assert shown <= known


def test_every_option_named_is_an_option() -> None:
    """Each `--option` in the text is known to the command, to another program's line, or to the bench named with it."""
    known = {text for _, action in options() for text in action.option_strings} | OF_OTHERS
    for name in set(re.findall(r"python -m (tests\.(?:bench\.\w+|faults))", README)):
        known |= set(re.findall(r"\"(--[\w-]+)\"", source_of(name)))
    text = re.sub(r"```text\n.*?```", "", README, flags=re.S)
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) <= known


def source_of(module: str) -> str:
    """The source of a bench, or of all files of one that is a package."""
    path = ROOT / module.replace(".", "/")
    return "".join(
        file.read_text("utf-8") for file in (path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")])
    )


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_named_exists(document: str) -> None:
    """Files and folders that the documents name are there; a star stands for at least one."""
    text = (ROOT / document).read_text("utf-8")
    tops = "examples|queries|sdk|detectors|collector|tests|tools|\\.ci"
    paths = set(re.findall(rf"(?:(?<=[`\s])|^)((?:{tops})/[\w./*-]*[\w/*]|[A-Z]+\.md|constraints\.txt)", text, re.M))
    assert paths
    assert not [path for path in sorted(paths) if not any(ROOT.glob(path.rstrip("/")))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_bench_named_exists(document: str) -> None:
    """Each `python -m tests...` is a module that can be imported."""
    named = set(re.findall(r"python -m (tests\.[\w.]*\w)", (ROOT / document).read_text("utf-8")))
    assert named
    assert all(importlib.util.find_spec(name) for name in named)


def test_every_extra_named_exists() -> None:
    """Each `[extra]` in the README is one of the distribution's, and each of those for users is named."""
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
    named = set(re.findall(r"`\[(\w+)\]`|'\.\[(\w+)\]'", README))
    frameworks = {one.name for one in FRAMEWORKS}
    assert {name for pair in named for name in pair if name} - frameworks == extras - frameworks


def test_every_framework_is_in_the_table_with_the_versions_tested() -> None:
    """The table has each integration of a framework, after the range that the registry has for it; no other."""
    table = README.partition("<!-- frameworks -->")[2].partition("<!-- /")[0]
    shown: dict[str, str] = {}
    for names, tested in re.findall(r"((?:`\w+`(?:, )?)+) (>=[\d.,<]+?)(?=[ ,]*(?:\||\(|, `))", table):
        shown |= dict.fromkeys(re.findall(r"\w+", names), tested)
    assert shown == {one.name: one.tested for one in FRAMEWORKS}


def test_every_framework_has_an_extra_an_example_and_an_environment() -> None:
    """The extra asks for a tested version; example and tests go by the name of the integration."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    modules = {one.where.partition(":")[0].rpartition(".")[2] for one in FRAMEWORKS}
    for name in sorted(modules - {"langgraph"}):  # LangChain's example and tests are about both
        assert name in extras
        assert (ROOT / "tests" / "frameworks" / f"test_{name}.py").exists()
        assert (ROOT / "tests" / "frameworks" / f"{name}.txt").exists()
        assert (ROOT / "examples" / "frameworks" / f"{name}_agent.py").exists()


def test_the_accuracy_table_has_the_rows_of_its_command() -> None:
    """The measures in the README are those that the bench prints, in its order, and the peers are those it asks."""
    from tests.bench.accuracy import MATTERS
    from tests.bench.peers.catalogue import PEERS

    shown = re.findall(r"^\| ([^|]+) \| ", README.partition("<!-- accuracy -->")[2].partition("<!-- /")[0], re.M)
    assert shown[0] == "measure"
    assert [row for row in shown[1:] if not row.startswith("hard cases")] == list(MATTERS.values())
    peers = README.partition("<!-- peers -->")[2].partition("<!-- /")[0]
    names = {re.split(r"[ ,(]", peer.name)[0] for peer in PEERS} - {"the"}
    assert set(re.findall(r"[a-z]+-[a-z-]+[a-z]|ghostspan|pisama|cruxial|neverempty", peers)) == names
