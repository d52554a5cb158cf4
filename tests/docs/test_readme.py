"""Everything the README shows is run here."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from overclaim.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def commands() -> Iterator[list[str]]:
    """Each `overclaim` command line in the shell blocks."""
    for line in "".join(blocks("sh")).splitlines():
        words = shlex.split(line.rpartition("&& ")[2].removeprefix(".venv/bin/"))
        if words[0] == "overclaim":
            yield words[1:]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ours as a user would, from the root of the repository."""
    return subprocess.run(
        [sys.executable, "-m", "overclaim.cli", *arguments], capture_output=True, text=True, cwd=ROOT, timeout=110
    )


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_shown_exists_with_its_options(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each sub-command and option in a shell block is known to its parser."""
    with pytest.raises(SystemExit) as ended:
        main([words[0], "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(word in text for word in words[1:] if word.startswith("--"))


def test_the_demo_prints_what_the_readme_shows() -> None:
    """Each line of the first output block is printed by the real demo, in the same order."""
    shown = [line.rstrip() for line in blocks("text")[0].splitlines() if line.strip()]
    printed = [line.rstrip() for line in run("demo").stdout.splitlines()]
    place = 0
    for line in shown:
        assert line in printed[place:]
        place = printed.index(line, place) + 1


def test_check_prints_what_the_readme_shows() -> None:
    """The second output block is the whole output of the check command above it, which exits with 1."""
    done = run("check", "examples/runs.jsonl")
    assert done.stdout.strip() == blocks("text")[1].strip()
    assert done.returncode == 1


def test_the_python_shown_is_the_example_that_runs() -> None:
    """The snippet is examples/payments_agent.py but for its docstring and endpoint argument, and it runs."""
    example = (ROOT / "examples" / "payments_agent.py").read_text("utf-8")
    snippet = blocks("python")[0]
    assert snippet.partition("@overclaim.tool")[2] == example.partition("@overclaim.tool")[2]
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "Endpoint confirmed working." in done.stdout


def test_the_two_commands_of_the_readme_are_those_of_ci() -> None:
    """CI runs the very set-up commands that the README promises."""
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    promised = [line for line in "".join(blocks("sh")).splitlines() if "pip install" in line]
    assert len(promised) == 2
    assert all(line in ci for line in promised)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:examples|queries)/[\w./]+|[A-Z]+\.md)`", README))))
def test_every_file_named_exists(path: str) -> None:
    """Files and folders that the README names are there."""
    assert (ROOT / path).exists()


def test_the_names_shown_are_public() -> None:
    """Each `overclaim.name(` in the README is exported."""
    import overclaim

    named = set(re.findall(r"overclaim\.(\w+)\(", README))
    assert named <= set(overclaim.__all__)


def test_verdicts_are_all_explained() -> None:
    """The table of verdicts has a row for each, and says rightly whether it accuses."""
    from overclaim import Verdict

    rows = dict(re.findall(r"^\| (\w+) \| (yes|no) \|", README, re.M))
    assert rows == {verdict.value: "yes" if verdict.accuses else "no" for verdict in Verdict}


def test_attributes_shown_exist() -> None:
    """Each overclaim.* attribute in the README is one of ours."""
    from overclaim import _attributes

    known = {value for value in vars(_attributes).values() if isinstance(value, str)}
    shown = set(re.findall(r"`(overclaim\.\w+\.[\w.]+)`", README))
    assert shown
    assert shown <= known
