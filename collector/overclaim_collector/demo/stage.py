"""The demo on its stage: every part started, the agents sent to work, their verdicts awaited."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from overclaim._errors import InputError, OverclaimError
from overclaim_collector.config import ServeConfig
from overclaim_collector.demo import API_KEY, API_URL, story
from overclaim_collector.demo.payments_server import PaymentsServer
from overclaim_collector.demo.story import Told
from overclaim_collector.server import Server

PATIENCE: Final = 25.0  # seconds for the agents, and again for their verdicts


@contextmanager
def performance(keep: str | None) -> Generator[tuple[Server, list[Told]]]:
    """The running server, its store full of what the agents just did and judged, and what they said.

    keep: a directory for the store, else a temporary one that is removed on leaving.
    """
    with _directory(keep) as directory, PaymentsServer() as api, Server(_config(directory)) as server:
        told = _send_agents(server.addresses.http, api)
        _await_verdicts(server, told)
        yield server, told


@contextmanager
def _directory(keep: str | None) -> Generator[Path]:
    if keep is None:
        with TemporaryDirectory(prefix="overclaim-demo-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary) / "store"
        return
    directory = Path(keep).expanduser().resolve()
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--keep {keep}: that is a file; give a directory, or one that does not exist yet")
    yield directory


def _config(directory: Path) -> ServeConfig:
    return ServeConfig(store=str(directory), http_port=0, grpc_port=0, detect_interval=0.3)


def _send_agents(endpoint: str, api: PaymentsServer) -> list[Told]:
    """Let the agents work in a process of their own, as they would in life; what they said, in order."""
    command = [sys.executable, "-P", "-m", "overclaim_collector.demo.agents", endpoint]
    try:
        done = subprocess.run(
            command, env=_environment(api), capture_output=True, text=True, timeout=PATIENCE, check=True
        )
    except subprocess.TimeoutExpired as error:
        raise OverclaimError(
            f"the agents did not finish within {PATIENCE:.0f} s: is this machine very busy?"
        ) from error
    except subprocess.CalledProcessError as error:
        raise OverclaimError(
            f"the agents ended with exit code {error.returncode}: {_last_line(error.stderr)}"
        ) from error
    return [Told(**json.loads(line)) for line in done.stdout.splitlines()]


def _environment(api: PaymentsServer) -> dict[str, str]:
    """The user's environment without what would send the demo's traffic elsewhere or switch parts of it off."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "OVERCLAIM_"))}
    return {**ours, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", API_URL: api.url, API_KEY: api.key}


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def _await_verdicts(server: Server, told: Sequence[Told]) -> None:
    deadline = time.monotonic() + PATIENCE
    while missing := story.waiting(server.store, told):
        if time.monotonic() > deadline:
            raise OverclaimError(f"no verdict on {missing} of {len(told)} runs within {PATIENCE:.0f} s")
        time.sleep(0.2)
