from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from generated_runs import make_run
from stores import put_labelled

from overclaim._errors import InputError, StoreError
from overclaim.cli import main
from overclaim_detectors import judging
from overclaim_detectors.formats import FORMATS, render, write
from overclaim_detectors.layout import Column, Layout
from overclaim_detectors.opening import open_store
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.report import REPORTS, Window, hours, moment, run_report, why_empty, with_tables
from overclaim_detectors.store import Rows, Store

NOW = datetime(2026, 1, 2, tzinfo=UTC)
WINDOW = Window(NOW - timedelta(days=7), NOW, window_hours=6, reference_hours=48)
NASTY = Rows(("Name", "N"), [("=HYPERLINK(1)", -5), ("\x1b[31mred\x07", float("nan")), ("a\u202eb", None)])


@pytest.fixture
def judged(store: Store) -> Store:
    """A store with many judged runs."""
    batch = put_labelled(store, [make_run(seed) for seed in range(150)])
    judging.judge(store, batch, 1)
    judging.find(store, batch, 1, BUILTIN)
    return store


@pytest.mark.parametrize("kind", REPORTS)
def test_every_report_has_rows_in_every_format(judged: Store, kind: str) -> None:
    """Each report answers, and each format of it can be read back."""
    rows = run_report(judged, kind, WINDOW)
    assert rows.rows
    assert len(json.loads(render(rows, "json"))) == len(rows.rows)
    lines = render(rows, "jsonl").splitlines()
    assert [set(json.loads(line)) for line in lines] == [set(rows.columns)] * len(rows.rows)
    assert len(list(csv.reader(io.StringIO(render(rows, "csv"))))) == len(rows.rows) + 1
    assert len(render(rows, "table").splitlines()) == len(rows.rows) + 1


def test_accusations_name_agent_claim_and_evidence(judged: Store) -> None:
    """A row of the claims report says who claimed what, what was observed, by which rule, and where to look."""
    rows = run_report(judged, "claims", WINDOW).dicts()
    for row in rows:
        assert row["Rule"] in ("OC101", "OC102", "OC103")
        assert row["Agent"] == "clerk"
        assert row["Claimed"] == "success"
        assert row["Evidence"]
        assert row["TraceId"]
        assert bool(row["Observed"]) or row["Rule"] in ("OC101", "OC102")


def test_reports_take_no_more_rows_than_asked(judged: Store) -> None:
    """The limit holds, and what is outside of the time is left out."""
    assert len(run_report(judged, "claims", Window(WINDOW.since, NOW, rows=2)).rows) == 2
    assert run_report(judged, "claims", Window(NOW, NOW)).rows == []


def test_nothing_acts_on_a_terminal_or_a_sheet() -> None:
    """Control characters and direction marks are written out in every format, and formulas are defused in CSV."""
    for form in FORMATS:
        text = render(NASTY, form)
        assert not any(mark in text for mark in ("\x1b", "\x07", "\u202e"))
    lines = list(csv.reader(io.StringIO(render(NASTY, "csv"))))
    assert lines[1] == ["'=HYPERLINK(1)", "-5"]
    assert json.loads(render(NASTY, "json"))[1] == {"Name": "\x1b[31mred\x07", "N": None}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


@pytest.mark.parametrize(("columns", "lines"), [("200", 2), ("20", 3)])
def test_a_terminal_gets_a_table_or_blocks(monkeypatch: pytest.MonkeyPatch, columns: str, lines: int) -> None:
    """Where the table is too wide for the terminal, each row is a block of lines; nothing acts on it either way."""
    monkeypatch.setenv("COLUMNS", columns)
    out = Terminal()
    write(Rows(("Name", "Value", "Empty"), [("\x1b[31mabc", "0123456789", "")]), "table", out)
    assert "\\u001b[31mabc" in out.getvalue()
    assert "0123456789" in out.getvalue()
    assert len(out.getvalue().splitlines()) == lines


def test_an_empty_store_says_how_to_fill_it(store: Store) -> None:
    """Without spans the report names the commands that bring some."""
    assert run_report(store, "claims", WINDOW).rows == []
    assert "overclaim demo" in why_empty(store, "claims")


def test_a_store_without_tables_is_explained(store: Store) -> None:
    """The engine's own words for a missing table help nobody."""
    with pytest.raises(StoreError, match="no such table"):
        with_tables(lambda: store.query("SELECT * FROM overclaim_nowhere"))


def test_the_drift_report_is_as_the_textbook_has_it(store: Store) -> None:
    """Wilson and Newcombe intervals and the z test for 2 of 40 then and 12 of 40 now, worked out by hand."""
    columns = ("ServiceName", "Agent", "Tool", "Observed", "Grade", "TraceId", "SpanId", "Started", "Version")
    rows = [
        ("s", "a", "t", "failure" if index < bad else "success", "structured", "x", f"{age}-{index}", when, 1)
        for age, bad, when in (("old", 2, NOW - timedelta(hours=30)), ("new", 12, NOW - timedelta(hours=1)))
        for index in range(40)
    ]
    store.insert("overclaim_calls", columns, rows)
    (row,) = run_report(store, "drift", WINDOW).dicts()
    assert (row["BadThen"], row["AllThen"], row["BadNow"], row["AllNow"]) == (2, 40, 12, 40)
    assert (row["Was"], row["WasLow"], row["WasHigh"]) == (5.0, 1.38, 16.5)
    assert (row["Now"], row["NowLow"], row["NowHigh"]) == (30.0, 18.07, 45.43)
    assert (row["Change"], row["ChangeLow"], row["ChangeHigh"]) == (25.0, 8.43, 40.85)
    assert row["P"] == pytest.approx(0.0033, abs=2e-4)
    assert row["Reading"] == "differs: more often"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", NOW - timedelta(minutes=90)),
        ("7d", NOW - timedelta(days=7)),
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T09:00+02:00", datetime(2026, 1, 1, 7, tzinfo=UTC)),
    ],
)
def test_times_are_read(text: str, expected: datetime) -> None:
    """Ages and ISO times, in UTC unless they say otherwise."""
    assert moment(text, NOW) == expected


@pytest.mark.parametrize("text", ["soon", "", "7 years", "99999999999999999d", "2026-13-01"])
def test_other_times_are_refused(text: str) -> None:
    """What is no time is named, with examples of what is."""
    with pytest.raises(InputError, match="is no time"):
        moment(text, NOW)


def test_lengths_are_whole_hours() -> None:
    """A window is at least an hour."""
    assert (hours("24h"), hours("7d"), hours("10m")) == (24, 168, 1)
    with pytest.raises(InputError):
        hours("2026-01-01")


def test_people_may_only_read(store: Store) -> None:
    """The query handle refuses writes, files, settings, several statements, and what is no SQL."""
    for text in (
        "DROP TABLE overclaim_runs",
        "INSERT INTO overclaim_watermark VALUES ('x', now(), 1)",
        "SELECT 1; SELECT 2",
        "SELECT 1 INTO OUTFILE '/tmp/overclaim-must-not-exist'",
        "SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
        "SET readonly = 0",
        "SELECT 1 SETTINGS readonly = 0",
        "SYSTEM FLUSH LOGS",
        "",
    ):
        with pytest.raises(StoreError):
            store.read(text)
    assert store.read("SELECT {a:UInt8} + 1 AS b; -- a comment", {"a": 1}).rows == [(2,)]


def test_commands_print_what_they_find(judged: Store, store_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    """The report, query, schema and detect commands work on a store from the command line."""
    url = f"chdb://{store_path}"
    assert main(["report", "claims", "--since", "2026-01-01", "--format", "jsonl", "--store", url]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["Agent"] == "clerk"
    assert main(["query", "SELECT {a:UInt8} AS A", "--param", "a=7", "--format", "csv", "--store", url]) == 0
    assert capsys.readouterr().out == "A\n7\n"
    assert main(["detect", "--fail", "--store", url]) == 1
    assert "open accusations" in capsys.readouterr().out
    assert main(["schema"]) == 0
    assert "overclaim_findings" in capsys.readouterr().out
    assert main(["query", "DROP TABLE overclaim_runs", "--store", url]) == 4
    assert "only reading is allowed" in capsys.readouterr().err


def test_a_store_that_is_not_there_is_not_made(tmp_path: object) -> None:
    """Looking at a store that nobody made says so, and leaves nothing behind."""
    with pytest.raises(StoreError, match="overclaim demo"):
        open_store(f"chdb://{tmp_path}/nothing", read_only=True)


WIDE = {
    "At": "2026-01-01 12:00:00", "Agent": "the-agent-that-looks-after-customers-with-questions", "Rule": "OC101",
    "Tool": "mcp__payments__create_payment_intent", "Value": "", "Trace": "f" * 32,
}  # fmt: skip
LAYOUT = Layout(
    (
        Column("At", "{At}", fixed=16),
        Column("Agent", "{Agent}"),
        Column("Tool", "{Tool}"),
        Column("Seen", "{Value}", "-"),
    ),
    ("rule {Rule}", "value {Value}", "trace {Trace}"),
)


def test_a_layout_fits_a_terminal() -> None:
    """No line is wider than the terminal, times are never cut short of minutes, and ids are whole."""
    lines = LAYOUT.lines([WIDE], 60)
    assert max(len(line) for line in lines) <= 60
    assert lines[1].startswith("2026-01-01 12:00  the-agent-that")
    assert lines[1].endswith("-")
    assert f"trace {'f' * 32}" in lines[2]
    assert not any("value" in line for line in lines)


def test_a_layout_keeps_everything_for_a_pipe() -> None:
    """Without a width there are two lines for each row, and nothing is cut."""
    titles, first, second = LAYOUT.lines([WIDE])
    assert titles.split() == ["At", "Agent", "Tool", "Seen"]
    assert WIDE["Agent"] in first
    assert WIDE["Tool"] in first
    assert second == f"    rule OC101  trace {'f' * 32}"


@pytest.mark.parametrize("width", [1, 10, 40])
def test_a_narrow_terminal_breaks_nothing(width: int) -> None:
    """Where nothing fits there is still a line for each row."""
    assert len(LAYOUT.lines([WIDE], width)) >= 3


@pytest.mark.parametrize("kind", REPORTS)
def test_every_report_fits_eighty_columns(judged: Store, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal of 80 columns no report folds, and its layout names only columns that its query returns."""
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    write(run_report(judged, kind, WINDOW), "table", out, REPORTS[kind].layout)
    lines = re.sub(r"\x1b\[\d*m", "", out.getvalue()).splitlines()
    assert len(lines) > 2
    assert [line for line in lines if len(line) > 80] == []
