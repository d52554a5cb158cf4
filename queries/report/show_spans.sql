-- How many spans of a trace came in: those that a pass counted, or all that arrived in the last 30 days, repeated ones
-- included, where these are more: no pass may have looked at them yet.
-- Parameters:
--   id String: the trace
SELECT greatest(
    (
        SELECT max(Spans)
        FROM overclaim_traces
        WHERE TraceId = lower({id:String})
    ),
    (
        SELECT sum(Spans)
        FROM overclaim_inbox
        WHERE TraceId = lower({id:String})
    )
) AS Spans
