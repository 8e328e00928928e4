-- Changes of all tokens that a filter matches, and how far they are.
CREATE TABLE bulk_operations (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  action text NOT NULL,
  filter text NOT NULL,
  scope text COLLATE "C",
  reason text,
  created_at bigint NOT NULL,
  by text NOT NULL,
  by_name text,
  ordered text NOT NULL,
  status text COLLATE "C" NOT NULL,
  direction text NOT NULL,
  total bigint NOT NULL,
  parts bigint NOT NULL,
  position bigint NOT NULL,
  done bigint NOT NULL,
  skipped bigint NOT NULL,
  restored bigint NOT NULL,
  kept bigint NOT NULL,
  ended_at bigint,
  error text,
  stamp bytea NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX bulk_operations_by_account ON bulk_operations (account_id, id);
CREATE INDEX bulk_operations_running ON bulk_operations (id) WHERE status = 'running';
CREATE INDEX bulk_operations_running_of_account ON bulk_operations (account_id) WHERE status = 'running';

-- The tokens of an operation, and what was changed of them.
CREATE TABLE bulk_parts (
  operation_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  tokens text NOT NULL,
  changes text,
  stamp bytea NOT NULL,
  PRIMARY KEY (operation_id, number)
) WITH (fillfactor = 50);
CREATE INDEX bulk_parts_by_age ON bulk_parts (account_id, created_at);
