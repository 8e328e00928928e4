-- Verifiers that hold a lease: see model/lease.ts. `acked` is the position in the history up to which it has forgotten everything.
CREATE TABLE verifiers (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  key_id text COLLATE "C" NOT NULL,
  name text,
  version text,
  state text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  confirmed_at bigint NOT NULL,
  renewal bigint NOT NULL,
  term_ms bigint NOT NULL,
  acked text NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX verifiers_by_account ON verifiers (account_id, id);

-- The transaction that wrote a row: which rows a reader has seen is then a matter of snapshots, without any order of all rows. Null
-- for rows of before. The default is set afterwards, so that these are not written again.
ALTER TABLE history ADD COLUMN xid xid8;
ALTER TABLE history ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
CREATE INDEX history_by_xid ON history (xid) WHERE xid IS NOT NULL;
