from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
import scripted_agents as agents
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from stores import ARRIVAL, ARRIVALS, CAME, ENTERED, FINDINGS, FIRST, READ, arrive_late, receive

import overclaim
from overclaim_detectors import inbox, label, sql
from overclaim_detectors.inbox import Inbox
from overclaim_detectors.report import Window, run_report
from overclaim_detectors.runner import Detection, Pass, detect_once, follow
from overclaim_detectors.store import Store

RUNS = "SELECT Agent, Label FROM overclaim_verdicts FINAL WHERE Claim = -1"


@pytest.fixture(scope="module")
def recorded() -> list[agents.Row]:
    """The spans of all scripted agents."""
    with agents.recording() as rows:
        for agent in agents.ALL:
            agent()
        return rows()


def verdicts(store: Store) -> dict[str, str]:
    """The verdict on the run of each agent."""
    return dict(store.query(RUNS).rows)


def test_runs_of_the_sdk_are_judged_as_they_should(store: Store, recorded: list[agents.Row]) -> None:
    """Spans of the real SDK go in at one end, and exactly the overclaiming runs are accused at the other."""
    receive(store, recorded)
    done = detect_once(store)
    assert verdicts(store) == agents.EXPECTED
    assert (done.labelled, done.judged, done.skipped, done.failed) == (4, 4, [], {})
    accused = {row["Agent"]: row["Rule"] for row in store.query(FINDINGS).dicts() if row["Rule"] < "OC104"}
    assert accused == {"overclaimer": "OC101", "pretender": "OC102"}


def test_an_accusation_names_its_evidence(store: Store, recorded: list[agents.Row]) -> None:
    """Every accusation names a rule, and where there is a call its span is in the store."""
    receive(store, recorded)
    detect_once(store)
    for row in store.query(FINDINGS).dicts():
        assert row["EvidenceRule"]
        for span_id in row["CallSpanIds"]:
            found = store.query("SELECT count() FROM otel_traces WHERE SpanId = {id:String}", {"id": span_id})
            assert found.rows == [(1,)]


def slow_rates() -> list[agents.Row]:
    """The spans of an agent whose tool gets one answer, swallows another's timeout, and claims that all is read."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=agents.RESOURCE)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    overclaim.instrument(tracer_provider=provider, http_clients=False)

    @overclaim.tool
    def import_rates() -> str:
        start = provider.get_tracer("some.client").start_as_current_span
        url = "https://rates.example.com/"
        with start("GET", kind=SpanKind.CLIENT, attributes={"http.method": "GET", "http.url": f"{url}usd"}) as span:
            span.set_attribute("http.status_code", 200)
        with start("GET", kind=SpanKind.CLIENT, attributes={"http.method": "GET", "http.url": f"{url}eur"}) as span:
            span.set_attribute("error.type", "ReadTimeout")
            span.set_status(StatusCode.ERROR)
        return "imported"

    try:
        with overclaim.run("importer") as run:
            import_rates()
            run.answer("I have imported the rates.")
        return agents.as_rows(exporter)
    finally:
        overclaim.uninstrument()
        provider.shutdown()


def test_an_accusation_shows_the_fact_that_decided(store: Store) -> None:
    """Not the 200 beside it: on the finding, in the failures and in the report of claims."""
    receive(store, slow_rates())
    detect_once(store)
    decided = [("http.no_response", "ReadTimeout")]
    assert {(row["EvidenceRule"], row["EvidenceValue"]) for row in store.query(FINDINGS).dicts()} == set(decided)
    assert store.query("SELECT EvidenceRule, EvidenceValue FROM overclaim_failures FINAL").rows == decided
    now = datetime.now(UTC)
    (row,) = run_report(store, "claims", Window(now - timedelta(days=1), now)).dicts()
    assert "http.no_response" in str(row)
    assert "http.status_2xx" not in str(row)


def test_nothing_readable_is_kept(store: Store, recorded: list[agents.Row]) -> None:
    """Neither addresses nor arguments reach the tables: operations and targets are hashes."""
    receive(store, recorded)
    receive(store, agents.foreign(77))
    detect_once(store)
    for table, columns in (("calls", "Operation, toString(Targets)"), ("claims", "toString(Targets)")):
        for row in store.query(f"SELECT {columns} FROM overclaim_{table} FINAL").rows:  # noqa: S608
            assert "example.com" not in " ".join(row)


def test_a_run_is_described_by_its_resource(store: Store, recorded: list[agents.Row]) -> None:
    """Service, environment and version come from the resource of the spans."""
    receive(store, recorded[:])
    detect_once(store)
    rows = store.query("SELECT DISTINCT ServiceName, Environment, AgentVersion FROM overclaim_runs FINAL").rows
    assert rows == [("shop", "test", "7")]


def test_late_spans_change_the_verdict(store: Store) -> None:
    """A mending call that arrives late takes the accusation back, and the finding says that it was once open."""
    spans = agents.foreign(78)
    failed, mending, agent = spans
    receive(store, [failed, agent])
    detection = Detection(store)
    detection.once()
    assert verdicts(store) == {"clerk": "contradicted"}
    receive(store, [mending])
    detection.once()
    assert verdicts(store) == {"clerk": "recovered"}
    rows = store.query("SELECT Rule, Open FROM overclaim_findings FINAL WHERE Rule = 'OC101'").rows
    assert rows == [("OC101", 0)]


def test_missing_spans_accuse_nobody(store: Store, recorded: list[agents.Row]) -> None:
    """While spans of a run are still on their way it is incomplete, whatever has arrived of it."""
    trace = recorded[0][1]
    mine = [row for row in recorded if row[1] == trace]
    receive(store, [row for row in mine if "create_user" not in row[5]])
    detect_once(store)
    assert set(verdicts(store).values()) == {"incomplete"}
    receive(store, [row for row in mine if "create_user" in row[5]])
    detect_once(store)
    assert verdicts(store) == {"overclaimer": "contradicted"}


def test_a_pass_without_news_does_nothing(store: Store, recorded: list[agents.Row]) -> None:
    """A second pass finds nothing to do, and the same spans sent again change nothing."""
    receive(store, recorded)
    detection = Detection(store)
    assert not detection.once().idle
    assert detection.once().idle
    before = store.query(FINDINGS).rows
    receive(store, recorded)
    detection.once()
    assert store.query(FINDINGS).rows == before


def test_one_odd_trace_stops_no_other(
    store: Store, recorded: list[agents.Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace that cannot be understood is named and left out; the others are judged."""
    understand = label.runs
    odd = recorded[0][1]

    def fragile(spans: list[label.Span], *more: object) -> object:
        if spans[0].trace_id == odd:
            raise ValueError("no sense in it")
        return understand(spans, *more)

    monkeypatch.setattr(label, "runs", fragile)
    receive(store, recorded)
    done = detect_once(store)
    assert done.skipped == [odd]
    assert len(verdicts(store)) == 3


def test_following_judges_what_arrives(store: Store, recorded: list[agents.Row]) -> None:
    """Detection that follows judges spans as they come in, says so, and ends when it is told to."""
    stop, passes = threading.Event(), list[Pass]()

    def each(done: Pass) -> None:
        passes.append(done)
        stop.set()

    worker = threading.Thread(target=follow, args=(store, 0.05, stop, each))
    worker.start()
    receive(store, recorded)
    worker.join(timeout=60)
    assert not worker.is_alive()
    assert passes[0].judged
    assert verdicts(store) == agents.EXPECTED


def test_coverage_says_what_is_missing(store: Store, recorded: list[agents.Row]) -> None:
    """Runs whose spans did not all arrive are counted with the reason."""
    receive(store, [row for row in recorded if "create_user" not in row[5]])
    detect_once(store)
    now = datetime.now(UTC)
    rows = run_report(store, "coverage", Window(now - timedelta(days=1), now)).dicts()
    gaps = {row["Agent"]: (row["Incomplete"], row["Gaps"]) for row in rows}
    assert gaps["pretender"] == (0, "")
    assert gaps["overclaimer"][0] == 1
    assert "spans_missing 1" in gaps["overclaimer"][1]


def test_a_huge_trace_is_left_out(store: Store, recorded: list[agents.Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace of more spans than any agent run has is named, not read."""
    monkeypatch.setattr(inbox, "MAX_TRACE_SPANS", 3)
    receive(store, recorded)
    done = detect_once(store)
    assert done.skipped
    assert len(done.skipped) + done.labelled == 4


def test_a_backlog_is_worked_off_in_pieces(
    store: Store, recorded: list[agents.Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more arrivals than one piece holds, all are judged in the end."""
    monkeypatch.setattr(inbox, "ROWS_PER_PIECE", 1)
    monkeypatch.setattr(inbox, "TRACES_PER_BATCH", 1)
    first_two = recorded[:7]
    for row in first_two:
        receive(store, [row])
    detect_once(store)
    assert verdicts(store) == {name: agents.EXPECTED[name] for name in ("overclaimer", "recoverer")}


def test_copies_do_not_make_a_trace_huge(
    store: Store, recorded: list[agents.Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace that was delivered many times is as large as its spans are, and is judged."""
    monkeypatch.setattr(inbox, "MAX_TRACE_SPANS", 10)
    for _ in range(6):
        receive(store, recorded)
    assert detect_once(store).skipped == []
    assert verdicts(store) == agents.EXPECTED


def test_a_wrong_clock_costs_nobody_else(store: Store, recorded: list[agents.Row]) -> None:
    """A trace from long ago shares no batch with those of today, since a batch reads all the time between its spans."""
    old = [(row[0] - 10**18, *row[1:]) for row in recorded[:3]]
    receive(store, old)
    receive(store, agents.foreign(79))
    piece = Inbox(store).next()
    assert piece
    assert len(piece.batches) == 2
    assert all(batch.latest - batch.earliest < 10**12 for batch in piece.batches)


def test_a_pass_enters_where_traces_lie_and_when_they_came(store: Store, recorded: list[agents.Row]) -> None:
    """As the spans themselves say, each counted once; nothing is entered for a trace of log records alone."""
    receive(store, recorded)
    receive(store, recorded[:5])
    store.command("INSERT INTO overclaim_inbox (TraceId, Spans) VALUES ('only logs', 0)")
    assert store.query(ENTERED).rows == []
    detect_once(store)
    assert len(store.query(READ).rows) == 4
    assert store.query(ENTERED).rows == store.query(READ).rows
    assert store.query(FIRST).rows == store.query(CAME).rows


def test_a_late_span_makes_a_trace_larger(store: Store) -> None:
    """Its extent and its size follow, and the moment at which it first came stays."""
    failed, mending, agent = agents.foreign(80)
    receive(store, [failed, agent])
    detect_once(store)
    came = store.query(FIRST).rows
    receive(store, [mending])
    detect_once(store)
    assert store.query(ENTERED).rows == store.query(READ).rows
    assert store.query(FIRST).rows == came
    store.command("TRUNCATE TABLE overclaim_inbox")
    assert store.query(sql.load("report/show_spans"), {"id": agent[1]}).rows == [(3,)]


def test_a_trace_that_grew_huge_stays_left_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is known long after its arrivals are forgotten, from the last count."""
    spans = agents.foreign(81)
    receive(store, spans)
    with monkeypatch.context() as small:
        small.setattr(inbox, "MAX_TRACE_SPANS", 2)
        detect_once(store)
    store.command("TRUNCATE TABLE overclaim_inbox")
    receive(store, spans[:1])
    monkeypatch.setattr(inbox, "MAX_TRACE_SPANS", 2)
    assert detect_once(store).skipped == [spans[0][1]]
    assert store.query(ENTERED).rows == store.query(READ).rows


def test_an_insert_of_minutes_is_not_lost(store: Store, recorded: list[agents.Row]) -> None:
    """Spans that become visible minutes after the time they carry, behind the watermark, are judged too, and once."""
    receive(store, agents.foreign(81))
    detection = Detection(store)
    detection.once()
    receive(store, recorded)
    arrive_late(store, 240)
    assert detection.once().labelled >= 4
    assert verdicts(store) == {**agents.EXPECTED, "clerk": "recovered"}
    assert detection.once().idle


def test_more_spans_of_a_moment_that_was_seen_are_judged(store: Store) -> None:
    """Two inserts may carry the same moment, and one may become visible after the other was worked on."""
    failed, mending, agent = agents.foreign(82)
    receive(store, [failed, agent])
    detection = Detection(store)
    detection.once()
    receive(store, [mending])
    first, late = store.query(ARRIVALS).rows
    store.command("TRUNCATE TABLE overclaim_inbox")
    store.insert("overclaim_inbox", ARRIVAL, [first, (first[0], *late[1:])])
    detection.once()
    assert verdicts(store) == {"clerk": "recovered"}
