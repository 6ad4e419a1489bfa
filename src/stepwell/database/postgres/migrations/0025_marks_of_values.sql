-- Hashes of the values, which a search by values reads instead of the values (`database/marks`). Null if nobody has made them.
ALTER TABLE thread_values ADD COLUMN marks TEXT COLLATE "C";
CREATE INDEX thread_values_marked ON thread_values (thread_id, marks);
