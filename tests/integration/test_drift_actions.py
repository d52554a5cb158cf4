"""What people decide about drifts: on a store, and beside the server that has it."""

from __future__ import annotations

import argparse
import csv
import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree
from typing import Any

import httpx
import pytest
from drifting import DAY, MONDAY, fleet, put
from tests.support.migrated import made_store

from overclaim._errors import InputError, StoreError
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors import _owner, _remote, drift_command
from overclaim_detectors.drift import states
from overclaim_detectors.drift.actions import ACTIONS, action
from overclaim_detectors.drift.job import DriftJob
from overclaim_detectors.drift.states import Drift
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

END = MONDAY + 12 * DAY
TOKEN = "the-owners-token-0123456789abcdef"
AUDIT = "SELECT Who, What, DriftId, Why FROM overclaim_actions WHERE Who != 'overclaim' ORDER BY At"
REFERENCES = """
SELECT Reason, toUnixTimestamp(FromTick), toUnixTimestamp(UntilTick), toUnixTimestamp(Since)
FROM overclaim_references FINAL WHERE Signal = 'overclaim' AND Level = 'agent' AND Direction = 1 AND Reason != 'release'
"""
DECISION = {"what": "close", "drift": "0123456789abcdef", "why": "known", "who": "sam"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a store with a drift of the overclaim rate."""
    directory = made_store(tmp_path_factory.mktemp("deciding"))
    with closing(open_store(f"chdb://{directory}")) as store:
        put(store, fleet(12, 150, 3, change_day=10.25))
        DriftJob(store, clock=lambda: END).once()
    return directory


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(copytree(made, tmp_path / "drifted", symlinks=True))


@pytest.fixture
def drifted(copied: Path) -> Iterator[Store]:
    """The copy, open."""
    with closing(open_store(f"chdb://{copied}")) as store:
        yield store


def overclaiming(store: Store) -> Drift:
    """The drift of the overclaim rate."""
    (found,) = (one for one in states.current(store) if one.key.signal == "overclaim")
    return found


def run(*words: str) -> int:
    """The command with these words."""
    parser = argparse.ArgumentParser()
    drift_command.COMMAND.configure(parser)
    return drift_command.COMMAND.run(parser.parse_args(words))


def test_another_time_becomes_the_reference(drifted: Store) -> None:
    """After a rebase the drift is closed, its streams are compared with the time that was named, from now on."""
    one = overclaiming(drifted)
    with pytest.raises(InputError, match="too few to be a reference"):
        states.rebase(drifted, one.id, "sam", "no", END, MONDAY, MONDAY + 6 * 3600 + 900)
    states.rebase(drifted, one.id, "sam", "the first days", END, MONDAY + 60, MONDAY + 3 * DAY)
    assert states.find(drifted, one.id).state == "closed"
    assert set(drifted.query(REFERENCES).rows) == {("rebased", MONDAY, MONDAY + 3 * DAY, END)}
    assert drifted.query(AUDIT).rows == [("sam", "rebase", one.id, "the first days")]
    with pytest.raises(InputError, match="another reference"):
        states.reopen(drifted, one.id, "sam", "no", END)


def test_what_was_closed_by_mistake_is_opened_again(drifted: Store) -> None:
    """A drift that is opened again goes on under its id, with its change, and stays so in the next pass."""
    before = overclaiming(drifted)
    states.close(drifted, before.id, "sam", "known", END)
    states.reopen(drifted, before.id, "ann", "it was not", END + 60)
    DriftJob(drifted, clock=lambda: END + 900).once()
    after = overclaiming(drifted)
    assert (after.id, after.change, after.reason) == (before.id, before.change, "")
    assert [row[:2] for row in drifted.query(AUDIT).rows] == [("sam", "close"), ("ann", "reopen")]
    with pytest.raises(InputError, match="is open: only one that is closed"):
        states.reopen(drifted, before.id, "ann", "again", END)


def test_a_pass_that_began_before_undoes_no_decision(drifted: Store) -> None:
    """What a pass still writes of a drift that somebody closed meanwhile, even by a clock ahead, does not count."""
    one = overclaiming(drifted)
    job = DriftJob(drifted, clock=lambda: END + 7200)
    job.once()
    open_then = overclaiming(drifted)
    states.close(drifted, one.id, "sam", "known", END)
    drifted.insert("overclaim_drifts", states.COLUMNS, [open_then.row((END + 7200) * 1000)])
    assert states.find(drifted, one.id).state == "closed"


def test_the_command_decides_on_a_store_that_nobody_has(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints what was done to which drift, by whom and why."""
    with closing(open_store(f"chdb://{copied}")) as store:
        one = overclaiming(store)
    assert run("close", one.id[:8], "--why", "known", "--who", "sam", "--store", str(copied)) == 0
    assert capsys.readouterr().out == f"drift {one.id} is closed: {one.sentence}\n  by sam: known\n"


@pytest.mark.parametrize("token", [None, TOKEN], ids=["without a token", "with one"])
def test_the_command_decides_beside_a_server(
    copied: Path, token: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server does it, for who can read the store's directory; at its address alone the token is wanted."""
    with closing(open_store(f"chdb://{copied}")) as store:
        one = overclaiming(store)
    given: dict[str, Any] = {"http_port": 0, "grpc_port": 0, "token": token, "detect": False}
    with Server(ServeConfig(store=f"chdb://{copied}", **given)) as server:
        remote, key = server.addresses.http, copied / _owner.KEY_FILE
        monkeypatch.setattr(drift_command, "open_store", lambda *_, **__: _remote.RemoteStore(remote))
        words = (one.id[:8], "--why", "known", "--who", "sam")
        with pytest.raises(StoreError, match="lets nobody decide without its token"):
            run("close", *words, "--store", remote)
        assert states.find(server.store, one.id).state == "open"
        assert key.stat().st_mode & 0o777 == 0o600
        if token:
            monkeypatch.setenv("OVERCLAIM_TOKEN", token)
            run("close", *words, "--store", remote)
        else:
            run("close", *words, "--store", str(copied))
        assert states.find(server.store, one.id).state == "closed"
        assert server.store.query(AUDIT).rows == [("sam", "close", one.id, "known")]
        assert capsys.readouterr().out.startswith(f"drift {one.id} is closed: ")
        with pytest.raises(InputError, match="closed already"):
            run("accept", *words, "--store", str(copied))
    assert not key.exists()


def post(url: str, body: object, **headers: str) -> httpx.Response:
    """A decision sent by hand."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    return httpx.post(f"{url}/api/drifts", content=content, headers=named, trust_env=False, timeout=30)


def test_nobody_else_decides(copied: Path) -> None:
    """Without the key, with a wrong one, from a web page, in a form that a page may send: nothing is done."""
    given: dict[str, Any] = {"http_port": 0, "grpc_port": 0, "detect": False}
    with Server(ServeConfig(store=f"chdb://{copied}", **given)) as server:
        url, right = server.addresses.http, f"Bearer {_owner.read_key(copied)}"
        assert post(url, DECISION).status_code == 401
        assert post(url, DECISION, authorization="Bearer wrong").status_code == 401
        assert post(url, DECISION, authorization=right, origin="https://evil.example").status_code == 403
        assert post(url, DECISION, authorization=right, host="evil.example").status_code == 403
        assert post(url, DECISION, authorization=right, content_type="text/plain").status_code == 415
        assert post(url, b" " * 20_000, authorization=right).status_code == 413
        for wrong in (b"no json", b"[1]", {**DECISION, "what": "drop"}, {**DECISION, "more": 1}):
            assert post(url, wrong, authorization=right).status_code == 400
        assert "no drift" in post(url, DECISION, authorization=right).json()["error"]
        assert server.store.query(AUDIT).rows == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"what": "list"}, "one of accept, close, rebase, reopen"),
        ({"drift": "0123456"}, "at least 8 digits"),
        ({"drift": 5}, "needs drift, as a text"),
        ({"why": "  "}, "needs why, as a text: the reason is kept"),
        ({"why": "x" * 2001}, "why is longer"),
        ({"who": None}, "needs who"),
        ({"what": "rebase"}, "needs the time"),
        ({"what": "rebase", "begin": 9, "end": 9}, "needs the time"),
        ({"begin": True}, "begin is a time"),
        ({"begin": -1}, "begin is a time"),
        ({"end": 1.5}, "end is a time"),
        ({"end": 1 << 40}, "end is a time"),
        ({"begun": 1}, "no field 'begun'"),
    ],
)
def test_what_is_no_decision_is_refused(change: dict[str, object], message: str) -> None:
    """Each field is checked, wherever it comes from."""
    with pytest.raises(InputError, match=message):
        action({**DECISION, **change})


def test_each_action_is_one_of_the_command() -> None:
    """What the server does is what the command offers beside looking."""
    assert ("list", "show", *ACTIONS) == drift_command.ACTIONS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "0123abcd"), "list takes no DRIFT"),
        (("list", "--why", "x"), "list takes no --why"),
        (("show", "0123abcd", "--all"), "show takes no --all"),
        (("close", "0123abcd", "--why", "x", "--from", "7d"), "close takes no --from"),
        (("close", "0123abcd"), "needs --why"),
        (("close", "0123abc", "--why", "x"), "at least 8 digits"),
        (("rebase", "0123abcd", "--why", "x"), "needs --from"),
        (("accept",), "needs the id"),
    ],
)
def test_words_that_do_not_fit_are_refused(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    """Nothing that was typed is passed over in silence."""
    with pytest.raises(InputError, match=message):
        run(*words, "--store", str(tmp_path))


def test_the_list_has_the_forms_of_other_commands(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same drifts as JSON, JSON lines and CSV, with the figures behind each sentence."""
    printed = dict[str, str]()
    for form in ("table", "json", "jsonl", "csv"):
        run("list", "--format", form, "--store", str(copied))
        printed[form] = capsys.readouterr().out
    found = json.loads(printed["json"])
    assert [json.loads(line) for line in printed["jsonl"].splitlines()] == found
    assert [row["DriftId"] for row in csv.DictReader(io.StringIO(printed["csv"]))] == [one["DriftId"] for one in found]
    assert [line.split()[0] for line in printed["table"].splitlines()] == [one["DriftId"] for one in found]
    (one,) = (row for row in found if row["Signal"] == "overclaim")
    assert (one["State"], one["Agent"], one["NowRuns"]) == ("open", "clerk", 300)
    assert one["ChangeAt"] == "2026-01-15T06:00:00.000Z"


@pytest.fixture
def hanging() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept, stop = list[socket.socket](), threading.Event()
        listening.settimeout(0.05)

        def run() -> None:
            while not stop.is_set():
                try:
                    kept.append(listening.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        stop.set()
        thread.join(10)
        for one in kept:
            one.close()


@pytest.mark.parametrize("words", [("list",), ("close", "0123abcd", "--why", "x")], ids=["looking", "deciding"])
def test_a_server_that_hangs_hangs_nobody(
    hanging: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks it is told so, long before the time that a query may take."""
    monkeypatch.setattr(_remote, "ALIVE_SECONDS", 0.3)
    with pytest.raises(StoreError, match=r"does not answer within 0 s: it hangs"):
        run(*words, "--store", f"http://{hanging}")


def test_a_clickhouse_that_hangs_hangs_nobody(hanging: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening it ends with what is wrong, and not after the five minutes that an insert may take."""
    monkeypatch.setattr("overclaim_detectors._server._ALIVE_SECONDS", 1)
    with pytest.raises(StoreError, match="no answer within 1 s"):
        open_store(f"clickhouse://{hanging}/db")
