-- Keeps the parts of a table at 2 GiB. A part holds what arrived one after the other, so the oldest rows can go by
-- dropping parts, and where a part must be written anew for it, that takes little time and room.
ALTER TABLE {table:Identifier} MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 2147483648
