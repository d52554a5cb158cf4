"""A throw-away Python environment for the peers, and the questions to them. Nothing of it is a dependency of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.bench.peers.catalogue import Peer

WORKER = Path(__file__).with_name("worker.py")
INSTALLING = 600  # seconds for one peer with all it needs
ASKING = 600
# Peers that phone home by default are told not to, and none sees the home folder or the keys of the user.
QUIET = {
    "DO_NOT_TRACK": "1", "ARGUS_TELEMETRY": "0", "CREWAI_DISABLE_TELEMETRY": "true", "ITERATIVE_DO_NOT_TRACK": "1",
    "NML_DISABLE_USAGE_LOGGING": "1", "PYTHONUTF8": "1",
}  # fmt: skip

Answer = bool | None
"""What a peer says of a run: accused or not; None where it could not take the run."""


class PeerError(Exception):
    """A peer cannot be installed or asked. The message says why."""


@dataclass
class Environment:
    """The environment in one folder. Kept as it is where the folder is there already."""

    folder: Path
    tried: dict[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def python(self) -> Path:
        """The environment's Python, made at the first use."""
        python = self.folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)
        return python

    def install(self, requirement: str) -> None:
        """Install a peer. Raises PeerError with what pip says, at every further try as well."""
        if requirement not in self.tried:
            self.tried[requirement] = self._install(requirement)
        if self.tried[requirement]:
            raise PeerError(self.tried[requirement])

    def _install(self, requirement: str) -> str:
        # Wheels only, so that no peer's build code runs; some ask for Python 3.12 and yet run on 3.11.
        options = ["--quiet", "--only-binary=:all:", "--ignore-requires-python", "--retries=1"]
        command = [str(self.python), "-m", "pip", "install", *options, requirement]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALLING)
        except subprocess.TimeoutExpired:
            return f"not installed within {INSTALLING} s"
        return why(done.stderr) if done.returncode else ""

    def ask(self, peer: Peer, runs: Iterable[Mapping[str, Any]]) -> dict[str, Answer]:
        """Return a peer's answer on each run, by its id. Raises PeerError where it cannot be installed or asked."""
        self.install(peer.requirement)
        lines = "".join(json.dumps(run) + "\n" for run in runs)
        command = [str(self.python), str(WORKER), peer.asks]
        try:
            done = subprocess.run(
                command, input=lines, capture_output=True, text=True, check=False, timeout=ASKING, env=self.variables()
            )
        except subprocess.TimeoutExpired:
            raise PeerError(f"no answer within {ASKING} s") from None
        if done.returncode:
            raise PeerError(why(done.stderr))
        return {row["id"]: row.get("accused") for row in map(json.loads, done.stdout.splitlines())}

    def variables(self) -> dict[str, str]:
        """Environment variables for a process of the peers."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "TMPDIR": str(home)} | QUIET


def why(errors: str) -> str:
    """Return the line of an error output that says most: the last one with ERROR, else the last one."""
    lines: Sequence[str] = [line.strip() for line in errors.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("ERROR")] or lines or ["no message"]
    return telling[-1][:160]
