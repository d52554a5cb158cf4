-- Moves a job's watermark to an arrival (Unix milliseconds).
INSERT INTO overclaim_watermark (Job, Arrived, Version)
SELECT
    {job:String} AS Job,
    fromUnixTimestamp64Milli({until:Int64}) AS Arrived,
    {version:UInt64} AS Version
