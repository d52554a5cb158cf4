-- Deletes the rows of a table that arrived before a moment (Unix seconds): the parts that hold some are written anew,
-- and the files of the old ones go some eight minutes later.
ALTER TABLE {table:Identifier} DELETE WHERE Received < toDateTime({before:UInt32}) SETTINGS mutations_sync = 1
