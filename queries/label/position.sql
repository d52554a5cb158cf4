-- Where a job stands: the arrival it worked up to, as Unix milliseconds, and the number of its last pass.
-- No row before the first pass. Never later than now: after the clock was set back, new arrivals carry earlier times.
SELECT
    least(toUnixTimestamp64Milli(Arrived), toUnixTimestamp64Milli(now64(3))) AS ArrivedMs,
    Version
FROM overclaim_watermark FINAL
WHERE Job = {job:String}
