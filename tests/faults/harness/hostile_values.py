"""Spans with impossible times, ids and texts, among good ones: what is stored, what is refused, does it add up."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.requests import good, rejected, request, span, text
from tests.faults.harness.served import Served

DAY = 86_400 * 10**9
PATIENCE_SECONDS = 60.0
YEAR_2262 = (1 << 63) - 1


def times() -> list[Span]:
    """Good spans with times that no healthy clock gives: 1970, the last nanosecond, ten years off, backwards."""
    now = time.time_ns()
    starts = [1, DAY, YEAR_2262 - 1, now - 3650 * DAY, now + 3650 * DAY, now - DAY, now + DAY]
    found = [span(f"time {start}", start_time_unix_nano=start, end_time_unix_nano=start + 1) for start in starts]
    found.append(span("backwards", start_time_unix_nano=now, end_time_unix_nano=now - DAY))
    found.append(span("no time", start_time_unix_nano=0, end_time_unix_nano=0))
    return found


def many_days() -> list[Span]:
    """150 spans of as many days, more than the engine takes in one insert by default."""
    now = time.time_ns()
    return [span("day", start_time_unix_nano=now - day * 30 * DAY, end_time_unix_nano=now) for day in range(150)]


def texts() -> list[Span]:
    """Good spans with values that are hard to keep: NaN, infinity, NUL, keys twice, 10 MB, nesting, every type."""
    values = [
        KeyValue(key="nan", value=AnyValue(double_value=float("nan"))),
        KeyValue(key="inf", value=AnyValue(double_value=float("-inf"))),
        text("nul", "a\0b"),
        text("twice", "first"),
        text("twice", "second"),
        text("", "no key"),
        KeyValue(key="none"),
        KeyValue(key="bytes", value=AnyValue(bytes_value=b"\xff\x00")),
        KeyValue(key="deep", value=_nested(20)),
        text("emoji", "\U0001f600\u202e\x1b[31m"),
    ]
    return [span("values", attributes=values), span("large", attributes=[text("large", "x" * 10_000_000)])]


def names() -> list[Span]:
    """Good spans whose names, keys and services would do harm as paths, identifiers, labels or object attributes."""
    words = ["../../../tmp/overclaim-was-here", "__proto__", "__class__", "constructor.prototype", "`; DROP TABLE x"]
    return [
        span(word, attributes=[text(word, word), text(f"{word}.x", "1")], trace_state=f"k={word}") for word in words
    ]


def bad() -> list[Span]:
    """Spans that cannot be kept: ids of the wrong length or of zeros, and the year 2300."""
    return [
        span(trace_id=b"short"),
        span(trace_id=bytes(16)),
        span(span_id=b""),
        span(span_id=bytes(8)),
        span(parent_span_id=b"123"),
        span(start_time_unix_nano=YEAR_2262 + 38 * 365 * DAY),
    ]


def _nested(depth: int) -> AnyValue:
    value = AnyValue(string_value="bottom")
    for _ in range(depth):
        outer = AnyValue()
        outer.kvlist_value.values.append(KeyValue(key="k", value=value))
        value = outer
    return value


@dataclass(frozen=True, slots=True)
class Mixed:
    """Of one request with good and bad spans: how many of each, what was stored, what the answer said was refused.

    times: how often it was sent until it was taken.
    """

    good: int
    bad: int
    status: int
    stored: int
    refused: int
    times: int

    @property
    def exact(self) -> bool:
        """All good ones stored, and the number of bad ones told."""
        return (self.status, self.stored, self.refused) == (200, self.good, self.bad)


def mixed(served: Served, good_ones: Sequence[Span], bad_ones: Sequence[Span]) -> Mixed:
    """Send good and bad spans in one request; again where the server says so."""
    body, end = request([*bad_ones[::2], *good_ones, *bad_ones[1::2]], "mixed"), time.monotonic() + PATIENCE_SECONDS
    times = 1
    while (answer := served.post(body)).status_code == 503 and time.monotonic() < end:
        times += 1
        time.sleep(1)
    refused = rejected(answer.content) if answer.status_code == 200 else 0
    served.settle()
    ids = [one.span_id.hex() for one in good_ones]
    stored = served.number("SELECT uniqExact(SpanId) FROM otel_traces WHERE SpanId IN {ids:Array(String)}", ids=ids)
    return Mixed(len(good_ones), len(bad_ones), answer.status_code, stored, refused, times)


def surrogates(served: Served) -> int:
    """How many spans with half a surrogate pair, as only JSON can carry, are stored."""
    now = str(time.time_ns())
    item: dict[str, Any] = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "half \ud83d", "startTimeUnixNano": now}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [item]}]}]}).encode()
    answer = served.post(body, "application/json")
    return served.number("SELECT count() FROM otel_traces WHERE SpanName LIKE 'half %'") if answer.is_success else 0


def not_text(served: Served) -> int:
    """The status that a name that is no UTF-8 is answered with."""
    return served.post(request([span("XYXYXY")]).replace(b"XYXYXY", b"\xff\xfe\xff\xfe\xff\xfe")).status_code


def quarantined(served: Served) -> int | None:
    """How many spans the quarantine has; None where this server has none."""
    if not served.number("SELECT count() FROM system.tables WHERE name = 'overclaim_quarantine'"):
        return None
    end, sql = time.monotonic() + 10, "SELECT sum(Items) FROM overclaim_quarantine"
    while not served.number(sql) and time.monotonic() < end:
        served.post(good(1))  # refused spans are written down with the next insert
        time.sleep(0.5)
    return served.number(sql)


def measure_clock(_: Options) -> Measured:
    """The row about times."""
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder), "--detect-interval", "0.5") as served:
        found = mixed(served, times(), bad()[-1:])
        served.settle(judged=True)
        failing = served.health().get("detector", {}).get("error", "")
    said = f"{found.stored} of {found.good} spans of 1970, 2262, 10 years and a day off, backwards, without time stored"
    return Measured(
        f"{said}; year 2300: {found.refused} of {found.bad} refused with reason", found.exact and not failing
    )


def measure_poison(_: Options) -> Measured:
    """The row about bad spans among good ones."""
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder), "--no-detect") as served:
        found = mixed(served, [*times(), *many_days(), *texts()], bad())
        half, status, aside = surrogates(served), not_text(served), quarantined(served)
        after = served.post(good(10)).status_code
    said = (
        f"{found.stored} of {found.good} good spans of a mixed request stored, {found.refused} of {found.bad} refused"
    )
    kept = "not built: no quarantine" if aside is None else f"{aside} in quarantine (sent {found.times} times)"
    ok = found.exact and half == 1 and status == 400 and after == 200 and aside == found.times * len(bad())
    return Measured(f"{said}; {kept}; lone surrogate stored: {half}; not UTF-8: {status}", ok)


def measure_names(_: Options) -> Measured:
    """The row about names that come from the data."""
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder), "--detect-interval", "0.5") as served:
        before = _files(Path(folder))
        found = mixed(served, names(), [])
        served.settle(judged=True)
        strange = {name for name in _files(Path(folder)) - before if "overclaim-was-here" in name or "proto" in name}
        metrics = served.text("/metrics")
    told = [word for word in ("__proto__", "overclaim-was-here", "__class__") if word in metrics]
    outside = Path("/tmp/overclaim-was-here").exists()
    said = (
        f"{found.stored} of {found.good} stored; files made of them: {len(strange) + outside}; in metrics: {len(told)}"
    )
    return Measured(said, found.exact and not strange and not told and not outside)


def _files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


CLOCK = Fault(
    "clock",
    "clocks of senders wrong (1970, 2300, skew, backwards)",
    "stored or refused with reason, exact",
    measure_clock,
)
POISON = Fault(
    "poison",
    "bad spans among good ones (ids, times, sizes, types)",
    "100 % of the good stored, the bad in quarantine, counts exact",
    measure_poison,
)
NAMES = Fault("names", "names from data (../, __proto__, __class__)", "never files, identifiers, labels", measure_names)
