-- What was found about the fleet so far, one row per subject of a rule, open or not.
SELECT
    FindingId,
    Rule,
    Severity,
    Title,
    ServiceName,
    Environment,
    Agent,
    Tool,
    Value,
    Traces,
    toUnixTimestamp64Nano(At) AS Began,
    Open,
    Version
FROM overclaim_fleet_findings FINAL
