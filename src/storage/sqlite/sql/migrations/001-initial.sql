-- Ids begin with their time of creation: ORDER BY id is ORDER BY created_at, id. Times are milliseconds.

-- The store secret, sealed once for each master key that may open it.
CREATE TABLE vault (
  key_id TEXT PRIMARY KEY,
  sealed_secret BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE account_keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  digest BLOB NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  stamp BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX account_keys_by_account ON account_keys (account_id, id);

CREATE TABLE sub_accounts (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  email TEXT NOT NULL,
  company_name TEXT NOT NULL,
  folded_text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  suspended_at INTEGER,
  stamp BLOB NOT NULL,
  UNIQUE (account_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL,
  sub_account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  folded_name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active', 'inactive')),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  digest BLOB NOT NULL UNIQUE,
  sealed BLOB NOT NULL,
  stamp BLOB NOT NULL,
  UNIQUE (sub_account_id, name),
  FOREIGN KEY (account_id, sub_account_id) REFERENCES sub_accounts (account_id, id)
) STRICT;
CREATE INDEX tokens_by_account ON tokens (account_id, id);
CREATE INDEX tokens_by_account_status ON tokens (account_id, status, id);
CREATE INDEX tokens_by_sub_account ON tokens (sub_account_id, id);
CREATE INDEX tokens_by_sub_account_status ON tokens (sub_account_id, status, id);

-- Credentials that were rotated out and still work for a while.
CREATE TABLE retired_credentials (
  digest BLOB PRIMARY KEY,
  token_id TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  retires_at INTEGER NOT NULL,
  stamp BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX retired_credentials_by_token ON retired_credentials (token_id);

-- Apart from tokens, so that a use changes neither a token's row nor its version.
CREATE TABLE last_used (
  token_id TEXT PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The search index: the groups of three characters of each folded name, as grams.ts writes them.
CREATE VIRTUAL TABLE token_grams USING fts5 (
  grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

-- Exact counts by account and by sub-account, kept in the transaction of the change by writes.ts: triggers would make
-- SQLite keep a journal of every statement, and cost more than all the indexes.
CREATE TABLE token_counts (
  scope TEXT NOT NULL,
  status TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (scope, status)
) STRICT, WITHOUT ROWID;

-- Each account's rows are a chain of stamps; the head says how long it is.
CREATE TABLE history (
  no INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  token_id TEXT,
  from_facts TEXT NOT NULL,
  to_facts TEXT NOT NULL,
  request_id TEXT,
  address TEXT,
  stamp BLOB NOT NULL,
  UNIQUE (account_id, seq)
) STRICT;
CREATE INDEX history_by_token ON history (token_id, seq) WHERE token_id IS NOT NULL;

CREATE TABLE history_heads (
  account_id TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  last BLOB NOT NULL,
  stamp BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_keys (
  account_id TEXT NOT NULL,
  key TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  token_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
