-- What was found about services, agents and tools over time, rather than about one run: newest first.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: with all, what began then or later
--   all UInt8 = 0: 1 for what is over, too: what runs again, or is news no more
--   rows UInt32 = 1000: how many rows at most
-- At is when it began: the last run of what has gone silent, the first one with what is new, or a change of behaviour.
-- Traces show it: of what has gone silent, the last run with it.
SELECT
    At,
    Rule,
    Severity,
    ServiceName AS Service,
    Environment,
    Agent,
    Tool,
    if(Tool != '', toString(Tool), if(Agent != '', toString(Agent), toString(ServiceName))) AS Who,
    Value,
    Title,
    if(Open, '', 'over') AS State,
    arrayStringConcat(Traces, ' ') AS TraceIds,
    FindingId
FROM overclaim_fleet_findings FINAL
WHERE Open OR ({all:UInt8} AND At >= {since:DateTime64(3, 'UTC')})
ORDER BY At DESC, FindingId ASC
LIMIT {rows:UInt32}
