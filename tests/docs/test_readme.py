"""Everything the README shows is run here."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from overclaim import Outcome, Verdict, _attributes
from overclaim.cli import main
from overclaim_detectors.opening import open_store

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
COLLECTOR = (ROOT / "collector" / "README.md").read_text("utf-8")
NOT_HERE = {"serve", "demo", "doctor"}  # they do not end, have a test of their own, or tell of this machine


def blocks(language: str, text: str = README) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def commands() -> Iterator[list[str]]:
    """Each `overclaim` command line in the shell blocks, without its comment."""
    for line in "".join([*blocks("sh"), *blocks("sh", COLLECTOR)]).splitlines():
        words = shlex.split(line.rpartition("&& ")[2].removeprefix(".venv/bin/"), comments=True)
        if words[0] == "overclaim":
            yield words[1:]


def shown_here() -> Iterator[tuple[str, ...]]:
    """Those that end and tell of a store."""
    for words in commands():
        if words[0] not in NOT_HERE:
            yield tuple(words)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ours as a user would, from the root of the repository."""
    command = [sys.executable, "-m", "overclaim.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=110)


def masked(output: str) -> str:
    """An output without the digits of a confidence, which move when the values are fitted again."""
    return re.sub(r"\(confidence \d\.\d\d\)", "(confidence #)", output.strip())


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store kept by the real demo, and what the demo printed."""
    store = tmp_path_factory.mktemp("demo") / "store"
    return store, run("demo", "--keep", str(store)).stdout


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_shown_exists_with_its_options(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each sub-command and option in a shell block is known to its parser."""
    with pytest.raises(SystemExit) as ended:
        main([words[0], "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(word in text for word in words[1:] if word.startswith("--"))


@pytest.fixture(scope="module")
def trace(demo: tuple[Path, str]) -> str:
    """The trace of a run in the demo's store."""
    with closing(open_store(str(demo[0]), read_only=True)) as store:
        return store.query("SELECT TraceId FROM overclaim_run_verdicts LIMIT 1").rows[0][0]


@pytest.mark.parametrize("words", dict.fromkeys(shown_here()), ids=" ".join)
def test_every_command_shown_works(
    words: tuple[str, ...],
    demo: tuple[Path, str],
    trace: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On the demo's store each command ends as it should; check finds what is wrong with the example."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("OVERCLAIM_STORE", str(demo[0]))
    filled = [{"demo-store": str(demo[0]), "TRACE_ID": trace}.get(one, one) for one in words]
    assert main(filled) == (1 if words[0] == "check" else 0)
    assert capsys.readouterr().out or words[0] == "detect"


def test_the_demo_prints_what_the_readme_shows(demo: tuple[Path, str]) -> None:
    """Each line of the first output block is printed by the real demo, in the same order."""
    shown = [line.rstrip() for line in blocks("text")[0].splitlines() if line.strip()]
    printed = [line.rstrip() for line in demo[1].splitlines()]
    place = 0
    for line in shown:
        assert line in printed[place:]
        place = printed.index(line, place) + 1


def test_check_prints_what_the_readme_shows() -> None:
    """An output block is the output of the check command above it, digits of confidences aside; exit 1."""
    done = run("check", "examples/runs.jsonl")
    assert masked(done.stdout) in [masked(block) for block in blocks("text")]
    assert done.returncode == 1


def test_the_report_prints_what_the_readme_shows(demo: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """An output block is what `report recovery` says of the demo's store."""
    assert main(["report", "recovery", "--store", str(demo[0])]) == 0
    assert capsys.readouterr().out in blocks("text")


def test_the_python_shown_is_the_example_that_runs() -> None:
    """The snippet is examples/payments_agent.py but for its docstring and endpoint argument, and it runs."""
    example = (ROOT / "examples" / "payments_agent.py").read_text("utf-8")
    snippet = blocks("python")[0]
    assert snippet.partition("@overclaim.tool")[2] == example.partition("@overclaim.tool")[2]
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "Endpoint confirmed working." in done.stdout


def test_the_guard_says_what_the_readme_shows() -> None:
    """The second snippet prints the feedback and the mended answer, as the block below it has them."""
    snippet = blocks("python")[1]
    env = {**os.environ, "OTEL_TRACES_EXPORTER": "none"}
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, timeout=60, env=env)
    assert done.stdout in blocks("text")


def test_the_tail_sampling_example_names_what_the_spans_carry() -> None:
    """Every attribute and value in the Collector's configuration is one that overclaim writes."""
    import yaml

    policies = yaml.safe_load((ROOT / "examples" / "tail_sampling.yaml").read_text("utf-8"))
    policies = policies["processors"]["tail_sampling"]["policies"]
    wanted = [one["string_attribute"] for one in policies if "string_attribute" in one]
    known = {_attributes.VERDICT_LABEL: set(Verdict), _attributes.OBSERVED_OUTCOME: set(Outcome)}
    for one in wanted:
        assert set(one["values"]) <= {value.value for value in known[one["key"]]}


def test_the_expectations_shown_are_valid(tmp_path: Path) -> None:
    """The YAML can be used as it stands, and `overclaim expectations` tells of each of its tools and procedures."""
    (shown,) = blocks("yaml")
    file = tmp_path / "expectations.yaml"
    file.write_text(shown, "utf-8")
    done = run("expectations", str(file))
    assert done.returncode == 0, done.stderr
    assert "4 tools, 5 procedures" in done.stdout


def test_the_expectations_shown_accuse_what_they_forbid(tmp_path: Path) -> None:
    """A table that is dropped breaks the procedure that the README shows, and check exits with 1."""
    file, runs = tmp_path / "expectations.yaml", tmp_path / "runs.json"
    file.write_text(blocks("yaml")[0], "utf-8")
    call = {"id": "1", "type": "function", "function": {"name": "drop_table", "arguments": '{"table": "old"}'}}
    messages = [
        {"role": "user", "content": "Drop the table old."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": '{"dropped": true}'},
        {"role": "assistant", "content": "I dropped the table old."},
    ]
    runs.write_text(json.dumps({"messages": messages}), "utf-8")
    done = run("check", "--expect", str(file), str(runs))
    assert done.returncode == 1
    assert "OC403" in done.stdout
    assert "no-drop" in done.stdout


def test_the_two_commands_of_the_readme_are_those_of_ci() -> None:
    """CI runs the very set-up commands that the README promises."""
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    promised = [line for line in "".join(blocks("sh")).splitlines() if "pip install" in line]
    assert len(promised) == 2
    assert all(line in ci for line in promised)
