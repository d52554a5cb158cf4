-- Findings that stand, newest first, from a place in their order on.
-- Parameters:
--   since Int64: Unix nanoseconds; runs that started then or later
--   before Int64, before_id String: At (Unix nanoseconds) and FindingId of the last finding that was seen
--   severity String, rule String, service String, agent String, tool String: only these; empty for any
--   rows UInt32: how many rows at most
SELECT
    FindingId,
    At,
    toUnixTimestamp64Nano(At) AS AtNs,
    Rule,
    Severity,
    Title,
    ServiceName AS Service,
    Agent,
    Tool,
    EvidenceRule AS Evidence,
    EvidenceValue AS Value,
    TraceId
FROM overclaim_findings FINAL
WHERE
    Open
    AND At >= fromUnixTimestamp64Nano({since:Int64}, 'UTC')
    AND At <= fromUnixTimestamp64Nano({before:Int64}, 'UTC')
    AND (toUnixTimestamp64Nano(At), FindingId) < ({before:Int64}, {before_id:String})
    AND ({severity:String} = '' OR Severity = {severity:String})
    AND ({rule:String} = '' OR Rule = {rule:String})
    AND ({service:String} = '' OR ServiceName = {service:String})
    AND ({agent:String} = '' OR Agent = {agent:String})
    AND ({tool:String} = '' OR Tool = {tool:String})
ORDER BY At DESC, FindingId DESC
LIMIT {rows:UInt32}
