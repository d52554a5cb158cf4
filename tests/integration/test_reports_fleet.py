"""The reports on a made-up fleet in a running server: what they say is known, and kept; and their files over HTTP."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from tests.support import fleet
from tests.support.report_files import FILES, finite, parameters, substituted

from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.report import REPORTS, run_report
from overclaim_detectors.store import Store

KINDS = Counter(map(fleet.kind_of, range(fleet.RUNS)))


@pytest.fixture(scope="module")
def start() -> datetime:
    """When the fleet starts."""
    return fleet.start_of_fleet()


@pytest.fixture(scope="module")
def server(start: datetime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on a store with the fleet."""
    directory = fleet.filled(tmp_path_factory.mktemp("fleet"), start)
    with Server(ServeConfig(store=f"chdb://{directory}", http_port=0, grpc_port=0, detect=False)) as running:
        yield running


@pytest.fixture
def judged(server: Server) -> Store:
    """Its store."""
    return server.store


def rows_of(store: Store, kind: str, start: datetime) -> list[dict[str, Any]]:
    """The rows of a report on the whole fleet."""
    return run_report(store, kind, fleet.window(start)).dicts()


@pytest.mark.parametrize("form", fleet.FORMS)
def test_reports_say_of_the_fleet_what_they_said(judged: Store, start: datetime, form: str) -> None:
    """Each report is as it was kept, as text and as JSON; `python -m tests.support.fleet` keeps them anew."""
    kept = {kind: (fleet.GOLDEN / f"{kind}.{form}").read_text("utf-8") for kind in REPORTS}
    assert {kind: fleet.printed(judged, kind, form, start) for kind in REPORTS} == kept
    assert {path.name for path in fleet.GOLDEN.iterdir()} >= {f"{kind}.{form}" for kind in REPORTS}


def test_no_report_has_a_number_that_is_none(judged: Store, start: datetime) -> None:
    """Where there is nothing to divide by, a value is empty: NaN breaks charts, and JSON has none."""
    for kind in REPORTS:
        assert finite(run_report(judged, kind, fleet.window(start, all=True))), kind


def test_honesty_counts_what_the_runs_did(judged: Store, start: datetime) -> None:
    """Each run is counted once, as what it was made to be; agents, versions and models are kept apart."""
    rows = rows_of(judged, "honesty", start)
    sums = {name: sum(row[name] for row in rows) for name in ("Contradicted", "Unsupported", "Pending", "Unjudged")}
    assert sums["Contradicted"] == KINDS["overclaimed"]
    assert sums["Unjudged"] == KINDS["unanswered"] + KINDS["bare"] + KINDS["headless"]
    assert sums["Pending"] + sums["Unsupported"] >= KINDS["waits"]
    assert sum(row["Runs"] + row["Unjudged"] + row["Silent"] for row in rows) == fleet.RUNS
    assert {(row["Agent"], row["Version"], row["Model"]) for row in rows} >= {
        ("clerk", "1.0", "m-small"), ("clerk", "1.1", "m-small"), ("clerk", "1.1", "m-large"),
    }  # fmt: skip
    assert all(row["Low"] <= row["Share"] <= row["High"] for row in rows if row["Runs"])
    assert [row["High"] for row in rows if row["Runs"]] == sorted(row["High"] for row in rows if row["Runs"])


def test_recovery_knows_how_failures_ended(judged: Store, start: datetime) -> None:
    """What was tried again, mended by another tool, told, accused, or noticed by nobody is what was made so."""
    rows = rows_of(judged, "recovery", start)
    sums = {name: sum(row[name] for row in rows) for name in ("Again", "Another", "Told", "Accused", "Nobody")}
    assert sums == {
        "Again": KINDS["retried"], "Another": KINDS["another way"], "Told": KINDS["honest"],
        "Accused": KINDS["overclaimed"], "Nobody": KINDS["slipped"],
    }  # fmt: skip
    assert {row["By"] for row in rows if row["Another"]} == {agent.another for agent in fleet.AGENTS}
    assert all(row["Tries"] in (2, 3) for row in rows if row["Again"])
    assert all(row["Tries"] is None for row in rows if not row["Again"])


def test_endurance_counts_every_known_call_once(judged: Store, start: datetime) -> None:
    """The steps hold all calls whose outcome is known, and runs stand under their length."""
    rows = rows_of(judged, "endurance", start)
    known = judged.query("SELECT count() FROM overclaim_calls FINAL WHERE Observed != 'unknown'").rows[0][0]
    assert sum(row["All"] for row in rows if row["Signal"] == "call fails") == known
    overclaims = [row for row in rows if row["Signal"] == "overclaims"]
    assert sum(row["Bad"] for row in overclaims) == sum(
        row["Contradicted"] + row["Unsupported"] + row["Pending"] for row in rows_of(judged, "honesty", start)
    )
    assert {"1", "2", "3-4", "9-16"} <= {row["Steps"] for row in overclaims}


def test_cost_counts_tokens_once(judged: Store, start: datetime) -> None:
    """Tokens are those of the model calls, whether or not the agent's span sums them up; lost is what was accused."""
    rows = rows_of(judged, "cost", start)
    spent = judged.query(
        "SELECT sum(toUInt64(SpanAttributes['gen_ai.usage.input_tokens'])"
        " + toUInt64(SpanAttributes['gen_ai.usage.output_tokens'])) FROM otel_traces WHERE SpanName LIKE 'chat %'"
    ).rows[0][0]
    assert sum(row["Tokens"] for row in rows) == spent
    assert sum(row["Metered"] for row in rows) == sum(row["Runs"] for row in rows) == fleet.RUNS
    accused = sum(
        row["Contradicted"] + row["Unsupported"] + row["Pending"] for row in rows_of(judged, "honesty", start)
    )
    assert sum(row["LostRuns"] for row in rows) == accused
    assert sum(row["OfAllTokens"] for row in rows) == pytest.approx(
        100 * sum(row["LostTokens"] for row in rows) / spent, abs=0.1 * len(rows)
    )


def test_detectors_name_what_they_could_not_see(judged: Store, start: datetime) -> None:
    """Each rule about runs has a row for each service; what it lacks is what was left out of the spans."""
    rows = rows_of(judged, "detectors", start)
    rules = {rule.id for rule in BUILTIN if getattr(rule, "scope", "run") == "run"}
    assert {row["Detector"] for row in rows if not row["Detector"].startswith("drift: ")} == rules
    both = [row for row in rows if row["Detector"] == "OC101"]
    assert sum(row["Runs"] for row in both) == fleet.RUNS
    blind = sum(KINDS[kind] for kind in ("unanswered", "bare", "headless"))
    assert sum(row["Seen"] for row in both) == fleet.RUNS - blind
    assert all("answer " in row["Lacks"] for row in both)
    assert {row["State"] for row in rows if row["Detector"] == "OC104"} <= {"partial", "ran"}
    assert all(row["Lacks"] for row in rows if row["State"] != "ran")


def answered(client: httpx.Client, text: str, values: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """The rows that a statement has over HTTP, with values bound as clickhouse-client and curl do."""
    asked = {"default_format": "JSONEachRow", **{f"param_{name}": value for name, value in (values or {}).items()}}
    answer = client.post("/", params=asked, content=text)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_every_file_runs_unchanged_for_others(server: Server, start: datetime) -> None:
    """Over HTTP each file answers with values for its header's names alone, and the same in a dashboard's form."""
    text_values = {
        "since": f"{start:%Y-%m-%d %H:%M:%S}",
        "now": f"{start + timedelta(days=fleet.DAYS):%Y-%m-%d %H:%M:%S}",
    }
    text_values |= {"trace": f"{1:032x}", "run": f"{1 << 16 | 1:016x}", "id": f"{1:032x}"}
    text_values["traces"] = f"['{1:032x}']"
    macros = {"since": f"toDateTime({int(start.timestamp())})", "traces": text_values["traces"]}
    macros |= {"now": f"toDateTime({int((start + timedelta(days=fleet.DAYS)).timestamp())})"}
    macros |= {name: f"'{text_values[name]}'" for name in ("trace", "run", "id")}
    empty = list[str]()
    with httpx.Client(base_url=server.addresses.http, trust_env=False, timeout=60) as client:
        for path in FILES:
            text = path.read_text("utf-8")
            defaults = {name: one.default for name, one in parameters(text).items()}
            bound = answered(client, text, {name: text_values.get(name, defaults[name]) for name in defaults})
            assert answered(client, substituted(text, {**defaults, **macros})) == bound, path.stem
            empty += [] if bound else [path.stem]
    assert empty == ["show_breaches"]
