-- What runs cost that ended in a false claim: one row per service, agent and model, the most expensive first.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: runs that started then or later
--   rows UInt32 = 1000: how many rows at most
-- How to read it: Lost is what was spent in runs whose verdict accuses them (contradicted, unsupported, or pending but
-- said to be done), of all that was spent. LostTokensShare and LostSecondsShare are percent of this row's tokens and
-- seconds, OfAllTokens and OfAllSeconds percent of those of all rows. Tokens are those that model calls report, in and
-- out; what a span above them sums up is not counted twice. They go to the innermost run that they fall into, else to
-- the first of the trace. Metered says how many runs report any: without them there is no share. Seconds are from start
-- to end of a run; those of an agent that another one calls count for both.
WITH
runs AS (
    SELECT
        runs.TraceId AS TraceId,
        runs.SpanId AS SpanId,
        runs.ServiceName AS ServiceName,
        runs.Agent AS Agent,
        runs.Model AS Model,
        runs.Started AS Started,
        runs.Ended AS Ended,
        greatest(dateDiff('millisecond', runs.Started, runs.Ended), 0) / 1000 AS Seconds,
        verdicts.Label IN ('contradicted', 'unsupported', 'pending') AS Lost
    FROM overclaim_runs AS runs FINAL
    LEFT JOIN overclaim_run_verdicts AS verdicts
        ON runs.TraceId = verdicts.TraceId AND runs.SpanId = verdicts.RunSpanId
    WHERE runs.Started >= {since:DateTime64(3, 'UTC')}
),

-- Spans that report tokens, each once, however often it came.
metered AS (
    SELECT
        TraceId,
        SpanId,
        any(ParentSpanId) AS Above,
        any(Timestamp) AS At,
        max(
            SpanAttributes['gen_ai.operation.name'] IN ('chat', 'text_completion', 'generate_content', 'embeddings')
            OR SpanAttributes['openinference.span.kind'] IN ('LLM', 'EMBEDDING')
        ) AS IsCall,
        max(
            greatest(
                toUInt64OrZero(SpanAttributes['gen_ai.usage.input_tokens']),
                toUInt64OrZero(SpanAttributes['gen_ai.usage.prompt_tokens']),
                toUInt64OrZero(SpanAttributes['llm.token_count.prompt'])
            )
            + greatest(
                toUInt64OrZero(SpanAttributes['gen_ai.usage.output_tokens']),
                toUInt64OrZero(SpanAttributes['gen_ai.usage.completion_tokens']),
                toUInt64OrZero(SpanAttributes['llm.token_count.completion'])
            )
        ) AS Tokens
    FROM overclaim_spans
    WHERE
        Timestamp >= {since:DateTime64(3, 'UTC')}
        AND hasAny(mapKeys(SpanAttributes), [
            'gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens', 'llm.token_count.prompt',
            'gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens', 'llm.token_count.completion'
        ])
    GROUP BY TraceId, SpanId
    HAVING Tokens > 0
),

-- Where a trace has model calls they are what counts, and of spans within each other the inner ones.
counted AS (
    SELECT
        TraceId,
        SpanId,
        At,
        Tokens
    FROM metered
    WHERE
        (IsCall OR TraceId NOT IN (SELECT calls.TraceId FROM metered AS calls WHERE calls.IsCall))
        AND (TraceId, SpanId) NOT IN (
            SELECT
                within.TraceId,
                within.Above
            FROM metered AS within
        )
),

spent AS (
    SELECT
        TraceId,
        Run,
        sum(Tokens) AS Tokens
    FROM (
        SELECT
            counted.TraceId AS TraceId,
            any(counted.Tokens) AS Tokens,
            argMax(
                runs.SpanId,
                toUnixTimestamp64Nano(runs.Started) * if(counted.At BETWEEN runs.Started AND runs.Ended, 1, -1)
            ) AS Run
        FROM counted
        INNER JOIN runs ON counted.TraceId = runs.TraceId
        GROUP BY counted.TraceId, counted.SpanId
    ) AS placed
    GROUP BY TraceId, Run
),

sums AS (
    SELECT
        runs.ServiceName AS ServiceName,
        runs.Agent AS Agent,
        runs.Model AS Model,
        count() AS Runs,
        countIf(runs.Lost) AS LostRuns,
        countIf(spent.Tokens > 0) AS Metered,
        sum(spent.Tokens) AS Tokens,
        sumIf(spent.Tokens, runs.Lost) AS LostTokens,
        sum(runs.Seconds) AS Seconds,
        sumIf(runs.Seconds, runs.Lost) AS LostSeconds
    FROM runs
    LEFT JOIN spent ON runs.TraceId = spent.TraceId AND runs.SpanId = spent.Run
    GROUP BY runs.ServiceName, runs.Agent, runs.Model
)

SELECT
    ServiceName AS Service,
    Agent,
    Model,
    Runs,
    LostRuns,
    Metered,
    Tokens,
    LostTokens,
    round(100 * LostTokens / nullIf(Tokens, 0), 1) AS LostTokensShare,
    round(100 * LostTokens / nullIf(sum(Tokens) OVER (), 0), 1) AS OfAllTokens,
    round(sums.Seconds, 1) AS Seconds,
    round(sums.LostSeconds, 1) AS LostSeconds,
    round(100 * sums.LostSeconds / nullIf(sums.Seconds, 0), 1) AS LostSecondsShare,
    round(100 * sums.LostSeconds / nullIf(sum(sums.Seconds) OVER (), 0), 1) AS OfAllSeconds
FROM sums
ORDER BY LostTokens DESC, sums.LostSeconds DESC, Runs DESC, Service ASC, Agent ASC, Model ASC
LIMIT {rows:UInt32}
