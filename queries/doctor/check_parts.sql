-- Read every file of every part and compare it with its checksum: a read of the whole store. One statement for each
-- table, since the engine binds no names here. Each gives: the part, whether it is whole (1 or 0), what is wrong.
CHECK TABLE otel_traces; -- noqa: PRS
CHECK TABLE otel_logs;
CHECK TABLE overclaim_actions;
CHECK TABLE overclaim_arrivals;
CHECK TABLE overclaim_batch;
CHECK TABLE overclaim_behaviour;
CHECK TABLE overclaim_breaches;
CHECK TABLE overclaim_calls;
CHECK TABLE overclaim_claims;
CHECK TABLE overclaim_deliveries;
CHECK TABLE overclaim_detector_states;
CHECK TABLE overclaim_drift_streams;
CHECK TABLE overclaim_drifts;
CHECK TABLE overclaim_failures;
CHECK TABLE overclaim_fleet_findings;
CHECK TABLE overclaim_findings;
CHECK TABLE overclaim_inbox;
CHECK TABLE overclaim_normals;
CHECK TABLE overclaim_operations;
CHECK TABLE overclaim_procedures;
CHECK TABLE overclaim_quarantine;
CHECK TABLE overclaim_references;
CHECK TABLE overclaim_runs;
CHECK TABLE overclaim_seen;
CHECK TABLE overclaim_traces;
CHECK TABLE overclaim_verdicts;
CHECK TABLE overclaim_watermark;
CHECK TABLE overclaim_ways;
