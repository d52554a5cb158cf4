from __future__ import annotations

import csv
import io
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from shutil import copytree

import pytest
from generated_runs import make_run
from stores import put_labelled
from tests.support import fleet
from tests.support.migrated import made_store

from overclaim._errors import InputError, StoreError
from overclaim.cli import main
from overclaim.procedures import load
from overclaim_detectors import judging
from overclaim_detectors.drift.job import DriftJob
from overclaim_detectors.formats import FORMATS, render, say, write
from overclaim_detectors.layout import Column, Layout
from overclaim_detectors.normals import learn
from overclaim_detectors.opening import open_store, resolved
from overclaim_detectors.opening import store_path as store_path_of
from overclaim_detectors.procedures import store_procedures
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.report import (
    REPORTS,
    Window,
    below,
    hours,
    left_out,
    moment,
    run_report,
    why_empty,
    with_tables,
)
from overclaim_detectors.report_notes import cut, quiet
from overclaim_detectors.store import QueryError, Rows, Store

NOW = datetime(2026, 1, 2, tzinfo=UTC)
WINDOW = Window(NOW - timedelta(days=7), NOW, window_hours=6, reference_hours=48)
ALL = replace(WINDOW, all=True)
NASTY = Rows(("Name", "N"), [("=HYPERLINK(1)", -5), ("\x1b[31mred\x07", float("nan")), ("a\u202eb", None)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a store with many judged runs."""
    directory = made_store(tmp_path_factory.mktemp("judged"))
    with closing(open_store(f"chdb://{directory}")) as store:
        store_procedures(store, load([{"id": "post-first", "first": "post"}, {"id": "no-post", "absence": "post"}]))
        batch = put_labelled(store, [make_run(seed) for seed in range(150)])
        judging.judge(store, batch, 1)
        judging.find(store, batch, 1, BUILTIN)
        learn(store)
        for table, row in fleet.by_hand(WINDOW.since).items():
            store.insert(table, tuple(row), [tuple(row.values())])
    return directory


@pytest.fixture
def judged(made: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of it."""
    with closing(open_store(f"chdb://{copytree(made, tmp_path / 'judged', symlinks=True)}")) as store:
        yield store


@pytest.mark.parametrize("kind", REPORTS)
def test_every_report_has_rows_in_every_format(judged: Store, kind: str) -> None:
    """Each report answers, and each format of it can be read back."""
    rows = run_report(judged, kind, ALL)
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


def test_a_row_of_the_claims_report_stands_for_all_claims_on_one_ground(judged: Store) -> None:
    """One call and rule give one row, however many claims of the run rest on it; no accusation is lost or made up."""
    rows = run_report(judged, "claims", WINDOW).dicts()
    sql = "SELECT TraceId, Rule FROM overclaim_findings FINAL WHERE Open AND Claim >= 0"
    findings = Counter(tuple(row) for row in judged.query(sql).rows)
    shown: Counter[tuple[str, str]] = Counter()
    for row in rows:
        shown[row["TraceId"], row["Rule"]] += row["Claims"]
    assert shown == findings
    assert len(rows) < findings.total()
    grounds = [(row["TraceId"], row["Rule"], row["Evidence"], row["Value"], row["EvidenceSpanId"]) for row in rows]
    assert len({*grounds}) == len(grounds)


def test_words_of_claims_that_share_a_row_are_all_there(judged: Store) -> None:
    """Where spans carried content, a row has the words of each of its claims, in their order."""
    sql = "INSERT INTO overclaim_claims SELECT * REPLACE (concat('said ', toString(Position)) AS Text, 9 AS Version)"
    judged.command(f"{sql} FROM overclaim_claims FINAL")
    rows = run_report(judged, "claims", WINDOW).dicts()
    assert any(row["Claims"] > 1 for row in rows)
    for row in rows:
        words = row["Words"].split(" / ")
        assert (len(words), words) == (row["Claims"], sorted(words))


def test_silent_means_that_nobody_noticed(judged: Store) -> None:
    """By default no failure is shown that was mended, told or accused; --all shows those, and the rest is counted."""
    silent, every = (run_report(judged, "silent", window).dicts() for window in (WINDOW, ALL))
    assert {row["Noticed"] for row in silent} == {"nobody"}
    assert {row["Noticed"] for row in every} == {
        "nobody", "agent (mended it)", "agent (told its user)", "overclaim (see report claims)",
    }  # fmt: skip
    assert [row for row in every if row["Noticed"] == "nobody"] == silent
    assert left_out(judged, "silent", WINDOW).startswith(f"{len(every) - len(silent)} failures that somebody noticed")
    assert left_out(judged, "silent", ALL) == ""


def test_compare_says_in_a_line_what_is_new(judged: Store) -> None:
    """On the first day there is nothing to compare with: no rows, one line of counts; --all lists them."""
    first_day = Window(WINDOW.since, NOW, window_hours=48, reference_hours=48)
    assert run_report(judged, "compare", first_day).rows == []
    assert left_out(judged, "compare", first_day).startswith("New, with nothing to compare with yet: 1 agent and 2 t")
    assert {row["Reading"] for row in run_report(judged, "compare", replace(first_day, all=True)).dicts()} == {"new"}


def test_verdicts_on_runs_are_counted_without_knowing_how(judged: Store) -> None:
    """The views have one row per run and one per claim, also after a run was judged twice."""
    batch = put_labelled(judged, [make_run(seed) for seed in range(150)], 2)
    judging.judge(judged, batch, 2)
    counted = judged.query(
        "SELECT (SELECT count() FROM overclaim_run_verdicts), (SELECT count() FROM overclaim_runs FINAL),"
        " (SELECT count() FROM overclaim_claim_verdicts), (SELECT count() FROM overclaim_claims FINAL)"
    ).rows[0]
    assert (counted[0], counted[2]) == (counted[1], counted[3])
    assert counted[0] == 150


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


def test_what_is_cut_is_counted(judged: Store) -> None:
    """Where more rows were found than asked for, a line says how many; where none is missing, nothing does."""
    every = len(run_report(judged, "claims", WINDOW).rows)
    few = replace(WINDOW, rows=every - 3)
    assert f"3 more rows are left out: --rows {every}." in below(
        judged, "claims", few, run_report(judged, "claims", few)
    )
    all_of_them = replace(WINDOW, rows=every)
    said = below(judged, "claims", all_of_them, run_report(judged, "claims", all_of_them))
    assert not any("left out" in line for line in said)
    assert cut(3, 2, 10) == "1 more row is left out: --rows 3."
    assert cut(12, 2, 10) == "10 more, at least, rows are left out: --rows 12."


def test_rows_and_claims_are_told_apart(judged: Store) -> None:
    """Detect counts accused claims and the report has fewer rows: both numbers stand below it."""
    rows = run_report(judged, "claims", WINDOW)
    claims = judged.query("SELECT count() FROM overclaim_findings FINAL WHERE Open AND Claim >= 0").rows[0][0]
    assert claims > len(rows.rows)
    assert any(line.startswith(f"{len(rows.rows)} rows for {claims} claims") for line in below(
        judged, "claims", WINDOW, rows
    ))  # fmt: skip


def test_judged_runs_whose_spans_are_gone_are_no_empty_store(judged: Store) -> None:
    """Spans are dropped long before verdicts: a report without rows then says how many runs were judged."""
    assert judged.query("SELECT count() FROM otel_traces").rows == [(0,)]
    assert "Runs judged so far: 150" in why_empty(judged, "claims")


def test_drift_says_that_nobody_has_looked_yet(judged: Store) -> None:
    """Before the first pass of the drift job "no drift" would be wrong; after it, it is right."""
    assert why_empty(judged, "drift").startswith("Nobody has looked for drift yet")
    DriftJob(judged, clock=lambda: NOW.timestamp()).once()
    assert why_empty(judged, "drift").startswith("No drift is open")
    assert why_empty(judged, "drift", every=True).startswith("No drift is open, and none was closed or accepted")
    assert why_empty(judged, "silent", every=True).startswith("No call failed, noticed or not")


def test_quiet_streams_are_told_of_with_all_rows_as_well() -> None:
    """--all shows the small drifts themselves, so only their count goes; what is quiet is said either way."""
    counts = {"Parts": 1, "Small": 1, "Quiet": 3, "Blind": 3, "Smallest": 0, "Largest": 0, "NotYet": 0, "Lacking": []}
    assert quiet(counts).endswith("2 drifts too small to matter, or part of another: --all.")
    assert quiet(counts, every=True) == "Quiet: 3 streams of behaviour. Too few runs in a week to show any change: 3."


@pytest.mark.parametrize("rows", ["0", "-1", "many", ""])
def test_fewer_than_one_row_is_refused(rows: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A number of rows that shows nothing is a mistake, and named."""
    with pytest.raises(SystemExit) as ended:
        main(["report", "claims", f"--rows={rows}"])
    assert ended.value.code == 2
    assert "no number of rows: write 1 or more" in capsys.readouterr().err


def test_an_empty_store_says_how_to_fill_it(store: Store) -> None:
    """Without spans the report names the commands that bring some."""
    assert run_report(store, "claims", WINDOW).rows == []
    assert "overclaim demo" in why_empty(store, "claims")


def test_a_store_without_tables_is_explained(store: Store) -> None:
    """The engine's own words for a missing table help nobody."""
    with pytest.raises(StoreError, match="no such table"):
        with_tables(lambda: store.query("SELECT * FROM overclaim_nowhere"))


def test_the_comparison_is_as_the_textbook_has_it(store: Store) -> None:
    """Wilson and Newcombe intervals and the z test for 2 of 40 then and 12 of 40 now, worked out by hand."""
    columns = ("ServiceName", "Agent", "Tool", "Observed", "Grade", "TraceId", "SpanId", "Started", "Version")
    rows = [
        ("s", "a", "t", "failure" if index < bad else "success", "structured", "x", f"{age}-{index}", when, 1)
        for age, bad, when in (("old", 2, NOW - timedelta(hours=30)), ("new", 12, NOW - timedelta(hours=1)))
        for index in range(40)
    ]
    store.insert("overclaim_calls", columns, rows)
    (row,) = run_report(store, "compare", WINDOW).dicts()
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


@pytest.mark.parametrize("text", ["2026-01-01", "soon", "99999999999999999d"])
def test_a_time_is_no_length(text: str) -> None:
    """Where a length is wanted, the hint has lengths alone."""
    with pytest.raises(InputError, match="is no length of time: write one such as 6h") as caught:
        hours(text)
    assert "UTC" not in str(caught.value)


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


def test_commands_print_what_they_find(judged: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """The report, query, schema and detect commands work on a store from the command line."""
    url = judged.url
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


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT 1 FROM", "SELECT (1"])
def test_a_mistake_in_sql_is_named_by_the_engine(store: Store, sql: str) -> None:
    """Whoever mistypes a statement is told where the engine's parser stumbled."""
    with pytest.raises(QueryError, match="Syntax error: failed at position") as caught:
        store.read(sql)
    assert "formatQuery" not in str(caught.value)


def test_a_plain_path_is_a_store(judged: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """--store takes the directory of an embedded store as it is written in a shell."""
    path = judged.url.removeprefix("chdb://")
    assert main(["report", "claims", "--since", "2026-01-01", "--format", "jsonl", "--store", path]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 1


@pytest.mark.parametrize("name", ["store", "a b", "a#b", "a?b=c", "100%", "x:y", "[z]"])
def test_a_path_may_have_any_name(tmp_path: Path, name: str) -> None:
    """What means something in a URL means nothing in a path."""
    assert store_path_of(resolved(str(tmp_path / name))) == tmp_path / name


def test_a_directory_of_other_files_is_no_store(tmp_path: Path) -> None:
    """A store never mixes with other files, and looking at such a directory leaves it as it is."""
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(StoreError, match="holds other files"):
        open_store(str(tmp_path))
    with pytest.raises(StoreError, match="there is no store"):
        open_store(str(tmp_path), read_only=True)
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("url", ["clickhouse://127.0.0.1:abc/db", "http://[::1", "ftp://host/x"])
def test_an_address_that_is_none_is_named(url: str) -> None:
    """A store URL that cannot be read is an error with that URL in it."""
    with pytest.raises(InputError, match=re.escape(url)):
        open_store(url)


def test_a_server_out_of_reach_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing but our own error is printed, although the client library logs its own."""
    assert main(["report", "claims", "--store", "clickhouse://127.0.0.1:9/db"]) == 4
    printed = capfd.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith("overclaim: cannot use ClickHouse at clickhouse://127.0.0.1:9/db")


class Stranger(BaseHTTPRequestHandler):
    """A web server that is no overclaim."""

    def do_GET(self) -> None:
        """Answer as to every other request."""
        self.do_POST()

    def do_POST(self) -> None:
        """Answer with the body that the test wants."""
        status, body = self.server.answer  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    "answer", [(200, b"{}"), (200, b"[]"), (200, b"<html>"), (200, b"\xff"), (404, b"<html>"), (400, b"[]"), (500, b"")]
)
def test_a_server_that_is_no_overclaim_is_named(answer: tuple[int, bytes]) -> None:
    """Whatever another web server answers, the address is called wrong."""
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        server.answer = answer  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            with pytest.raises(StoreError, match=f"127.0.0.1:{server.server_port}, but it is no `overclaim serve`"):
                open_store(f"http://127.0.0.1:{server.server_port}").query("SELECT 1")
        finally:
            server.shutdown()
            thread.join()


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
    rows = run_report(judged, kind, ALL)
    write(rows, "table", out, REPORTS[kind].layout)
    say([REPORTS[kind].legend, *below(judged, kind, ALL, rows)], out)
    lines = re.sub(r"\x1b\[\d*m", "", out.getvalue()).splitlines()
    assert len(lines) > 2
    assert [line for line in lines if len(line) > 80] == []
