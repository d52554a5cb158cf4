"""What reports say of hardly any run, of cases worked out by hand, and in the headers of their files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support import fleet
from tests.support.generated_runs import make_run
from tests.support.report_files import FILES, finite, parameters, wanted
from tests.support.stores import put_labelled, receive

from overclaim_detectors import sql
from overclaim_detectors.judging import judge
from overclaim_detectors.report import REPORTS, Window, below, run_report
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("runs", [0, 1])
def test_reports_make_sense_of_hardly_any_run(store: Store, runs: int) -> None:
    """With no run, and with one, each report answers without an error or NaN; where it has no rows it says why."""
    start = fleet.start_of_fleet()
    if runs:
        receive(store, fleet.spans(0, start))
        detect_once(store)
    for kind in REPORTS:
        rows = run_report(store, kind, fleet.window(start, all=True))
        assert finite(rows), kind
        assert rows.rows or below(store, kind, fleet.window(start), rows), kind
    for kind in ("honesty", "endurance", "cost", "coverage"):
        assert bool(run_report(store, kind, fleet.window(start)).rows) == bool(runs)


def test_the_interval_of_honesty_is_the_textbooks(store: Store) -> None:
    """Wilson's interval for 38 of 40, worked out by hand; a version with no run that claims anything has none."""
    columns = ("TraceId", "RunSpanId", "Claim", "Agent", "AgentVersion", "Label", "Started", "Version")
    labels = ["contradicted"] * 2 + ["supported"] * 38 + ["no_claim"]
    rows = [(f"{n}", "r", -1, "a", str(n // 40), label, NOON, 1) for n, label in enumerate(labels)]
    store.insert("overclaim_verdicts", columns, rows)
    found = run_report(store, "honesty", Window(NOON, NOON)).dicts()
    shown = [(row["Runs"], row["Share"], row["Low"], row["High"], row["Silent"]) for row in found]
    assert shown == [(40, 95.0, 83.5, 98.6, 0), (0, None, None, None, 1)]


def test_calls_that_fail_together_widen_the_interval(store: Store) -> None:
    """Ten runs of which two fail at each of four steps say less than forty calls of which eight fail."""
    columns = ("TraceId", "SpanId", "RunSpanId", "Position", "Agent", "Observed", "Grade", "Started", "Version")
    fails = {"together": [(run, step) for run in (0, 1) for step in range(4)], "apart": [(n, n % 4) for n in range(8)]}
    for agent, failed in fails.items():
        rows = [
            (f"{agent}{run}", str(step), "r", 4 + step, agent, "failure" if (run, step) in failed else "success",
             "structured", NOON, 1)
            for run in range(10) for step in range(4)
        ]  # fmt: skip
        store.insert("overclaim_calls", columns, rows)
    apart, together = run_report(store, "endurance", Window(NOON, NOON)).dicts()
    assert [(row["Steps"], row["Runs"], row["All"], row["Bad"]) for row in (apart, together)] == [
        ("5-8", 10, 40, 8)
    ] * 2
    assert (apart["Low"], apart["High"]) == (10.5, 34.8)  # as if all were independent
    assert together["Low"] < 7
    assert together["High"] > 45


def test_cost_gives_nested_and_parallel_calls_to_the_right_run(store: Store) -> None:
    """Of model spans within each other the inner one counts, equal calls at one moment both do, each for its run.

    A call outside of all runs is the first one's.
    """
    runs = ("TraceId", "SpanId", "Agent", "Started", "Ended", "Version")
    second = timedelta(seconds=1)
    store.insert(
        "overclaim_runs", runs,
        [
            ("t", "outer", "outer", NOON, NOON + 9 * second, 1),
            ("t", "inner", "inner", NOON + second, NOON + 3 * second, 1),
        ],
    )  # fmt: skip
    spans = ("TraceId", "SpanId", "ParentSpanId", "Timestamp", "SpanAttributes")
    usage = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": "10", "gen_ai.usage.output_tokens": "1"}
    other = {"llm.token_count.prompt": "5", "openinference.span.kind": "LLM"}
    store.insert(
        "otel_traces", spans,
        [
            ("t", "1", "outer", NOON, usage), ("t", "1", "outer", NOON, usage),  # the same span twice
            ("t", "2", "1", NOON, usage),
            ("t", "3", "inner", NOON + 2 * second, usage), ("t", "4", "inner", NOON + 2 * second, usage),
            ("t", "5", "outer", NOON + 4 * second, other), ("t", "6", "outer", NOON + 60 * second, usage),
        ],
    )  # fmt: skip
    found = {row["Agent"]: row["Tokens"] for row in run_report(store, "cost", Window(NOON, NOON)).dicts()}
    assert found == {"outer": 11 + 5 + 11, "inner": 22}


def test_a_detector_that_sees_nothing_is_said_to_be_blind(store: Store) -> None:
    """Without a declared procedure its rules could not look; runs without an answer blind those of claims."""
    batch = put_labelled(store, [make_run(seed) for seed in range(3)])
    judge(store, batch, 1)
    states = {row["Detector"]: row["State"] for row in run_report(store, "detectors", Window(NOON, NOON)).dicts()}
    assert states["OC401"] == "could not"
    gap = "['no_final_message'] AS Gaps, 0 AS Complete, 9 AS Version"
    store.command(f"INSERT INTO overclaim_runs SELECT * REPLACE ({gap}) FROM overclaim_runs FINAL")  # noqa: S608
    rows = run_report(store, "detectors", Window(NOON, NOON)).dicts()
    blind = {row["Detector"] for row in rows if row["State"] == "could not"}
    assert {"OC101", "OC102", "OC103", "OC202"} <= blind
    assert not {"OC104", "OC201", "OC302"} & blind


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_header_of_a_report_has_all_its_parameters(path: Path) -> None:
    """Each value that the text wants stands in the header with its type and a meaning, and nothing else does."""
    text = path.read_text("utf-8")
    assert {name: one.type for name, one in parameters(text).items()} == wanted(text)
    assert text.startswith("-- ")


def test_the_defaults_of_the_headers_are_those_of_the_command() -> None:
    """What a header gives as default is what `overclaim report` takes without options."""
    window = Window(NOON - timedelta(days=7), NOON)
    for report in REPORTS.values():
        values = report.params(window)
        for query in filter(None, (report.query, report.rest)):
            for name, one in parameters(sql.load(query)).items():
                expected = {"since": "now() - INTERVAL 7 DAY", "now": "now()"}.get(name, str(values[name]))
                assert one.default == expected, (query, name)
