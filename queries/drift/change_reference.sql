-- Changes the time of a stream's reference, or from when on it is compared with it (all Unix seconds). With a reason
-- the reference is another one, and its prior must be measured again; without, it stays as it is.
INSERT INTO overclaim_references (
    Stream, ServiceName, Environment, Agent, Tool, Signal, Level, Direction, FromTick, UntilTick, Kind, Parts, PartBad,
    Edges, Sides, Runs, Bad, A, B, Deff, Tau, Blocks, Checks, Since, Reason, Marker, Version
)
SELECT
    Stream,
    ServiceName,
    Environment,
    Agent,
    Tool,
    Signal,
    Level,
    Direction,
    toDateTime({from:UInt32}, 'UTC'),
    toDateTime({until:UInt32}, 'UTC'),
    Kind,
    Parts,
    PartBad,
    Edges,
    Sides,
    Runs,
    Bad,
    if({reason:String} = '', A, []),
    if({reason:String} = '', B, []),
    Deff,
    Tau,
    Blocks,
    Checks,
    toDateTime({since:UInt32}, 'UTC'),
    if({reason:String} = '', toString(Reason), {reason:String}),
    if({reason:String} = '', Marker, ''),
    greatest({version:UInt64}, Version + 1)
FROM overclaim_references FINAL
WHERE Stream = {stream:String}
