"""Damaged requests to a real server with a real store: `python -m tests.faults.fuzz_store [--bodies N] [--seed N]`.

Fewer than `tests.faults.fuzz` sends in the same time, but what is taken must also be taken by the engine: nothing may
wait in the spool for ever, and the rows in the store must be as many as were counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import httpx
from tests.faults.fuzz_mutations import mutated, packed
from tests.faults.fuzz_seeds import Seed, seeds
from tests.faults.harness.served import Served

ALLOWED = {200, 400, 413, 415}
SENDERS = 8
ROWS = "SELECT (SELECT count() FROM otel_traces), (SELECT count() FROM otel_logs)"


@dataclass(frozen=True)
class Result:
    """statuses: of the answers. counts: of spans and log records. rows: in their tables."""

    statuses: Counter[int]
    counts: tuple[dict[str, int], dict[str, int]]
    rows: tuple[int, int]

    @property
    def wrong(self) -> str:
        """What is not as it should be; empty where all is well."""
        if odd := self.statuses.keys() - ALLOWED:
            return f"answers {odd}"
        for of, rows in zip(self.counts, self.rows, strict=True):
            if of["stored"] != rows or of["received"] != of["stored"] + of["repeated"] + of["refused"]:
                return f"{rows} rows, counted {of}"
        return ""


def fuzz(served: Served, bodies: int, seed: int) -> Result:
    """Send so many damaged requests."""
    random, known = Random(seed), seeds()
    requests = [_request(random, known) for _ in range(bodies)]
    with httpx.Client(base_url=served.http, trust_env=False, timeout=60) as client, ThreadPoolExecutor(SENDERS) as pool:
        statuses = Counter(pool.map(lambda request: client.post(**request).status_code, requests))
    served.settle()
    health, (spans, logs) = served.health(), served.query(ROWS)[0]
    return Result(statuses, (health["spans"], health["log_records"]), (spans, logs))


def _request(random: Random, known: list[Seed]) -> dict[str, Any]:
    seed, other = random.choice(known), random.choice(known)
    body, encoding = packed(random, mutated(random, seed, other))
    headers = {"content-type": seed.media_type}
    if encoding.strip().isascii() and encoding.strip():
        headers["content-encoding"] = encoding
    return {"url": seed.signal.path, "content": body, "headers": headers}


def main() -> int:
    """Fuzz and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder), "--no-detect") as served:
        found = fuzz(served, args.bodies, args.seed)
    print("answers: " + ", ".join(f"{count} x {status}" for status, count in sorted(found.statuses.items())))
    print(f"spans {found.counts[0]}, log records {found.counts[1]}, rows {found.rows}")
    print(found.wrong or "the balance is exact")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
