-- Changes of all tokens that a filter matches, and how far they are.
CREATE TABLE bulk_operations (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  action TEXT NOT NULL,
  filter TEXT NOT NULL,
  scope TEXT,
  reason TEXT,
  created_at INTEGER NOT NULL,
  by TEXT NOT NULL,
  by_name TEXT,
  ordered TEXT NOT NULL,
  status TEXT NOT NULL,
  direction TEXT NOT NULL,
  total INTEGER NOT NULL,
  parts INTEGER NOT NULL,
  position INTEGER NOT NULL,
  done INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  restored INTEGER NOT NULL,
  kept INTEGER NOT NULL,
  ended_at INTEGER,
  error TEXT,
  stamp BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX bulk_operations_by_account ON bulk_operations (account_id, id);
CREATE INDEX bulk_operations_running ON bulk_operations (id, account_id) WHERE status = 'running';
CREATE INDEX bulk_operations_running_of_account ON bulk_operations (account_id) WHERE status = 'running';

-- The tokens of an operation, and what was changed of them.
CREATE TABLE bulk_parts (
  operation_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  tokens TEXT NOT NULL,
  changes TEXT,
  stamp BLOB NOT NULL,
  PRIMARY KEY (operation_id, number)
) STRICT;
CREATE INDEX bulk_parts_by_age ON bulk_parts (account_id, created_at);
