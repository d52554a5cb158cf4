"""Ask one peer about runs. Runs with the Python of the peers' environment, and knows nothing of overclaim.

    python worker.py MODULE:FUNCTION < runs.jsonl > answers.jsonl

An answer is {"id", "accused"}, or {"id", "error"} where the peer could not take the run.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from typing import Any


def main() -> None:
    """Answer every run of the standard input."""
    module, function = sys.argv[1].split(":")
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a peer prints is no answer
    accuses = getattr(importlib.import_module(f"adapters.{module}"), function)
    for line in sys.stdin:
        print(json.dumps(answer(accuses, json.loads(line))), file=answers)


def answer(accuses: Any, run: dict[str, Any]) -> dict[str, Any]:
    """Return a peer's answer on one run. Its faults are its own: they are counted, not raised."""
    try:
        return {"id": run["id"], "accused": bool(accuses(run))}
    except Exception as error:
        return {"id": run["id"], "error": f"{type(error).__name__}: {error}"[:200]}


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
