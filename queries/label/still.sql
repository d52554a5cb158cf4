-- What a pass that found nothing to do remembers: its number, and what the inbox holds from a moment on (Unix
-- milliseconds), or from five minutes ago, where the clock was set back. As long as both stay, there is nothing to do.
SELECT
    (
        SELECT max(Version)
        FROM overclaim_watermark
        WHERE Job = 'label'
    ) AS Pass,
    count() AS Arrivals,
    sum(toUnixTimestamp64Milli(Arrived)) AS Moments
FROM overclaim_inbox
WHERE Arrived >= least(fromUnixTimestamp64Milli({since:Int64}), now64(3) - INTERVAL 5 MINUTE)
