-- Marks of processes that have ended are deleted after some time. Up to when such marks were raised: a mark that is missing, and
-- was known to be raised later, shows that the database was restored. See lineage/marks.ts.
ALTER TABLE homes ADD COLUMN forgotten_until timestamptz;
