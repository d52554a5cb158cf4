"""Findings go out: every version once, whatever happens between; to OTLP stacks, to our own receiver, to nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest
import scripted_agents as agents
from endpoints import Answer, endpoint
from outgoing import events, metrics, put_finding
from stores import receive
from tests.support.migrated import made_store

from overclaim._errors import InputError
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors.detecting import detect
from overclaim_detectors.opening import open_store
from overclaim_detectors.outgoing import courier as courier_module
from overclaim_detectors.outgoing.courier import Courier
from overclaim_detectors.outgoing.delivery import Delivery
from overclaim_detectors.outgoing.endpoint import otlp_endpoint
from overclaim_detectors.outgoing.events import Events
from overclaim_detectors.outgoing.finding import Finding
from overclaim_detectors.outgoing.options import Outgoing
from overclaim_detectors.outgoing.sink import Refused, Undelivered
from overclaim_detectors.store import Store

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
PASS = time.time_ns() // 1_000_000  # passes are numbered by the milliseconds at which they begin


class Remembering:
    """A receiver that remembers what it got, and fails as it is told."""

    name, label, most = "remembering", "the test", 2

    def __init__(self, severities: Sequence[str] = ("high", "medium", "low")) -> None:
        self.severities = severities
        self.got: list[Finding] = []
        self.fails: Callable[[Sequence[Finding]], Exception | None] = lambda _batch: None

    def send(self, batch: Sequence[Finding]) -> None:
        """Take them, unless told otherwise."""
        if error := self.fails(batch):
            raise error
        self.got += batch

    def tick(self) -> None:
        """Nothing to do."""

    def close(self, seconds: float) -> None:
        """Nothing to do."""

    @property
    def told(self) -> list[tuple[str, str]]:
        """Which findings, and what was new about each."""
        return [(one.id, one.state) for one in self.got]


def until(true: Callable[[], bool]) -> None:
    """Wait for something to come true."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_each_version_goes_out_once(store: Store) -> None:
    """Opened, changed, taken back, opened again: each is sent; the same found again by a later pass is not."""
    sink = Remembering()
    courier = Courier(store, sink)
    courier.begin()
    for number in range(3):
        put_finding(store, number, PASS + 5)
    assert (courier.once(), courier.once()) == (3, 0)
    put_finding(store, 0, PASS + 6)
    assert courier.once() == 0
    put_finding(store, 0, PASS + 7, Severity="medium")
    courier.once()
    put_finding(store, 0, PASS + 8, Severity="medium", Open=0)
    courier.once()
    put_finding(store, 0, PASS + 9)
    courier.once()
    assert sink.told[3:] == [("finding0", "changed"), ("finding0", "retracted"), ("finding0", "opened")]
    assert [one.event_id for one in sink.got[3:]] == [
        f"finding0-{PASS + 7}",
        f"finding0-{PASS + 8}",
        f"finding0-{PASS + 9}",
    ]


def test_what_stood_before_is_not_sent(store: Store) -> None:
    """A new receiver gets what comes from then on; what it never heard of is not taken back either."""
    put_finding(store, 0, PASS + 5)
    put_finding(store, 1, PASS + 5)
    sink = Remembering()
    courier = Courier(store, sink)
    courier.begin()
    assert courier.once() == 0
    put_finding(store, 0, PASS + 6, Open=0)
    put_finding(store, 1, PASS + 6, Severity="low")
    put_finding(store, 2, PASS + 6, Open=0)
    courier.once()
    assert sink.told == [("finding1", "opened")]


def test_a_crash_repeats_and_loses_nothing(store: Store) -> None:
    """A process that ends between sending and noting sends the same again by the same id, or takes it back."""
    sink = Remembering()
    first = Courier(store, sink)
    first.begin()
    put_finding(store, 0, PASS + 5)

    def lost(batch: Sequence[Finding]) -> Exception:
        sink.got += batch  # it arrived, and nobody was left to note that
        return RuntimeError("killed")

    sink.fails = lost
    with pytest.raises(RuntimeError):
        first.once()
    sink.fails = lambda _: None
    second = Courier(store, sink)
    second.begin()
    second.once()
    assert [one.event_id for one in sink.got] == [f"finding0-{PASS + 5}"] * 2
    put_finding(store, 1, PASS + 6)
    sink.fails = lost
    with pytest.raises(RuntimeError):
        second.once()
    put_finding(store, 1, PASS + 7, Open=0)
    sink.fails = lambda _: None
    Courier(store, sink).once()
    assert sink.told[-1] == ("finding1", "retracted")


def test_an_older_number_written_later_is_found(store: Store) -> None:
    """Two detectors on one store may number their passes out of order: nothing is passed over."""
    sink = Remembering()
    courier = Courier(store, sink)
    courier.begin()
    now = time.time_ns() // 1_000_000
    put_finding(store, 0, now)
    courier.once()
    put_finding(store, 1, now - 60_000)
    courier.once()
    assert [one.id for one in sink.got] == ["finding0", "finding1"]


def test_a_receiver_that_was_down_for_long_gets_all_of_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has is known up to where it got everything, across processes, and whatever the clock said."""
    monkeypatch.setattr(courier_module, "_NOTED_S", -1.0)
    sink = Remembering()
    first = Courier(store, sink)
    first.begin()
    month = 30 * 86_400_000
    put_finding(store, 0, PASS + 5)
    first.once()
    sink.fails = lambda _: Undelivered("down")
    put_finding(store, 1, PASS + 6)
    with monkeypatch.context() as later:
        later.setattr(time, "time_ns", lambda: (PASS + month) * 1_000_000)
        with pytest.raises(Undelivered):
            first.once()
        sink.fails = lambda _: None
        second = Courier(store, sink)
        second.begin()
        assert second.once() == 1
    put_finding(store, 2, PASS + 7)
    third = Courier(store, sink)
    third.begin()
    assert third.once() == 1
    assert [one.id for one in sink.got] == ["finding0", "finding1", "finding2"]


def test_severities_are_a_filter_and_what_is_known_follows(store: Store) -> None:
    """Less grave findings are left out; one that was sent and is less grave now is told all the same."""
    sink = Remembering(("high",))
    courier = Courier(store, sink)
    courier.begin()
    put_finding(store, 0, PASS + 5)
    put_finding(store, 1, PASS + 5, Severity="low")
    courier.once()
    put_finding(store, 0, PASS + 6, Severity="low")
    courier.once()
    assert sink.told == [("finding0", "opened"), ("finding0", "changed")]


def test_one_that_is_refused_stops_no_other(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """A batch that a receiver cannot take is halved; the one that it never takes is logged, and left out."""
    sink = Remembering()
    courier = Courier(store, sink)
    courier.begin()
    for number in range(4):
        put_finding(store, number, PASS + 5)
    sink.fails = lambda batch: Refused("too odd") if any(one.id == "finding1" for one in batch) else None
    courier.once()
    assert [one.id for one in sink.got] == ["finding0", "finding2", "finding3"]
    assert "does not take finding finding1: too odd" in caplog.text
    assert courier.once() == 0


def test_a_receiver_that_fails_is_tried_again_and_delays_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One is down, the other gets all meanwhile; once back, it gets what it missed. The log has each change once."""
    monkeypatch.setattr(courier_module, "FIRST_BACK_OFF_S", 0.02)
    down, up = Remembering(), Remembering()
    up.name = "other"
    down.fails = lambda _: Undelivered("no route")
    delivery = Delivery(store, [down, up])
    delivery.start()
    try:
        put_finding(store, 0, PASS + 5)
        delivery.passed(1)
        until(lambda: len(up.got) == 1)
        until(lambda: delivery.couriers[0].error == "no route")
        down.fails = lambda _: None
        until(lambda: len(down.got) == 1)
        until(lambda: not delivery.couriers[0].error)
    finally:
        delivery.stop(5)
    assert caplog.text.count("findings do not go to the test: no route") == 1
    assert caplog.text.count("the test takes findings again") == 1


def test_an_event_is_in_the_trace_of_what_it_judges(store: Store) -> None:
    """Names after the conventions, the service's own resource, ids, no content; high ones warn. Figures come along."""
    with endpoint() as other:
        out = Outgoing(f"{other.url}/", events_headers="authorization=Bearer%20tok")
        detect_with(store, out)
        with agents.recording() as rows:
            agents.overclaimer()
        receive(store, rows())
        detect_with(store, out)
        found = [one for one in events(other) if one.attributes["overclaim.verdict.rule"] == "OC101"]
        figures = metrics(other)
    (event,) = found
    ((trace, run, tool, at),) = store.query(
        "SELECT TraceId, RunSpanId, Tool, Version FROM overclaim_findings FINAL WHERE Rule = 'OC101'"
    ).rows
    assert (event.name, event.severity, event.scope) == ("gen_ai.evaluation.result", 13, "overclaim.detectors")
    assert event.trace == trace
    assert event.resource == {"service.name": "shop", "deployment.environment.name": "test"}
    told = event.attributes
    assert told["gen_ai.evaluation.name"] == "overclaim.contradiction"
    assert told["gen_ai.evaluation.score.label"] == told["overclaim.verdict.label"] == "contradicted"
    assert 0.5 < told["gen_ai.evaluation.score.value"] <= 1
    assert told["gen_ai.tool.name"] == tool == "create_user"
    assert (told["overclaim.run.span_id"], told["overclaim.finding.version"]) == (run, at)
    assert "(" in told["gen_ai.evaluation.explanation"]
    assert "ann@example.com" not in str([(one.attributes, one.resource) for one in found])
    assert {got.headers["authorization"] for got in other.got} == {"Bearer tok"}
    counted = {labels["overclaim.verdict.rule"]: value for labels, value in figures["overclaim.findings"]}
    assert counted["OC101"] == 1
    assert figures["overclaim.judged_runs"] == [({}, 1)]
    assert [value for _, value in figures["overclaim.overclaim_ratio"]] == [1]
    assert {labels["overclaim.verdict.label"] for labels, _ in figures["overclaim.verdicts"]} == {"contradicted"}
    assert figures["overclaim.open_drifts"] == [({}, 0)]


def detect_with(store: Store, out: Outgoing) -> int:
    """One pass on the store of the test, which stays open, with what goes out."""
    return detect(store.url, outgoing=out)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(503), "HTTP 503"),
        (Answer(307, headers={"Location": "http://127.0.0.1:9/elsewhere"}), "redirect, which is not followed"),
        (Answer(401), "HTTP 401"),
        (Answer(whole=False), "no answer|Remote"),
    ],
    ids=["unavailable", "redirect", "unauthorized", "cut off"],
)
def test_what_is_not_acknowledged_is_sent_again(
    store: Store, answer: Answer, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an endpoint answers but success, nothing counts as delivered, redirects included."""
    monkeypatch.setattr("overclaim_detectors.outgoing.events._TIMEOUT_S", 0.5)
    put_finding(store, 0, PASS + 5, Open=0)
    with endpoint(answer=lambda number: answer) as other:
        courier = Courier(store, Events(otlp_endpoint(other.url)))
        courier.begin()
        put_finding(store, 1, PASS + 6)
        with pytest.raises(Undelivered, match=why):
            courier.once()
        other.answer = lambda number: Answer()
        assert courier.once() == 1
        assert {one.told for one in events(other)} == {("finding1", "opened")}


def test_headers_of_the_environment_stay_here(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token that our own exporters show to our own server does not go to the endpoint of the events."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20ours")
    with endpoint() as other:
        courier = Courier(store, Events(otlp_endpoint(other.url)))
        courier.begin()
        put_finding(store, 1, PASS + 6)
        courier.once()
    assert "authorization" not in other.got[0].headers


def test_without_being_asked_nothing_goes_out(store: Store) -> None:
    """No receiver, no row of deliveries, no thread."""
    put_finding(store, 0, PASS + 5)
    assert detect(store.url) == 0
    assert store.query("SELECT count() FROM overclaim_deliveries").rows == [(0,)]
    assert not [one.name for one in threading.enumerate() if "events" in one.name or "webhook" in one.name]


def test_a_dead_endpoint_stops_no_pass(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judging ends as ever, with the same exit code; what could not be sent is said, and sent by the next pass."""
    for module in ("events", "metrics"):
        monkeypatch.setattr(f"overclaim_detectors.outgoing.{module}._TIMEOUT_S", 0.5)
    with agents.recording() as rows:
        agents.overclaimer()
    receive(store, rows())
    with endpoint() as other:
        gone = other.url
    assert detect(store.url, fail=True, outgoing=Outgoing(gone)) == 1
    assert f"not all findings went to {gone}: " in capsys.readouterr().err
    with endpoint(port=int(gone.rpartition(":")[2])) as back:
        detect(store.url, outgoing=Outgoing(gone))
        assert f"findings sent to {gone}: " in capsys.readouterr().out
        assert "opened" in {one.told[1] for one in events(back)}


def served(path: Path, **more: object) -> Server:
    """A server on a store of its own."""
    given = {"http_port": 0, "grpc_port": 0, "detect_interval": 0.05, **more}
    return Server(ServeConfig.model_validate({"store": f"chdb://{made_store(path)}", **given}))


def test_a_server_sends_and_judges_nothing_of_it_again(tmp_path: Path) -> None:
    """Events that come back to the server that sent them are kept as log records, and no run is judged for them."""
    hook = {"webhook_secret": SECRET, "webhook_allow": "127.0.0.1"}
    with (
        endpoint() as other,
        agents.recorded() as exporter,
        served(tmp_path / "store", events=other.url, webhook=f"{other.url}/hook", **hook) as running,
    ):
        agents.overclaimer()
        url = running.addresses.http
        post(url, "/v1/traces", agents.as_body(exporter))
        until(lambda: bool(events(other)) and "/hook" in {got.path for got in other.got})
        judged = running.store.query("SELECT max(Version) FROM overclaim_runs").rows
        for got in [one for one in other.got if one.path == "/v1/logs"]:
            post(url, "/v1/logs", got.body, {"content-encoding": "gzip"})
        kept = "SELECT count() FROM otel_logs WHERE EventName = 'gen_ai.evaluation.result'"
        until(lambda: running.store.query(kept).rows[0][0] > 0)
        assert running.store.query("SELECT count() FROM overclaim_inbox WHERE Spans = 0").rows == [(0,)]
        assert running.store.query("SELECT max(Version) FROM overclaim_runs").rows == judged


def post(url: str, path: str, body: bytes, headers: dict[str, str] | None = None) -> None:
    """Send to a server as an exporter does."""
    sent = {"content-type": "application/x-protobuf", **(headers or {})}
    httpx.post(url + path, content=body, headers=sent, trust_env=False, timeout=30).raise_for_status()


@pytest.mark.slow
def test_a_server_with_a_hanging_receiver_judges_and_stops_in_time(tmp_path: Path) -> None:
    """An endpoint that takes a request and never answers delays neither passes nor the end."""
    with endpoint(answer=lambda _: Answer(seconds=8)) as other:
        with agents.recorded() as exporter, served(tmp_path / "store", events=other.url) as running:
            agents.overclaimer()
            post(running.addresses.http, "/v1/traces", agents.as_body(exporter))
            other.wait(1, 30)
            agents.pretender()
            post(running.addresses.http, "/v1/traces", agents.as_body(exporter))
            rules = "SELECT count() FROM overclaim_findings FINAL WHERE Open AND Rule = 'OC102'"
            until(lambda: running.store.query(rules).rows[0][0] > 0)
            began = time.monotonic()
        assert time.monotonic() - began < 5


def test_beside_a_server_it_alone_sends(tmp_path: Path) -> None:
    """A command that cannot send says who does."""
    with served(tmp_path / "store") as running, pytest.raises(InputError, match="serve --events"):
        detect(running.addresses.http, outgoing=Outgoing("http://127.0.0.1:9"))


def test_a_damaged_receiver_is_named_before_anything_is_judged(tmp_path: Path) -> None:
    """Options that cannot be used are refused at the start, by both commands."""
    with pytest.raises(InputError, match="--events is no URL"):
        detect(str(tmp_path), outgoing=Outgoing("localhost:4318"))
    with pytest.raises(InputError, match="secret"), served(tmp_path / "a", webhook="https://example.com/hook"):
        pass
    with pytest.raises(ValueError, match="--no-detect"):
        ServeConfig(events="http://127.0.0.1:9", detect=False)


def test_the_store_of_before_is_found_again(tmp_path: Path) -> None:
    """What was sent is remembered by the store: another process with the same receiver repeats nothing."""
    path, sent = made_store(tmp_path / "store"), list[int]()
    for _ in range(2):
        store = open_store(f"chdb://{path}")
        try:
            courier = Courier(store, Remembering())
            courier.begin()
            put_finding(store, 0, PASS + 5)
            sent.append(courier.once())
        finally:
            store.close()
    assert sent == [1, 0]
