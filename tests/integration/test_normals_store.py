from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import scripted_agents as agents
from both_judges import as_trace
from stores import FINDINGS, VERDICTS, empty, put_labelled, receive

import overclaim
from overclaim._errors import StoreError
from overclaim.outcome.model import Call, Effect, Evidence, Grade, Observation, Operation, Outcome, Run
from overclaim.outcome.normals import Normals
from overclaim.outcome.normals import learn as learn_in_python
from overclaim_detectors import normals, sql
from overclaim_detectors.normals import EVERY_S, Learned, learn
from overclaim_detectors.runner import Detection
from overclaim_detectors.store import Store

S, F, P, E, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN
FACTS = (
    Evidence("empty_result", "empty.void", S, Grade.INFERRED),
    Evidence("empty_result", "empty.container", E, Grade.INFERRED),
    Evidence("exception", "exception.raised", F, Grade.STRUCTURED, "UserNotFoundError"),
    Evidence("exception", "exception.raised", F, Grade.STRUCTURED, "DoesNotExist"),
    Evidence("exception", "exception.raised", F, Grade.STRUCTURED, "TimeoutError"),
    Evidence("http_status", "http.status_4xx", F, Grade.STRUCTURED, "404"),
    Evidence("http_status", "http.status_4xx", F, Grade.STRUCTURED, "403"),
    Evidence("swallowed_exception", "exception.raised", F, Grade.SUSPECT, "KeyError"),
)


@overclaim.tool
def book_room(room: str) -> dict[str, Any] | None:
    """A tool that returns its booking, but for one room."""
    return None if room == "R-99" else {"booking": room}


def bookings(*rooms: str) -> list[agents.Row]:
    """The spans of an agent for each room that books it and says so."""
    with agents.recording() as rows:
        for room in rooms:
            with overclaim.run("booker") as run:
                book_room(room)
                run.answer(f"I have booked room {room}.")
        return rows()


def current(store: Store, learned: Learned | None = None) -> Normals:
    """By what a trace is seen that arrives now."""
    return (learned or Learned(store)).of_traces(["new"])["new"]


def some_run(seed: int) -> Run:
    """A run with calls of any kind of a few tools."""
    dice = random.Random(seed)
    calls: list[Call] = []
    for index in range(dice.choice((1, 2, 4))):
        tool, action = dice.choice((("book", "book"), ("find", "search"), ("read", "read"), ("sh", "run"), ("x", "")))
        facts = tuple(dice.sample(FACTS, dice.choice((0, 1, 1, 2))))
        seen = Observation(dice.choice((S, S, F, P, E, U)), dice.choice(tuple(Grade)), facts)
        effect = dice.choice((Effect.READ, Effect.WRITE, Effect.UNKNOWN))
        calls.append(Call(index, tool, Operation(action, effect=effect, key=f"{seed} {index}"), seen))
    return Run(f"r{seed}", tuple(calls), service="shop")


def test_both_learn_the_same(store: Store) -> None:
    """SQL counts in the store what Python counts in the runs, however often they were labelled."""
    runs = [some_run(seed) for seed in range(600)]
    for version in (1, 2):
        put_labelled(store, [as_trace(run, number) for number, run in enumerate(runs)], version)
    learn(store)
    found = list(current(store).items())
    assert found == list(learn_in_python(runs).items())
    assert any(counts.void for *_, counts in found)
    assert any(counts.missed for *_, counts in found)


def test_the_report_and_python_agree_on_what_is_probable(store: Store) -> None:
    """The report shows the figure by which Python decides."""
    put_labelled(store, [as_trace(some_run(seed), seed) for seed in range(200)])
    learn(store)
    known = current(store)
    rows = store.query(sql.load("report/normals"), {"since": "2020-01-01", "rows": 100}).dicts()
    shown = {row["Tool"]: row["ReturnsData"] for row in rows if row["Changed"]}
    assert shown == pytest.approx({tool: known.of("shop", tool).returns_data for tool in shown}, abs=1e-3)
    assert shown


def test_learning_reads_only_the_newest_calls(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it costs does not grow with the history."""
    put_labelled(store, [as_trace(some_run(seed), seed * 3_600_000) for seed in range(100)])
    monkeypatch.setattr(normals, "CALLS", 20)
    learn(store)
    assert 0 < sum(counts.changed + counts.looked for *_, counts in current(store).items()) <= 20


def test_an_unusual_answer_is_found_in_the_store(store: Store) -> None:
    """After a pass over runs that return data, one that returns nothing is accused, with the figures; not before."""
    receive(store, bookings("R-99"))
    detection = Detection(store)
    detection.once()
    assert {row["Label"] for row in store.query(VERDICTS).dicts()} == {"supported"}
    empty(store)
    receive(store, bookings(*(f"R-{number}" for number in range(9))))
    detection = Detection(store)
    assert detection.once().findings == 0
    receive(store, bookings("R-99"))
    detection.once()
    (found,) = store.query(FINDINGS).dicts()
    assert (found["Rule"], found["EvidenceRule"], found["Severity"]) == ("OC102", "empty.unusual", "high")
    assert found["EvidenceValue"] == "data in 9 of 9 other runs"
    rules = [row["Rule"] for row in store.query(VERDICTS).dicts() if row["Label"] == "unsupported"]
    assert rules == ["operation.unusually_empty"] * 2


def judged(store: Store, detection: Detection, *arrivals: list[agents.Row]) -> list[tuple[Any, ...]]:
    """The verdicts after these spans arrived, each list for itself."""
    for spans in arrivals:
        receive(store, spans)
        detection.once()
    return store.query(VERDICTS).rows


def test_what_is_delivered_again_is_judged_as_before(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was learned meanwhile, of runs from before anything was known and of later ones, in any order."""
    monkeypatch.setattr(normals, "EVERY_S", 0)  # it learns after every pass
    detection = Detection(store)
    first, usual = bookings("R-1", "R-99", "R-2"), bookings(*(f"R-{number}" for number in range(9)))
    last, void = bookings("R-3", "R-99"), bookings(*["R-99"] * 24)
    before = judged(store, detection, first, usual, last, void)
    rules = [row[3] for row in before if row[0] in {span[1] for span in first + last}]
    assert rules.count("operation.unusually_empty") == 2  # the run of the last ones and its claim
    learned = current(store)
    dice = random.Random(3)
    for again in (last, dice.sample((first + last) * 2, 2 * len(first + last)), usual + void):
        assert judged(store, detection, again) == before
    assert judged(store, Detection(store), *([span] for span in dice.sample(first + last, 2))) == before
    assert list(current(store).items()) == list(learned.items())  # nor has any run a second vote


def test_late_spans_are_seen_by_what_was_known_at_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that comes in parts gets the verdict that it gets in one piece, though more is known by then."""
    monkeypatch.setattr(normals, "EVERY_S", 0)
    detection, spans = Detection(store), bookings("R-99")
    usual, void = bookings(*(f"R-{number}" for number in range(9))), bookings(*["R-99"] * 40)
    judged(store, detection, usual, spans[:1], void, spans[1:])
    (trace,) = {str(span[1]) for span in spans}
    found = [row[3] for row in store.query(VERDICTS).rows if row[0] == trace]
    assert found == ["operation.unusually_empty"] * 2


def test_what_was_known_long_ago_is_forgotten(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a month without a count, nothing is known any more."""
    put_labelled(store, [as_trace(replace(some_booking(number), service="shop"), number) for number in range(9)])
    learn(store)
    receive(store, bookings("R-1"))
    (trace,) = store.query("SELECT DISTINCT TraceId FROM otel_traces").rows[0]
    learned = Learned(store)
    assert learned.of_traces([trace])[trace].of("shop", "book_room").changed == 9
    monkeypatch.setattr(normals, "LASTS_MS", 0)
    assert list(learned.of_traces([trace])[trace].items()) == []


def some_booking(number: int) -> Run:
    """A run whose booking returned data."""
    what = Operation("book", effect=Effect.WRITE, key=f"book {number}")
    return Run(f"r{number}", (Call(0, "book_room", what, Observation(S, Grade.INFERRED)),))


def test_it_learns_now_and_then(store: Store) -> None:
    """Ten minutes lie between two counts, however many passes there are."""
    now = [0.0]
    learned = Learned(store, clock=lambda: now[0])
    assert list(current(store, learned).items()) == []
    for seconds, number, seen in ((0, 4, 4), (EVERY_S - 1, 9, 4), (EVERY_S, 9, 9)):
        now[0] = seconds
        put_labelled(store, [as_trace(replace(some_booking(n), service="shop"), n) for n in range(number)])
        learned.refresh()
        assert current(store, learned).of("shop", "book_room").changed == seen


def test_failing_to_learn_stops_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts are written all the same, and what was known stays known."""
    put_labelled(store, [as_trace(replace(some_booking(number), service="shop"), number) for number in range(9)])
    learn(store)

    def fails(_: Store) -> None:
        raise StoreError("no")

    monkeypatch.setattr(normals, "learn", fails)
    receive(store, bookings("R-1"))
    assert Detection(store).once().judged == 1
    assert current(store).of("shop", "book_room").changed == 9
