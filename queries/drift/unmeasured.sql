-- The streams whose reference has no prior yet, or none by parts, or covers one of some hours (their starts, Unix
-- seconds), which were counted anew.
SELECT DISTINCT Stream
FROM overclaim_references FINAL
WHERE
    empty(A)
    OR empty(Parts)
    OR arrayExists(
        hour -> hour >= toUnixTimestamp(FromTick) AND hour < toUnixTimestamp(UntilTick), {hours:Array(UInt32)}
    )
ORDER BY Stream ASC
