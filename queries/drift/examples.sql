-- Up to three traces of the last days that have a category of a signal: a tool that was called, an error of a call, or
-- what was told at the end. since: the change, Unix seconds; until: the end of the time looked at, of which only the
-- last three days are read.
WITH
called AS (
    SELECT DISTINCT TraceId
    FROM overclaim_calls FINAL
    WHERE
        ServiceName = {service:String}
        AND Environment = {environment:String}
        AND ({agent:String} = '' OR Agent = {agent:String})
        AND Started >= greatest(toDateTime({since:UInt32}, 'UTC'), toDateTime({until:UInt32}, 'UTC') - INTERVAL 3 DAY)
        AND Started < toDateTime({until:UInt32}, 'UTC')
        AND (
            ({signal:String} = 'tool_mix' AND Tool = {part:String})
            OR (
                {signal:String} = 'error_type'
                AND Observed = 'failure'
                AND ({tool:String} = '' OR Tool = {tool:String})
                AND has(
                    arrayMap(
                        (kind, value) -> trim(concat(toString(kind), ' ', substringUTF8(value, 1, 40))),
                        EvidenceKind, EvidenceValue
                    ),
                    {part:String}
                )
            )
        )
    ORDER BY TraceId ASC
    LIMIT 3
),

ended AS (
    SELECT DISTINCT TraceId
    FROM overclaim_runs FINAL
    WHERE
        ServiceName = {service:String}
        AND Environment = {environment:String}
        AND ({agent:String} = '' OR Agent = {agent:String})
        AND Started >= greatest(toDateTime({since:UInt32}, 'UTC'), toDateTime({until:UInt32}, 'UTC') - INTERVAL 3 DAY)
        AND Started < toDateTime({until:UInt32}, 'UTC')
        AND {signal:String} = 'ending'
        AND Claimed = {part:String}
    ORDER BY TraceId ASC
    LIMIT 3
)

SELECT arrayConcat((SELECT groupArray(TraceId) FROM called), (SELECT groupArray(TraceId) FROM ended)) AS Traces
