"""Runs for the bench of detection, made by the engine itself: as they arrive, and as they are kept."""

from __future__ import annotations

import time
from typing import Final

from overclaim_detectors import sql
from overclaim_detectors.store import Store

SPANS: Final = 13  # of a run that arrives
KEPT_SPANS: Final = 14.5  # of a run that is kept
DAYS: Final = 7  # in which those lie, up to an hour ago
STEP: Final = 100_000  # runs that are put in by one statement

_SPANS: Final = """
INSERT INTO otel_traces (
    Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName, ResourceAttributes, ScopeName,
    SpanAttributes, Duration, StatusCode
)
WITH
    {first:UInt64} + intDiv(number, 13) AS run,
    number % 13 AS place,
    intDiv(place - 1, 3) AS turn,
    toString(run * 4 + turn) AS user,
    multiIf(place = 0, 'agent', place % 3 = 1, 'model', place % 3 = 2, 'tool', 'request') AS kind
SELECT
    now64(9) - toIntervalSecond(60) + toIntervalMillisecond(place * 10),
    lower(leftPad(hex(run), 32, '0')),
    lower(leftPad(hex(run * 13 + place + 1), 16, '0')),
    multiIf(
        place = 0, '',
        kind = 'request', lower(leftPad(hex(run * 13 + place), 16, '0')),
        lower(leftPad(hex(run * 13 + 1), 16, '0'))
    ),
    transform(kind, ['agent', 'model', 'tool'], ['invoke_agent clerk', 'chat m', 'execute_tool create_user'], 'POST'),
    'Internal',
    'bench',
    map('service.name', 'bench', 'service.version', '1'),
    'bench',
    multiIf(
        kind = 'agent', map(
            'gen_ai.operation.name', 'invoke_agent', 'gen_ai.agent.name', 'clerk', 'gen_ai.output.messages',
            concat(
                '[{"role": "assistant", "parts": [{"type": "text", "content": "I created the account ann', user,
                '@example.com and three more."}]}]'
            )
        ),
        kind = 'model', map('gen_ai.operation.name', 'chat', 'gen_ai.request.model', 'm'),
        kind = 'tool', map(
            'gen_ai.operation.name', 'execute_tool', 'gen_ai.tool.name', 'create_user', 'gen_ai.tool.call.id', user,
            'gen_ai.tool.call.arguments', concat('{"email": "ann', user, '@example.com"}'), 'gen_ai.tool.call.result',
            concat('{"id": "u-', user, '", "email": "ann', user, '@example.com"}')
        ),
        map(
            'http.request.method', 'POST', 'url.full', 'https://a.example', 'http.response.status_code',
            if(run % 10 = 0 AND turn = 3, '500', '201')
        )
    ),
    toUInt64(500000),
    'Unset'
FROM numbers({runs:UInt64} * 13)
"""

# The spans of runs that are kept, 29 for two runs: an agent; four times a model call, a tool call and a request below
# it; one or two model calls more. ALIKE is what all tables have in common.
_KEPT: Final = """
INSERT INTO otel_traces (
    Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName, ResourceAttributes, ScopeName,
    SpanAttributes, Duration, StatusCode
)
WITH
    intDiv(number * 2, 29) AS r,
    number - intDiv(r * 29 + 1, 2) AS place,
    intDiv(place - 1, 3) AS turn,
    multiIf(
        place = 0, 'agent', place > 12 OR place % 3 = 1, 'model', place % 3 = 2, 'tool', 'request'
    ) AS kind,
    ALIKE,
    concat('tool', toString((r + turn) % 12)) AS Tool,
    toString(cityHash64(r, intDiv(turn, 2))) AS target,
    lower(hex(cityHash64(r, turn + 10))) AS call,
    cityHash64(r, turn) % 100 < 6 AS failed
SELECT
    Begun + toIntervalMillisecond(place * 500),
    TraceId,
    multiIf(place = 0, RunSpanId, kind = 'tool', call, lower(hex(cityHash64(r, place + 100)))),
    multiIf(place = 0, '', kind = 'request', call, RunSpanId),
    multiIf(
        kind = 'agent', concat('invoke_agent ', Agent), kind = 'model', 'chat m',
        kind = 'tool', concat('execute_tool ', Tool), 'POST'
    ),
    'Internal', ServiceName, map('service.name', ServiceName, 'service.version', '1'), 'bench',
    multiIf(
        kind = 'agent', map(
            'gen_ai.operation.name', 'invoke_agent', 'gen_ai.agent.name', Agent, 'gen_ai.output.messages',
            concat('[{"role": "assistant", "parts": [{"type": "text", "content": "I created ', target, '."}]}]')
        ),
        kind = 'model', map('gen_ai.operation.name', 'chat', 'gen_ai.request.model', Model),
        kind = 'tool', map(
            'gen_ai.operation.name', 'execute_tool', 'gen_ai.tool.name', Tool, 'gen_ai.tool.call.id', target,
            'gen_ai.tool.call.arguments', concat('{"id": "', target, '"}'), 'gen_ai.tool.call.result',
            concat('{"id": "', target, '", "ok": true}')
        ),
        map(
            'http.request.method', 'POST', 'url.full', 'https://a.example', 'http.response.status_code',
            if(failed, '500', '201')
        )
    ),
    toUInt64(500000), if(failed AND kind = 'request', 'Error', 'Unset')
FROM numbers(intDiv({first:UInt64} * 29 + 1, 2), intDiv({last:UInt64} * 29 + 1, 2) - intDiv({first:UInt64} * 29 + 1, 2))
"""

# What the tables have in common, in the places of ALIKE and COMMON; r is the number of the run.
_ALIKE: Final = """
    lower(concat(hex(cityHash64(r)), hex(cityHash64(r, 1)))) AS TraceId,
    lower(hex(cityHash64(r, 2))) AS RunSpanId,
    'svc' AS ServiceName, 'prod' AS Environment, concat('agent', toString(r % 5)) AS Agent, '1' AS AgentVersion,
    'm' AS Model,
    fromUnixTimestamp64Nano({start:Int64}) + toIntervalMillisecond(r * {days:UInt32} * 86400000 / {runs:UInt64})
    AS Begun"""
_COMMON: Final = "TraceId, ServiceName, Environment, Agent, AgentVersion, Model, Version"
_RUNS: Final = """
INSERT INTO overclaim_runs (COMMON, SpanId, Started, Ended, Claimed, Calls, Captured, Complete)
SELECT COMMON, RunSpanId, Begun, Begun + 30, 'success', 4, 1, 1
FROM (SELECT number AS r, 1 AS Version, ALIKE FROM numbers({first:UInt64}, {last:UInt64} - {first:UInt64}))
"""
_CALLS: Final = """
INSERT INTO overclaim_calls (
    COMMON, RunSpanId, Started, SpanId, Position, Tool, Action, Operation, Targets, Effect, Claimed, Observed, Grade,
    EvidenceKind, EvidenceRule, EvidenceValue, EvidenceOutcome, EvidenceGrade, EvidenceSpanId, SpanStatus, Duration
)
SELECT
    COMMON, RunSpanId, Begun + place, lower(hex(cityHash64(r, place + 10))), place,
    concat('tool', toString((r + place) % 12)), 'create', concat('create:', target), [target], 'write', 'success',
    outcome, 'structured', ['http_status'], ['http.status'], [if(outcome = 'failure', '500', '200')], [outcome],
    ['structured'], [''], 'Unset', 1000
FROM (
    SELECT
        intDiv(number, 4) AS r, number % 4 AS place, 1 AS Version, ALIKE,
        toString(cityHash64(r, intDiv(place, 2))) AS target,
        if(cityHash64(r, place) % 100 < 6, 'failure', 'success') AS outcome
    FROM numbers({first:UInt64} * 4, ({last:UInt64} - {first:UInt64}) * 4)
)
"""
_CLAIMS: Final = """
INSERT INTO overclaim_claims (COMMON, RunSpanId, Started, Position, Outcome, Action, About, Source)
SELECT COMMON, RunSpanId, Begun, 0, 'success', 'create', [lower(hex(cityHash64(r, 13)))], 'final_message'
FROM (SELECT number AS r, 1 AS Version, ALIKE FROM numbers({first:UInt64}, {last:UInt64} - {first:UInt64}))
"""
# What passes left behind when these spans arrived: long ago, each trace at once.
_ARRIVED: Final = (
    "TRUNCATE TABLE overclaim_inbox",
    """
    INSERT INTO overclaim_inbox (Arrived, TraceId, Spans, Earliest, Latest)
    SELECT max(Timestamp), TraceId, count(), min(Timestamp), max(Timestamp) FROM otel_traces GROUP BY TraceId
    """,
    "INSERT INTO overclaim_arrivals (TraceId, Arrived) SELECT TraceId, Arrived FROM overclaim_inbox",
    """
    INSERT INTO overclaim_traces (TraceId, Earliest, Latest, Spans, Seen)
    SELECT TraceId, Earliest, Latest, Spans, Arrived FROM overclaim_inbox
    """,
)
_SPANS_BY: Final = """
SELECT count() FROM (
    SELECT
        TraceId, SpanAttributes['gen_ai.tool.name'] AS Tool, SpanAttributes['gen_ai.tool.call.arguments'] AS Arguments,
        count(), argMax(StatusCode, Timestamp)
    FROM otel_traces GROUP BY TraceId, Tool, Arguments
)
"""
_CALLS_BY: Final = """
SELECT count() FROM (
    SELECT TraceId, RunSpanId, Operation, count(), argMax(Observed, Position) FROM overclaim_calls
    GROUP BY TraceId, RunSpanId, Operation
)
"""


def spans(store: Store, first: int, runs: int) -> None:
    """Put in the spans of so many runs that arrive now, numbered from `first` on; one of ten has a failed call."""
    store.command(_SPANS, {"first": first, "runs": runs})


def kept(store: Store, runs: int) -> None:
    """Put in so many runs of the last days with their spans and labels, as passes would have left them, not judged."""
    now = time.time_ns()
    start = now - (DAYS * 24 + 1) * 3_600_000_000_000
    for first in range(0, runs, STEP):
        params = {"first": first, "last": min(runs, first + STEP), "runs": runs, "days": DAYS, "start": start}
        for text in (_KEPT, _RUNS, _CALLS, _CLAIMS):
            store.command(text.replace("COMMON", _COMMON).replace("ALIKE", _ALIKE.strip()), params)
    for text in _ARRIVED:
        store.command(text)
    store.command(sql.load("label/advance"), {"job": "label", "until": now // 1_000_000, "version": 2})


def settle(store: Store, seconds: float = 300.0) -> None:
    """Wait until the engine has merged what was put in, but no longer than so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and store.query("SELECT count() FROM system.merges").rows[0][0]:
        time.sleep(0.5)


def group_spans(store: Store) -> None:
    """The bare question over the rows of all spans: by trace, tool and arguments their number, and the last status."""
    store.query(_SPANS_BY)


def group_calls(store: Store) -> None:
    """The bare question over the labelled calls: by run and operation their number, and what was observed last."""
    store.query(_CALLS_BY)
