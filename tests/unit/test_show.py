from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from generated_runs import make_run
from stores import put_labelled
from tests.support.migrated import made_store

from overclaim._errors import InputError
from overclaim.cli import main
from overclaim.outcome.history import bad
from overclaim.outcome.model import Run
from overclaim.procedures import load
from overclaim_detectors import judging, show
from overclaim_detectors.opening import open_store
from overclaim_detectors.procedures import store_procedures
from overclaim_detectors.store import Store


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with many judged runs. What these tests put in is for nobody but themselves."""
    directory = made_store(tmp_path_factory.mktemp("judged"))
    with closing(open_store(f"chdb://{directory}")) as store:
        store_procedures(store, load([{"id": "no-post", "absence": "post"}]))
        batch = put_labelled(store, [make_run(seed) for seed in range(40)])
        judging.judge(store, batch, 1)
        yield store


@pytest.fixture(scope="module")
def every(judged: Store) -> list[tuple[Run, show.Shown]]:
    """Each run with what is shown of it."""
    runs = [make_run(seed)[0] for seed in range(40)]
    return [(run, shown) for run in runs for shown in show.find(judged, run.trace_id)]


def a_trace(store: Store, label: str, rule: str = "") -> str:
    """The trace of a run with this verdict, by this rule if one is given."""
    sql = "SELECT TraceId FROM overclaim_run_verdicts WHERE Label = {label:String} AND Rule LIKE {rule:String} LIMIT 1"
    return store.query(sql, {"label": label, "rule": rule or "%"}).rows[0][0]


def test_a_run_is_shown_whole(every: list[tuple[Run, show.Shown]]) -> None:
    """Each run has its verdict, its claims and its calls in their order, with every fact."""
    assert len(every) == 40
    for run, shown in every:
        text = "\n".join(show.lines(shown))
        assert shown.run["Verdict"].upper() in text.splitlines()[0]
        assert [call["Tool"] for call in shown.calls] == [call.tool for call in run.calls]
        assert [claim["Claimed"] for claim in shown.claims] == [one.claim.outcome.value for one in run.claims]
        for call in run.calls:
            assert call.span_id in text
        facts = Counter(fact.rule for call in run.calls for fact in call.observed.evidence)
        assert all(text.count(f"  {rule} ") + text.count(f"  {rule}\n") >= times for rule, times in facts.items())


def test_broken_procedures_are_shown(every: list[tuple[Run, show.Shown]]) -> None:
    """A run that made a forbidden call says so, with the procedure and the call; another says nothing of it."""
    for run, shown in every:
        text = "\n".join(show.lines(shown))
        forbidden = [call.index for call in run.calls if call.tool == "post" and not bad(call)]
        assert ("procedures broken (1)" in text) is bool(forbidden)
        if forbidden:
            assert f"OC403  no-post  never post\n       call {forbidden[0]}" in text
        assert len(shown.data()["ProceduresBroken"]) == bool(forbidden)  # pyright: ignore[reportArgumentType]


def test_a_run_is_found_by_each_of_its_ids(judged: Store) -> None:
    """The trace, also in capitals, the span of the run, and the id that the user gave."""
    run, _ = make_run(3)
    judged.command("INSERT INTO overclaim_runs SELECT * REPLACE ('Order 7' AS RunId, 9 AS Version) FROM overclaim_runs")
    for given in (run.trace_id, f" {run.trace_id.upper()} ", run.span_id):
        assert [one.run["TraceId"] for one in show.find(judged, given)] == [run.trace_id]
    assert run.trace_id in [one.run["TraceId"] for one in show.find(judged, "Order 7")]


def test_an_accusation_points_at_its_calls(judged: Store) -> None:
    """A contradicted claim names the places of its calls; one of an act without a call says that there is none."""
    for label, rule, words in (
        ("contradicted", "operation.last_outcome_failed", "about call"),
        ("unsupported", "claim.no_call", "about no call"),
    ):
        (shown,) = show.find(judged, a_trace(judged, label, rule))
        text = "\n".join(show.lines(shown))
        assert text.startswith(f"x {label.upper()}")
        assert words in text


def test_words_are_shown_where_there_are_some_and_do_nothing_to_a_terminal(judged: Store) -> None:
    """What an agent said stands beside its claim, with control characters written out."""
    sql = "INSERT INTO overclaim_claims SELECT * REPLACE ('\x1b[2JI did it' AS Text, 9 AS Version)"
    judged.command(f"{sql} FROM overclaim_claims FINAL")
    (shown,) = show.find(judged, a_trace(judged, "contradicted"))
    assert '"\\u001b[2JI did it"' in "\n".join(show.lines(shown))


@pytest.mark.parametrize("given", ["nope", "", "0" * 32, "\x1b[31m"])
def test_an_id_that_nobody_has_is_named(judged: Store, given: str) -> None:
    """An unknown id is an error that says so, in characters that can be seen."""
    with pytest.raises(InputError, match="no run in this store has the trace, span or run id") as caught:
        show.find(judged, given)
    assert "\x1b" not in str(caught.value)


def test_a_trace_without_a_labelled_run_is_told_from_an_unknown_one(judged: Store) -> None:
    """Spans that came in, but hold no run, are counted rather than denied."""
    trace = "ab" * 16
    row = {"Timestamp": 1_767_268_800_000_000_000, "TraceId": trace, "SpanId": "cd" * 8}
    judged.insert("otel_traces", tuple(row), [tuple(row.values())])
    with pytest.raises(InputError, match=f"1 spans of trace {trace} came in"):
        show.find(judged, trace)


def test_the_questions_it_prints_are_answered(judged: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """`overclaim show` ends well as text and JSON, and each statement that it prints runs."""
    run, _ = make_run(3)
    store_path = judged.url.removeprefix("chdb://")
    assert main(["show", run.trace_id, "--format", "json", "--store", store_path]) == 0
    assert json.loads(capsys.readouterr().out)[0]["TraceId"] == run.trace_id
    assert main(["show", run.trace_id, "--store", store_path]) == 0
    printed = capsys.readouterr().out
    questions = show.questions(show.find(judged, run.trace_id))
    assert len(questions) == 5
    for question in questions:
        assert f'overclaim query --store {store_path} "{question}"' in printed
        judged.read(question)
    assert main(["show", "nope", "--store", store_path]) == 2
