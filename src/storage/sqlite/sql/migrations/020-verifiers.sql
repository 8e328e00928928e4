-- Verifiers that hold a lease: see model/lease.ts. `acked` is the position in the history up to which it has forgotten everything.
CREATE TABLE verifiers (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
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
CREATE INDEX verifiers_by_account ON verifiers (account_id, id);
