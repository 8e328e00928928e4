-- A JSON object of the caller's own; null for none.
ALTER TABLE tokens ADD COLUMN metadata text;
