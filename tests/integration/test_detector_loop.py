from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import scripted_agents as agents
from stores import receive
from tests.support.migrated import made_store

from overclaim._errors import StoreError
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors import sql
from overclaim_detectors.detecting import detect
from overclaim_detectors.runner import Detection, Pass, Progress, follow
from overclaim_detectors.store import Store


def server(path: Path, **more: Any) -> Server:
    """A server on a store of its own, with short pauses between passes."""
    store = f"chdb://{made_store(path)}"
    return Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect_interval=0.05, **more))


def detector(running: Server) -> dict[str, Any]:
    """What the server says about its detectors, the same in both places."""
    said = httpx.get(f"{running.addresses.http}/readyz", trust_env=False).json()["detector"]
    owner = httpx.get(f"{running.addresses.http}/api/owner", trust_env=False).json()
    assert set(owner["detector"]) == set(said)
    return said


def until(true: Callable[[], bool]) -> None:
    """Wait for something to come true."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_failing_pass_is_seen_and_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A table goes missing: the log and the server say why nothing is judged; it comes back: all is well again."""
    with server(tmp_path / "store") as running:
        until(lambda: detector(running)["passes"] > 0)
        running.store.command("DROP TABLE overclaim_watermark SYNC")
        until(lambda: detector(running)["state"] == "failing")
        assert "overclaim_watermark" in detector(running)["error"]
        assert any("overclaim_watermark" in record.getMessage() for record in caplog.records)
        with pytest.raises(StoreError, match=r"cannot judge: .*overclaim_watermark"):
            detect(running.addresses.http)
        running.store.command(sql.statements(sql.load("schema/015_overclaim_watermark"))[0])
        until(lambda: detector(running)["state"] == "running")
        assert detector(running)["error"] == ""


def test_the_loop_outlives_any_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An error that nobody foresaw is logged with its place in the code, and the next pass is made."""
    once, stop, progress = Detection.once, threading.Event(), Progress()
    tries: list[int] = []

    def unlucky(self: Detection) -> Pass:
        tries.append(1)
        if len(tries) == 1:
            raise KeyError("surprise")
        stop.set()
        return once(self)

    monkeypatch.setattr(Detection, "once", unlucky)
    with caplog.at_level(logging.ERROR):
        follow(store, 0.01, stop, progress=progress)
    assert len(tries) == 2
    assert "KeyError: 'surprise'" in caplog.text
    assert "unlucky" in caplog.text
    assert (progress.passes, progress.error) == (1, "")


def test_a_detector_that_ended_is_called_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the thread ends without being told to, the server says so."""

    def leave(self: Detection) -> Pass:
        raise SystemExit("gone")

    monkeypatch.setattr(Detection, "once", leave)
    with server(tmp_path / "store") as running:
        until(lambda: detector(running)["state"] == "dead")
        assert detector(running)["error"] == "SystemExit: gone"


def test_detecting_beside_a_server_waits_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says whom it waits for and what for, and then tells what the server's passes found."""
    with agents.recording() as rows, server(tmp_path / "store") as running:
        agents.overclaimer()
        receive(running.store, rows())
        assert detect(running.addresses.http, fail=True) == 1
        assert "judges by itself" in capsys.readouterr().out


def test_detecting_beside_a_server_that_does_not_judge_is_refused(tmp_path: Path) -> None:
    """Waiting for a server that makes no passes would be waiting for nothing."""
    with server(tmp_path / "store", detect=False) as running:
        assert detector(running)["state"] == "off"
        with pytest.raises(StoreError, match="--no-detect"):
            detect(running.addresses.http)
