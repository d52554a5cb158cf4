"""Runs for the bench of detection, made by the engine itself: spans as they arrive, or what labelling makes of them."""

from __future__ import annotations

from typing import Final

from overclaim_detectors.store import Store

SPANS: Final = 13  # of a run that arrives
LABELLED_SPANS: Final = 14.5  # that a labelled run stands for
DAYS: Final = 7  # in which labelled runs lie

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

# What all three labelled tables have in common, in the places of ALIKE and COMMON; r is the number of the run.
_ALIKE: Final = """
    lower(concat(hex(cityHash64(r)), hex(cityHash64(r, 1)))) AS TraceId,
    lower(hex(cityHash64(r, 2))) AS RunSpanId,
    'svc' AS ServiceName, 'prod' AS Environment, concat('agent', toString(r % 5)) AS Agent, '1' AS AgentVersion,
    'm' AS Model,
    now64(9) - toIntervalDay({days:UInt32}) + toIntervalMillisecond(r * {days:UInt32} * 86400000 / {runs:UInt64})
    AS Begun
"""
_COMMON: Final = "TraceId, ServiceName, Environment, Agent, AgentVersion, Model, Version"
_RUNS: Final = """
INSERT INTO overclaim_runs (COMMON, SpanId, Started, Ended, Claimed, Calls, Captured, Complete)
SELECT COMMON, RunSpanId, Begun, Begun + 30, 'success', 4, 1, 1
FROM (SELECT number AS r, 1 AS Version, ALIKE FROM numbers({runs:UInt64}))
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
    FROM numbers({runs:UInt64} * 4)
)
"""
_CLAIMS: Final = """
INSERT INTO overclaim_claims (COMMON, RunSpanId, Started, Position, Outcome, Action, About, Source)
SELECT COMMON, RunSpanId, Begun, 0, 'success', 'create', [lower(hex(cityHash64(r, 13)))], 'final_message'
FROM (SELECT number AS r, 1 AS Version, ALIKE FROM numbers({runs:UInt64}))
"""
_GROUP_BY: Final = """
SELECT count() FROM (
    SELECT TraceId, RunSpanId, Operation, count(), argMax(Observed, Position) FROM overclaim_calls
    GROUP BY TraceId, RunSpanId, Operation
)
"""


def spans(store: Store, first: int, runs: int) -> None:
    """Put in the spans of so many runs that arrive now, numbered from `first` on; one of ten has a failed call."""
    store.command(_SPANS, {"first": first, "runs": runs})


def labelled(store: Store, runs: int) -> None:
    """Put in so many runs of the last days as if they had been labelled; of a hundred calls six failed."""
    for text in (_RUNS, _CALLS, _CLAIMS):
        whole = text.replace("COMMON", _COMMON).replace("ALIKE", _ALIKE)
        store.command(whole, {"runs": runs, "days": DAYS})


def group_by(store: Store) -> None:
    """The bare question beside which judging is measured."""
    store.query(_GROUP_BY)
