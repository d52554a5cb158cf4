"""The same spans without a server: parsed, made into rows and inserted by Python, one insert for 4096 spans and more.

`python -m tests.bench.ingest.python_path FILE` reads requests from a file and prints the CPU seconds. It is what a
collector in Python costs that does nothing but write, and so what the server is compared with.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.ingest.agent_runs import Body

from overclaim_collector.otlp.signals import TRACES
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store

ENOUGH = 4096


def write(bodies: list[Body], folder: Path) -> float:
    """CPU seconds of writing all of them."""
    store = open_store(f"chdb://{folder}")
    try:
        migrate(store)
        begun, waiting = time.process_time(), list[tuple[object, ...]]()
        for body in bodies:
            message = TRACES.request.FromString(body.content)
            TRACES.check(message)
            waiting += TRACES.rows(message)
            if len(waiting) >= ENOUGH:
                store.insert(TRACES.table, TRACES.columns, waiting)
                waiting = []
        store.insert(TRACES.table, TRACES.columns, waiting)
        return time.process_time() - begun
    finally:
        store.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(write(pickle.loads(Path(sys.argv[1]).read_bytes()), Path(made)))
