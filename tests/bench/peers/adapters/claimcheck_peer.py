"""agent-claimcheck: agent-trace/v1 in a file, its offline cascade, its verdict `false_success`."""

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

from agent_claimcheck import Checker, load_traces

from .agent_trace import trace
from .recorded import Run


@functools.lru_cache(1)
def checker() -> Checker:
    """Return its detector as it comes."""
    return Checker(detector="cascade-offline")


def accuses(run: Run) -> bool:
    """Judge a chat run, its domain as the run says, else the one that its docs name for all others."""
    return judge(trace(run))


def native(run: Run) -> bool:
    """Judge a trace in its own format as it stands, labels left out."""
    return judge(run["agent_trace"])


def judge(found: dict[str, Any]) -> bool:
    """Tell whether its verdict is `false_success`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.jsonl")
        path.write_text(json.dumps(found) + "\n", "utf-8")
        return next(iter(checker().check(load_traces(path, strict=True)))).verdict == "false_success"
