-- People who are signed in to the console. Of the cookie only a digest is stored; `claims` is JSON.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  account_id TEXT REFERENCES accounts (id),
  subject TEXT NOT NULL,
  email TEXT,
  claims TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  stamp BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_account ON sessions (account_id, id);
CREATE INDEX sessions_by_creation ON sessions (created_at);
CREATE INDEX sessions_by_use ON sessions (seen_at);
