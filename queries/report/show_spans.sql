-- How many spans of a trace came in, repeated ones included.
-- Parameters: id (the trace).
SELECT sum(Spans) AS Spans
FROM overclaim_traces
WHERE TraceId = lower({id:String})
