-- The last row of an account's history by which verification has come to decide otherwise: what verifiers must confirm. What was
-- decided before is confirmed by every call in a new life of the store.
ALTER TABLE history_heads ADD COLUMN decided INTEGER;

-- Begins again with each server that verifiers ask: a position of a former life may be one that an older copy of the file never had.
CREATE TABLE store_life (only INTEGER PRIMARY KEY CHECK (only = 1), id TEXT NOT NULL) STRICT;

-- As before, but a row may stand for leases of which only the journal or the operator knows, and their accounts need not be there.
CREATE TABLE leases (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  name TEXT,
  version TEXT,
  state TEXT NOT NULL,
  since INTEGER NOT NULL,
  confirmed_at INTEGER NOT NULL,
  renewal INTEGER NOT NULL,
  term_ms INTEGER NOT NULL,
  acked TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO leases SELECT id, account_id, key_id, name, version, state, since, confirmed_at, renewal, term_ms, acked FROM verifiers;
DROP TABLE verifiers;
ALTER TABLE leases RENAME TO verifiers;
CREATE INDEX verifiers_by_account ON verifiers (account_id, id);
