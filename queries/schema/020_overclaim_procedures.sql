-- Procedures: what order of calls is right, as declared in the expectations; one row per constraint of a procedure.
-- Tools and agents are regular expressions made from the declared patterns; an empty list of states fits no call.
CREATE TABLE IF NOT EXISTS overclaim_procedures
(
    Procedure String COMMENT 'id of the procedure',
    Part UInt16 COMMENT 'which of its constraints, from 0',
    Rule LowCardinality(String) COMMENT 'rule that reports it when it is broken: OC401 to OC404',
    Kind LowCardinality(String) COMMENT 'precedes, responds, not_after, count, first or last',
    Template LowCardinality(String) COMMENT 'word it was declared by, such as precedence',
    Sentence String COMMENT 'what it says, for people',
    Severity LowCardinality(String) COMMENT 'high, medium or low',
    Agents String COMMENT 'agents it is about',
    PerTarget UInt8 COMMENT '1 where only calls that share a target are compared',
    Within UInt32 COMMENT 'how many calls apart at most; 0 for any number',
    Low UInt32 COMMENT 'count: how many calls at least',
    High UInt32 COMMENT 'count: how many calls at most',
    NeedsAll UInt8 COMMENT '1 where a call that was not seen might have kept it, so only a whole run can break it',
    SubjectTools String COMMENT 'the calls it judges: their tools',
    SubjectActions Array(String) COMMENT 'their actions; empty for any',
    SubjectEffects Array(String) COMMENT 'their effects; empty for any',
    SubjectStates Array(String) COMMENT 'how they ended',
    PartnerTools String COMMENT 'the calls that must, or must not, come before or after: their tools',
    PartnerActions Array(String) COMMENT 'their actions; empty for any',
    PartnerEffects Array(String) COMMENT 'their effects; empty for any',
    PartnerStates Array(String) COMMENT 'how they ended',
    UnlessTools String COMMENT 'the calls that lift it: their tools',
    UnlessActions Array(String) COMMENT 'their actions; empty for any',
    UnlessEffects Array(String) COMMENT 'their effects; empty for any',
    UnlessStates Array(String) COMMENT 'how they ended',
    Version UInt64 COMMENT 'when it was declared, Unix milliseconds; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where it is no longer declared'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
ORDER BY (Procedure, Part);
