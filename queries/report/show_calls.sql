-- The tool calls of one run in their order: what each told the agent, what was observed, and every fact that says so.
-- Parameters:
--   trace String: TraceId as report/show_runs gives it
--   run String: RunSpanId as report/show_runs gives it
SELECT
    Position,
    Tool,
    Claimed,
    Observed,
    Grade,
    EvidenceRule,
    EvidenceValue,
    EvidenceOutcome,
    EvidenceSpanId,
    Operation,
    Targets,
    Effect,
    SpanStatus,
    SpanId,
    Started
FROM overclaim_calls FINAL
WHERE TraceId = {trace:String} AND RunSpanId = {run:String}
ORDER BY Position, SpanId
