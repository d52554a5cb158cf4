-- Drops a part; its files go within a minute.
ALTER TABLE {table:Identifier} DROP PART {part:String}
