-- What the actor and the subject of a change were called at that time; none in rows that were written before.
ALTER TABLE history ADD COLUMN by_name text;
ALTER TABLE history ADD COLUMN subject_name text;
