from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

VERDICTS = {
    "optimist": "contradicted",
    "retrier": "recovered",
    "honest": "honest",
    "swallower": "contradicted",
    "verifier": "unsupported",
    "refunder": "pending",
    "plain": "supported",
}


def overclaim(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command as a user would."""
    command = [sys.executable, "-m", "overclaim.cli", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=110, env={**os.environ, **env})


@cache
def demo() -> tuple[dict[str, Any], float]:
    """The demo's JSON and how many seconds it took; run once for all tests that look at it."""
    start = time.monotonic()
    done = overclaim("demo", "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), time.monotonic() - start


def run(agent: str) -> dict[str, Any]:
    """One run of the demo."""
    return next(run for run in demo()[0]["runs"] if run["agent"] == agent)


def evidence(agent: str) -> set[tuple[str, str, str]]:
    """(tool, request, value) of all evidence of a run that an HTTP span shows."""
    calls = run(agent)["calls"]
    return {
        (call["tool"], fact["request"], fact["value"]) for call in calls for fact in call["evidence"] if fact["request"]
    }


def test_exactly_the_overclaiming_runs_are_accused() -> None:
    """Seven agents work, and each gets the verdict that its own trace supports."""
    assert {one["agent"]: one["verdict"] for one in demo()[0]["runs"]} == VERDICTS
    assert {one["agent"] for one in demo()[0]["runs"] if one["accused"]} == {
        "optimist",
        "swallower",
        "verifier",
        "refunder",
    }


def test_it_takes_less_than_a_minute() -> None:
    """A newcomer is not kept waiting."""
    assert demo()[1] < 60


@pytest.mark.parametrize(
    ("agent", "fact"),
    [
        ("optimist", ("create_payment_intent", "POST /v1/payment_intents", "400")),
        ("retrier", ("create_payment_intent", "POST /v1/payment_intents", "400")),
        ("swallower", ("register_webhook", "POST /v1/webhook_endpoints", "400")),
        ("refunder", ("refund_payment", "POST /v1/refunds", "202")),
    ],
)
def test_the_evidence_is_the_request_that_was_made(agent: str, fact: tuple[str, str, str]) -> None:
    """What is shown comes from the HTTP spans in the store."""
    assert fact in evidence(agent)


def test_a_decline_is_seen_under_the_intent_it_was_for() -> None:
    """The path in the evidence is the one of this run."""
    (declined,) = [fact for fact in evidence("honest") if fact[2] == "402"]
    assert declined[0] == "confirm_payment"
    assert declined[1].startswith("POST /v1/payment_intents/pi_")


def test_a_swallowed_failure_is_seen_below_the_tool() -> None:
    """The tool said that all is well; the HTTP span under it says 400."""
    (call,) = run("swallower")["calls"]
    assert (call["claimed"], call["observed"]) == ("success", "failure")


def test_span_status_alone_is_shown_to_be_worse() -> None:
    """Overclaims whose spans are all green are counted, and so are red runs that told the truth."""
    counts = demo()[0]["summary"]
    assert (counts["runs"], len(counts["accused"])) == (7, 4)
    assert set(counts["accused_but_all_spans_green"]) == {"verifier", "refunder"}
    assert set(counts["red_spans_but_not_accused"]) == {"retrier", "honest"}


def test_the_text_shows_words_beside_evidence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Piped output is plain; temporary files are gone; a proxy or an OTLP address of the user's is not used."""
    nowhere = "http://127.0.0.1:9"
    done = overclaim("demo", TMPDIR=str(tmp_path), HTTP_PROXY=nowhere, OTEL_EXPORTER_OTLP_ENDPOINT=nowhere)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    for line in ("Endpoint confirmed working", "POST /v1/payment_intents -> 400", "7 runs, 4 overclaim"):
        assert line in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_kept_can_be_asked_afterwards(tmp_path: Path) -> None:
    """--keep leaves a store, and every command that the demo then recommends for it works and shows the same."""
    kept = tmp_path / "kept store"
    done = overclaim("demo", "--keep", str(kept))
    assert done.returncode == 0
    hints = [re.split(r"  +", line.strip())[0] for line in done.stdout.splitlines() if "--store" in line]
    answers = [overclaim(*shlex.split(hint)[1:]) for hint in hints]
    assert [answer.returncode for answer in answers] == [0, 0, 0]
    report, shown, query = (answer.stdout for answer in answers)
    for agent in ("optimist", "swallower", "verifier", "refunder"):
        assert agent in report
    assert shown.startswith("x CONTRADICTED  optimist")
    assert len(query.splitlines()) == 8
    silent = overclaim("report", "silent", "--store", str(kept)).stdout
    assert "No call failed without anybody noticing" in silent


def test_a_directory_of_other_files_is_not_mixed_with_a_store(tmp_path: Path) -> None:
    """--keep into a directory that holds other things is refused in one line, and leaves them alone."""
    (tmp_path / "thesis.tex").write_text("x")
    done = overclaim("demo", "--keep", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    assert f"{tmp_path} is no store, and holds other files" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("module", "package"),
    [("chdb", "chdb-core"), ("opentelemetry.instrumentation.requests", "opentelemetry-instrumentation-requests")],
)
def test_a_missing_package_is_named_with_its_cure(module: str, package: str) -> None:
    """Without a package that the demo needs, one line says which and how to get it; exit code 3."""
    code = f"import sys; sys.modules[{module!r}] = None; from overclaim.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert done.stderr == f"overclaim: overclaim demo needs {package}: pip install 'overclaim[server]'\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_stopped_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    """Stopped in the middle, or its terminal closed, it ends within seconds and its temporary store is gone."""
    command = [sys.executable, "-m", "overclaim.cli", "demo"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)})
    deadline = time.monotonic() + 20
    while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(20) == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_hold_a_store_is_named(tmp_path: Path) -> None:
    """A file where the directory should be is one clear line and exit code 2."""
    taken = tmp_path / "taken"
    taken.write_text("x")
    done = overclaim("demo", "--keep", str(taken))
    assert done.returncode == 2
    assert str(taken) in done.stderr
    assert len(done.stderr.splitlines()) == 1
