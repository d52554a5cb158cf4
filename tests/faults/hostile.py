"""Hostile requests against a server of its own: `python -m tests.faults.hostile` prints what they cost it."""

from __future__ import annotations

import gzip
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import grpc
import httpx
from tests.faults import hostile_bodies as bodies
from tests.faults.harness.load import quantile
from tests.faults.harness.requests import good
from tests.faults.harness.served import Served
from tests.faults.hostile_bodies import JSON, MIB, PROTOBUF
from tests.faults.slow_senders import HALF_BODY, HALF_HEADER, Stalled

Row = tuple[str, str, str]
AT_ONCE = 50
SLOW = 500


@dataclass(frozen=True)
class Attack:
    """One request, how it is packed, and what it may cost. It is made when it is wanted: some take seconds."""

    what: str
    make: Callable[[], bytes]
    media_type: str = PROTOBUF
    packed: str = ""
    seconds: float = 0.3
    mib: float = 200
    statuses: tuple[int, ...] = (413,)
    flooded: bool = False

    @cached_property
    def body(self) -> bytes:
        """What is sent."""
        return self.make()

    @property
    def goal(self) -> str:
        """In words."""
        statuses = " or ".join(map(str, self.statuses))
        return f"{statuses} within {self.seconds * 1000:.0f} ms, memory +{self.mib:.0f} MiB"


@dataclass(frozen=True)
class Cost:
    """What a request cost: its answer, how long that took, and by how much the memory rose at its peak.

    cpu: seconds of the server's; where they are far fewer, the machine was busy with something else.
    """

    status: int
    seconds: float
    mib: float
    cpu: float

    def __str__(self) -> str:
        took = f"{self.seconds * 1000:.0f} ms ({self.cpu * 1000:.0f} of CPU)"
        return f"{self.status} after {took}, memory +{self.mib:.0f} MiB"


def attacks() -> list[Attack]:
    """Every kind of hostile body."""
    stored: dict[str, Any] = {"statuses": (200,), "seconds": 3.0}
    return [
        *(_bomb(kind, flooded=kind == "gzip") for kind in ("gzip", "deflate", "zstd")),
        Attack("5 million empty spans, 9.5 MiB", bodies.dense_protobuf),
        Attack(
            "the same in 10 KiB of gzip", lambda: gzip.compress(bodies.dense_protobuf()), packed="gzip", flooded=True
        ),
        Attack(
            "half a million empty spans, just within the limit",
            lambda: bodies.dense_protobuf(499_000),
            seconds=3.0,
            flooded=True,
        ),
        Attack("2 million empty attributes of one span", lambda: bodies.dense_attributes(2_000_000)),
        Attack("3 million empty JSON objects", bodies.dense_json, JSON),
        Attack("JSON of a million open lists", lambda: bodies.nested_json(999_000), JSON, statuses=(400,)),
        Attack("protobuf nested 50,000 levels deep", lambda: bodies.nested_protobuf(50_000), statuses=(400,)),
        Attack("one attribute of 20 MB", lambda: bodies.one_attribute(20_000_000), **stored),
        Attack("an attribute name of 10 MB", lambda: bodies.long_key(10_000_000), **stored),
        Attack("a million attributes on one span", lambda: bodies.many_attributes(1_000_000), seconds=0.6),
    ]


def _bomb(kind: str, *, flooded: bool) -> Attack:
    return Attack(
        f"{kind} bomb, 512 MiB", lambda: bodies.bomb(kind), packed=kind, seconds=0.15, mib=25, flooded=flooded
    )


def cost(served: Served, attack: Attack) -> Cost:
    """Send it once; what is taken costs its insert as well."""
    served.settle()
    before, cpu = served.memory_mib(), served.cpu_seconds()
    _forget_peak(served.pid)
    begun = time.perf_counter()
    status = _post(served, attack)
    seconds = time.perf_counter() - begun
    served.settle()
    return Cost(status, seconds, served.memory_mib("VmHWM") - before, served.cpu_seconds() - cpu)


def at_once(served: Served, attack: Attack, count: int = AT_ONCE) -> tuple[Counter[int], float]:
    """Send it many times at the same time: the answers, and the peak of the whole process in MiB."""
    _forget_peak(served.pid)
    with ThreadPoolExecutor(count) as pool:
        statuses = Counter(pool.map(lambda _: _post(served, attack), range(count)))
    return statuses, served.memory_mib("VmHWM")


def slowed(served: Served, requests: int = 150) -> tuple[float, float]:
    """The p99 in ms of a healthy sender's requests: alone, and beside 500 connections that stall."""
    healthy = _Healthy(served)
    healthy.p99(20)
    alone = healthy.p99(requests)
    port = int(served.http.rsplit(":", 1)[1])
    with Stalled(port, HALF_BODY, SLOW // 2), Stalled(port, HALF_HEADER, SLOW // 2):
        beside = healthy.p99(requests)
    healthy.close()
    return alone, beside


class _Healthy:
    def __init__(self, served: Served) -> None:
        self._client = httpx.Client(base_url=served.http, headers={"content-type": PROTOBUF}, trust_env=False)

    def p99(self, requests: int) -> float:
        """In ms."""
        return quantile([self._seconds(good(20)) * 1000 for _ in range(requests)], 0.99)

    def _seconds(self, body: bytes) -> float:
        begun = time.perf_counter()
        self._client.post("/v1/traces", content=body).raise_for_status()
        return time.perf_counter() - begun

    def close(self) -> None:
        """Hang up."""
        self._client.close()


def _post(served: Served, attack: Attack) -> int:
    headers = {"content-type": attack.media_type, **({"content-encoding": attack.packed} if attack.packed else {})}
    url = f"{served.http}/v1/traces"
    return httpx.post(url, content=attack.body, headers=headers, trust_env=False, timeout=120).status_code


def _forget_peak(pid: int) -> None:
    # 5 resets the peak of the resident memory: proc(5).
    Path(f"/proc/{pid}/clear_refs").write_text("5")


@contextmanager
def attacked(*, warm: bool = True) -> Iterator[Served]:
    """A server that has had one good request, if it is to be warm."""
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder), "--no-detect") as served:
        if warm:
            served.post(good(512))
        yield served


def measure() -> list[Row]:
    """Each attack with its goal and what it came to."""
    return list(rows())


def rows() -> Iterator[Row]:
    """The same one by one."""
    with attacked() as served:
        kinds = attacks()
        for kind in kinds:
            yield kind.what, kind.goal, str(cost(served, kind))
        yield _slow(served)
        for kind in kinds:
            if kind.flooded:
                yield _flood(served, kind)
        yield _grpc_flood(served)
        yield "afterwards", "a good request is stored", str(served.post(good(5)).status_code)


def _flood(served: Served, attack: Attack) -> Row:
    statuses, peak = at_once(served, attack)
    said = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    return f"{AT_ONCE} at once: {attack.what}", "process below 1024 MiB", f"peak {peak:.0f} MiB; {said}"


def _grpc_flood(served: Served) -> Row:
    _forget_peak(served.pid)
    with ThreadPoolExecutor(AT_ONCE) as pool, grpc.insecure_channel(served.grpc) as channel:
        body = bytes(100 * MIB)
        call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        sent = [pool.submit(_grpc_code, call, body) for _ in range(AT_ONCE)]
        said = ", ".join(f"{count} x {code}" for code, count in Counter(one.result() for one in sent).items())
    what = f"{AT_ONCE} at once over gRPC: 100 MiB in 100 KiB of gzip"
    return what, "process below 1024 MiB", f"peak {served.memory_mib('VmHWM'):.0f} MiB; {said}"


def _grpc_code(call: Any, body: bytes) -> str:
    try:
        call(body, compression=grpc.Compression.Gzip, timeout=120)
    except grpc.RpcError as error:
        failed: Any = error
        return str(failed.code().name)
    return "OK"


def _slow(served: Served) -> Row:
    alone, beside = slowed(served)
    said = f"{beside:.0f} ms beside them, {alone:.0f} ms alone ({beside / alone:.1f} x)"
    return f"{SLOW} connections that stall", "p99 of healthy requests below 2 x", said


def main() -> None:
    """Measure and print."""
    for what, goal, found in rows():
        print(f"{what:<70} {goal:<40} {found}", flush=True)


if __name__ == "__main__":
    main()
