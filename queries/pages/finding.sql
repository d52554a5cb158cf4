-- One finding.
-- Parameters:
--   id String: FindingId
--   at Int64: start of its run in Unix nanoseconds, by which it is found at once; 0 where that is not known
SELECT
    FindingId,
    Rule,
    Severity,
    Title,
    TraceId,
    RunSpanId,
    Claim,
    CallSpanIds,
    EvidenceRule AS Evidence,
    EvidenceValue AS Value,
    EvidenceSpanId,
    ServiceName AS Service,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Tool,
    At,
    toUnixTimestamp64Nano(At) AS AtNs,
    Open
FROM overclaim_findings FINAL
WHERE
    FindingId = {id:String}
    AND ({at:Int64} = 0 OR At = fromUnixTimestamp64Nano({at:Int64}, 'UTC'))
ORDER BY At DESC
LIMIT 1
