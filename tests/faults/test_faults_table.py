"""The command that measures all faults: what its table says where a goal is held, missed, or cannot be measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults import __main__ as command
from tests.faults.harness.catalogue import FAULTS
from tests.faults.harness.damage import named
from tests.faults.harness.fault import Fault, Measured, Options, not_built
from tests.faults.harness.senders import Book
from tests.faults.harness.tests_of import covered_by, run


def fault(name: str, *, found: Measured | None = None) -> Fault:
    """A fault that comes to that, or fails to be measured."""

    def measure(_: Options) -> Measured:
        if found is None:
            raise OSError("no such thing")
        return found

    return Fault(name, f"what {name} is", "0 lost", measure)


ALL = (
    fault("held", found=Measured("0 lost", True)),
    fault("missed", found=Measured("3 lost", False)),
    fault("absent", found=not_built("no spool")),
    fault("failing"),
)


def test_each_fault_is_a_row(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Goal, figure and judgement beside each other; one that cannot be measured keeps no other from it."""
    monkeypatch.setattr(command, "FAULTS", ALL)
    monkeypatch.setattr("sys.argv", ["faults", "--markdown"])
    assert command.main() == 1
    rows = [row.strip("| ").split(" | ") for row in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["fault", "goal", "measured", "ok"]
    assert rows[2:] == [
        ["what held is", "0 lost", "0 lost", "yes"],
        ["what missed is", "0 lost", "3 lost", "NO"],
        ["what absent is", "0 lost", "not built: no spool", "-"],
        ["what failing is", "0 lost", "could not be measured: OSError: no such thing", "NO"],
    ]


def test_what_is_missing_is_no_goal_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a goal that is missed makes the command fail, and only chosen faults are measured."""
    monkeypatch.setattr(command, "FAULTS", ALL)
    monkeypatch.setattr("sys.argv", ["faults", "held", "absent"])
    assert command.main() == 0
    monkeypatch.setattr("sys.argv", ["faults", "unknown"])
    with pytest.raises(SystemExit):
        command.main()


def test_every_fault_has_its_own_name() -> None:
    """Names are what the command takes."""
    names = [one.name for one in FAULTS]
    assert len(set(names)) == len(names)
    assert all(one.what and one.goal for one in FAULTS)


def test_a_row_that_tests_cover_counts_them(tmp_path: Path) -> None:
    """Passed and failed tests are counted, files that are not there are told as not built."""
    file = tmp_path / "test_two.py"
    file.write_text("def test_good():\n    pass\n\ndef test_bad():\n    assert False\n")
    found = run([file])
    assert (found.ok, found.said.rpartition(": ")[2]) == (False, "1 failed, 1 passed")
    assert run([file], "good").ok is True
    assert run([file], "neither").ok is None
    assert covered_by("tests/no_such_*.py")(Options()).ok is None


def test_the_book_balances_only_when_every_run_came_to_an_end() -> None:
    """A run that was sent and neither acknowledged nor given up, or both, is a fault of the measurement."""
    book = Book(20)
    for line in ("sent a", "ok a 0.1", "sent b"):
        book.add(line)
    assert not book.balanced()
    book.add("failed b 0.1")
    assert book.balanced()
    book.add("ok b 0.1")
    assert not book.balanced()


def test_damage_counts_as_told_only_with_table_rows_and_cure() -> None:
    """A line that names the part alone, or calls it well, does not count."""
    good = "bad   store parts: part a_1_1_0 of otel_traces, 1000 rows: broken\n      move /x/a_1_1_0 away"
    assert named(good, ("a_1_1_0",)) == 1
    assert named(good.replace("bad ", "ok  "), ("a_1_1_0",)) == 0
    assert named(good.replace("1000 rows", "some rows"), ("a_1_1_0",)) == 0
    assert named(good.replace("/x/a_1_1_0", "it"), ("a_1_1_0",)) == 0
