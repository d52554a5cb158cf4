-- What report/compare leaves out, since only one of its two windows has it: agents, and tools that an agent
-- of theirs has not, or no longer, called.
-- Parameters:
--   now DateTime64(3, 'UTC') = now(): where now ends
--   window_hours UInt32 = 24: how long now is
--   reference_hours UInt32 = 168: how long then is, which ends where now begins
WITH
seen AS (
    SELECT
        ServiceName,
        Agent,
        Tool,
        max(Started) > {now:DateTime64(3, 'UTC')} - toIntervalHour({window_hours:UInt32}) AS Recent,
        min(Started) <= {now:DateTime64(3, 'UTC')} - toIntervalHour({window_hours:UInt32}) AS Before
    FROM (
        SELECT
            ServiceName,
            Agent,
            Tool,
            Started
        FROM overclaim_calls FINAL
        WHERE Observed != 'unknown'
        UNION ALL
        SELECT
            ServiceName,
            Agent,
            '' AS Tool,
            Started
        FROM overclaim_run_verdicts
        WHERE Label != 'incomplete'
    )
    WHERE
        Started > {now:DateTime64(3, 'UTC')} - toIntervalHour({window_hours:UInt32} + {reference_hours:UInt32})
        AND Started <= {now:DateTime64(3, 'UTC')}
    GROUP BY ServiceName, Agent, Tool
)

SELECT
    countIf(Tool = '' AND NOT Before) AS NewAgents,
    uniqExactIf((ServiceName, Tool), Tool != '' AND NOT Before) AS NewTools,
    countIf(Tool = '' AND NOT Recent) AS LostAgents,
    uniqExactIf((ServiceName, Tool), Tool != '' AND NOT Recent) AS LostTools
FROM seen
