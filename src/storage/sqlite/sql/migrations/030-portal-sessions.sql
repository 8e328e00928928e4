-- Sessions of the portal, which their holders know by sealed ids. `may` is JSON; `maker` is the account key or the session of the person
-- that has made it.
CREATE TABLE portal_sessions (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  sub_account_id TEXT NOT NULL,
  may TEXT NOT NULL,
  origin TEXT,
  maker TEXT,
  by TEXT NOT NULL,
  by_name TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,
  stamp BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX portal_sessions_by_end ON portal_sessions (account_id, expires_at);
