-- Takes back the constraints of procedures that are no longer declared, or no longer have so many parts.
INSERT INTO overclaim_procedures (Procedure, Part, Version, Deleted)
SELECT
    Procedure,
    Part,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_procedures FINAL
WHERE Version < {version:UInt64}
