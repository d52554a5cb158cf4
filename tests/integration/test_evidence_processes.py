"""Real processes inside a tool: their exit codes, by subprocess and by asyncio."""

from __future__ import annotations

import asyncio
import ctypes.util
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import overclaim
from overclaim.evidence import processes

PYTHON = sys.executable


def ends(code: int) -> list[str]:
    """A command that ends with this code."""
    return [PYTHON, "-c", f"raise SystemExit({code})"]


def by_run(command: list[str]) -> int:
    """By subprocess.run."""
    return subprocess.run(command, capture_output=True).returncode


def by_call(command: list[str]) -> int:
    """By subprocess.call."""
    return subprocess.call(command)


def by_check_call(command: list[str]) -> int:
    """By subprocess.check_call, whose error is swallowed."""
    try:
        return subprocess.check_call(command)
    except subprocess.CalledProcessError as error:
        return error.returncode


def by_poll(command: list[str]) -> int:
    """By Popen, asked from time to time."""
    with subprocess.Popen(command) as process:
        while (code := process.poll()) is None:
            pass
        return code


def by_asyncio(command: list[str]) -> int:
    """By asyncio, with the output."""

    async def main() -> int:
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        await process.communicate()
        assert process.returncode is not None
        return process.returncode

    return asyncio.run(main())


def by_asyncio_wait(command: list[str]) -> int:
    """By asyncio, without it."""

    async def main() -> int:
        return await (await asyncio.create_subprocess_exec(*command)).wait()

    return asyncio.run(main())


WAYS = [by_run, by_call, by_check_call, by_poll, by_asyncio, by_asyncio_wait]


def told(telemetry: Any, tool: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Outcome, rules and values that the only span of a tool shows, but for exceptions that the test handles."""
    found = telemetry.one(f"execute_tool {tool}").attributes
    rules, values = (found.get(f"overclaim.evidence.{name}", ()) for name in ("rule", "value"))
    shown = [one for one in zip(rules, values, strict=True) if one[0] != "exception.handled"]
    return found["overclaim.observed.outcome"], tuple(one[0] for one in shown), tuple(one[1] for one in shown)


def tool_that(work: Callable[[], object], name: str) -> None:
    """Call a tool that does this and tells that all is well."""

    @overclaim.tool(name=name)
    def tool() -> str:
        work()
        return "done"

    assert tool() == "done"


@pytest.mark.parametrize("way", WAYS)
def test_exit_codes_are_seen_once(telemetry: Any, way: Callable[[list[str]], int]) -> None:
    """A code that the tool ignores is a failure; 0 is a success; each is one fact."""
    tool_that(lambda: way(ends(3)), "build")
    tool_that(lambda: way(ends(0)), "pack")
    assert told(telemetry, "build") == ("failure", ("exit.nonzero",), ("3",))
    assert told(telemetry, "pack") == ("success", ("exit.zero",), ("0",))


@pytest.mark.parametrize("way", WAYS)
def test_the_last_run_of_a_program_counts(telemetry: Any, way: Callable[[list[str]], int]) -> None:
    """A second attempt that works mends the first."""
    tool_that(lambda: (way(ends(3)), way(ends(0))), "build")
    assert told(telemetry, "build") == ("success", ("exit.zero",), ("0",))


def test_nothing_of_a_command_is_kept(telemetry: Any) -> None:
    """Only the name of the program names the target."""
    kept: list[Any] = []

    @overclaim.tool
    def deploy() -> str:
        from overclaim._record import current_record

        subprocess.run("TOKEN=geheim-12 exit 4", shell=True)
        subprocess.run("/bin/sh -c 'exit 5' geheim-13", shell=True)
        subprocess.run([PYTHON, "-c", "raise SystemExit(6)  # geheim-14"])
        kept.extend(current_record().evidence)  # type: ignore[union-attr]
        return "deployed"

    deploy()
    assert [one.target for one in kept] == ["process sh", "process sh", f"process {PYTHON.rpartition('/')[2]}"]
    assert "geheim" not in str(kept)
    assert "geheim" not in str(dict(telemetry.one("execute_tool deploy").attributes))


@pytest.mark.parametrize(
    ("command", "target"),
    [
        (["git", "-C", "geheim", "-c", "user.name=geheim", "push", "geheim"], "git push"),
        (["git", "commit", "-m", "push"], "git commit"),
        (["git", "geheim"], "git"),
        (["terraform", "-chdir=geheim", "apply"], "terraform apply"),
        (["own", "--version"], "own --version"),
        (["own", "geheim"], "own"),
        (["echo", "push"], "echo"),
        (["python3", "-m", "pytest", "geheim"], "python3 pytest"),
        (["python3", "push"], "python3"),
        ("git push geheim && geheim", "git push"),
        ("git geheim; git push", "git"),
        ("", "sh"),
    ],
)
def test_a_command_is_known_by_its_program_and_subcommand(command: str | list[str], target: str) -> None:
    """Of the words of a command only such leave as programs define for themselves."""
    program, script = processes._read(command, None, isinstance(command, str))
    assert f"{program} {processes._subcommand(program, processes._told(command, script))}".rstrip() == target


@pytest.mark.parametrize("command", ["grep -q nothing /dev/null", "cd / && grep -q nothing /dev/null"])
def test_an_answer_is_no_failure(telemetry: Any, command: str) -> None:
    """`grep` that finds nothing did its work."""
    tool_that(lambda: subprocess.run(command, shell=True), "look")
    tool_that(lambda: subprocess.run(["sh", "-c", command]), "look_again")
    tool_that(lambda: subprocess.run(["grep", "-q", "x", "/no/such/file"], stderr=subprocess.DEVNULL), "look_wrong")
    assert told(telemetry, "look") == ("success", (), ())
    assert told(telemetry, "look_again") == ("success", (), ())
    assert told(telemetry, "look_wrong")[:2] == ("failure", ("exit.nonzero",))


def test_declared_exit_codes_are_heeded(telemetry: Any) -> None:
    """What is expected of the tool around it counts."""
    overclaim.instrument(
        tracer_provider=telemetry.provider, expectations={"tools": {"sync": {"expected_exit_codes": [24]}}}
    )
    tool_that(lambda: subprocess.run(ends(24)), "sync")
    assert told(telemetry, "sync") == ("success", ("exit.expected",), ("24",))


def test_what_the_program_stops_did_not_fail(telemetry: Any) -> None:
    """A server that a tool started and stopped again ended as it should."""

    def work() -> None:
        for stop in ("terminate", "kill"):
            with subprocess.Popen([PYTHON, "-c", "import time; time.sleep(60)"]) as process:
                getattr(process, stop)()

    async def work_async() -> None:
        process = await asyncio.create_subprocess_exec(PYTHON, "-c", "import time; time.sleep(60)")
        process.kill()
        await process.wait()

    tool_that(work, "serve")
    tool_that(lambda: asyncio.run(work_async()), "serve_async")
    assert told(telemetry, "serve") == ("success", (), ())
    assert told(telemetry, "serve_async") == ("success", (), ())


def test_a_process_that_takes_too_long_failed(telemetry: Any) -> None:
    """A swallowed timeout of subprocess.run is a failure."""

    def work() -> None:
        with suppress(subprocess.TimeoutExpired):
            subprocess.run([PYTHON, "-c", "import time; time.sleep(60)"], timeout=0.2, capture_output=True)

    tool_that(work, "convert")
    outcome, rules, values = told(telemetry, "convert")
    assert (outcome, rules[0], values[0]) == ("failure", "exit.timeout", "TimeoutExpired")


def test_somebody_elses_process_is_no_evidence(telemetry: Any) -> None:
    """A tool that waits for what was started before it is not the one that failed."""
    process = subprocess.Popen(ends(3))
    tool_that(process.wait, "wait_for_job")
    assert told(telemetry, "wait_for_job") == ("success", (), ())


def test_what_an_import_starts_is_no_evidence(telemetry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that looks for a compiler while it is imported says nothing about the tool that needs it."""
    (tmp_path / "looks_for_a_compiler.py").write_text(f"import subprocess\nsubprocess.run({ends(1)!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    tool_that(lambda: __import__("looks_for_a_compiler"), "plot")
    tool_that(lambda: ctypes.util.find_library("no_such_library"), "load")
    assert told(telemetry, "plot") == ("success", (), ())
    assert told(telemetry, "load") == ("success", (), ())


@pytest.mark.parametrize("how", ["to_thread", "executor"])
def test_a_process_in_a_thread_of_the_loop(telemetry: Any, how: str) -> None:
    """From a coroutine, a blocking call belongs to the tool all the same."""

    @overclaim.tool
    async def build() -> str:
        if how == "to_thread":
            await asyncio.to_thread(subprocess.run, ends(3))
        else:
            await asyncio.get_running_loop().run_in_executor(None, subprocess.run, ends(3))
        return "built"

    asyncio.run(build())
    assert told(telemetry, "build") == ("failure", ("exit.nonzero",), ("3",))


def test_a_process_may_be_awaited_elsewhere(telemetry: Any) -> None:
    """A thread that waits for the process of a tool knows whose it is."""

    def work() -> None:
        process = subprocess.Popen(ends(7))
        thread = threading.Thread(target=process.wait)
        thread.start()
        thread.join()

    tool_that(work, "build")
    assert told(telemetry, "build") == ("failure", ("exit.nonzero",), ("7",))


def test_a_command_that_is_not_there(telemetry: Any) -> None:
    """It never starts: the error is the tool's, and what was half made does no harm."""

    @overclaim.tool
    def convert() -> None:
        subprocess.run(["/no/such/program"])

    with pytest.raises(FileNotFoundError):
        convert()
    assert told(telemetry, "convert")[0] == "failure"


def test_a_fault_of_ours_is_not_theirs(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes run as ever, and their exit codes reach the tool, whatever breaks here."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    for name in ("note", "tool_inside"):
        monkeypatch.setattr(processes, name, broken)
        codes: list[int] = []
        for way in WAYS:
            tool_that(lambda way=way, codes=codes: codes.append(way(ends(3))), "build")
        assert codes == [3] * len(WAYS)


def test_off_is_off() -> None:
    """Everything is the very same object again."""
    from asyncio.subprocess import Process

    def functions() -> list[Any]:
        names = ("__init__", "wait", "poll", "communicate", "send_signal", "terminate", "kill")
        return [vars(kind).get(name) for kind in (subprocess.Popen, Process) for name in names]

    from opentelemetry.sdk.trace import TracerProvider

    before = functions()
    overclaim.instrument(tracer_provider=TracerProvider(shutdown_on_exit=False))
    assert functions() != before
    overclaim.uninstrument()
    assert functions() == before
