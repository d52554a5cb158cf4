-- The constraints of the procedures that are declared now.
SELECT * EXCEPT (Deleted)
FROM overclaim_procedures FINAL
ORDER BY Procedure, Part
