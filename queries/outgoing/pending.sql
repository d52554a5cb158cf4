-- What a receiver has not got yet of what passes from number {after} on wrote, oldest first. What is taken back goes
-- only to receivers that may know it as standing; what they know follows whatever its severity has become.
-- Parameters: sink String (the receiver), after UInt64 (number of a pass), severities Array(String) (those wanted),
-- most UInt32 (so many at a time)
SELECT
    found.FindingId AS FindingId,
    found.Rule AS Rule,
    found.Severity AS Severity,
    found.Title AS Title,
    found.TraceId AS TraceId,
    found.RunSpanId AS RunSpanId,
    found.Claim AS Claim,
    found.SpanId AS SpanId,
    found.EvidenceRule AS EvidenceRule,
    found.EvidenceValue AS EvidenceValue,
    found.ServiceName AS ServiceName,
    found.Environment AS Environment,
    found.Agent AS Agent,
    found.AgentVersion AS AgentVersion,
    found.Model AS Model,
    found.Tool AS Tool,
    toUnixTimestamp64Nano(found.At) AS AtNs,
    found.Open AS Open,
    found.Version AS Version,
    found.Mark AS Mark,
    known.Open AND known.Fate = 'sent' AS Known,
    known.Open AND known.Fate IN ('sending', 'sent') AS MayKnow
FROM overclaim_outgoing AS found
LEFT JOIN (
    SELECT
        FindingId,
        Mark,
        Open,
        Fate
    FROM overclaim_deliveries FINAL
    WHERE
        Sink = {sink:String}
        AND FindingId IN (SELECT FindingId FROM overclaim_outgoing WHERE Version >= {after:UInt64})
) AS known ON found.FindingId = known.FindingId
WHERE
    found.Version >= {after:UInt64}
    AND found.Mark != known.Mark
    AND (found.Open OR MayKnow)
    AND (found.Severity IN {severities:Array(String)} OR MayKnow)
ORDER BY Version ASC, FindingId ASC
LIMIT {most:UInt32}
