-- Ids begin with their time of creation: ORDER BY id is ORDER BY created_at, id. Times are milliseconds.
-- Text that is compared or put in order has COLLATE "C": by its bytes, whatever the database's locale.

CREATE TABLE latchkey_migrations (
  number integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

-- The store secret, sealed once for each master key that may open it.
CREATE TABLE vault (
  key_id text COLLATE "C" PRIMARY KEY,
  sealed_secret bytea NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE account_keys (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  name text NOT NULL,
  digest bytea NOT NULL CONSTRAINT account_keys_digest_taken UNIQUE,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  stamp bytea NOT NULL
);
CREATE INDEX account_keys_by_account ON account_keys (account_id, id);

CREATE TABLE sub_accounts (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  name text NOT NULL,
  email text NOT NULL,
  company_name text NOT NULL,
  folded_text text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  suspended_at bigint,
  stamp bytea NOT NULL,
  UNIQUE (account_id, id)
);

CREATE TABLE tokens (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  sub_account_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('active', 'inactive')),
  created_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  digest bytea NOT NULL CONSTRAINT tokens_digest_taken UNIQUE,
  sealed bytea NOT NULL,
  stamp bytea NOT NULL,
  CONSTRAINT tokens_name_taken UNIQUE (sub_account_id, name),
  FOREIGN KEY (account_id, sub_account_id) REFERENCES sub_accounts (account_id, id)
);
CREATE INDEX tokens_by_account ON tokens (account_id, id);
CREATE INDEX tokens_by_account_status ON tokens (account_id, status, id);
CREATE INDEX tokens_by_sub_account ON tokens (sub_account_id, id);
CREATE INDEX tokens_by_sub_account_status ON tokens (sub_account_id, status, id);
-- What expires when: for lists narrowed by expiry, and for the overview.
CREATE INDEX tokens_by_expiry ON tokens (account_id, expires_at, status) WHERE expires_at IS NOT NULL;

-- What a search looks at, apart from tokens: there a change of status writes to every index, and the one on grams is
-- the dearest of all. Here it writes to none.
CREATE TABLE token_search (
  token_id text COLLATE "C" PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
  account_id text COLLATE "C" NOT NULL,
  sub_account_id text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  folded_name text COLLATE "C" NOT NULL,
  -- The groups of three characters of the folded name, as grams.ts writes them.
  grams tsvector NOT NULL
) WITH (fillfactor = 85);
CREATE INDEX token_search_by_grams ON token_search USING gin (grams);
-- Without figures on how common a group is, the planner always takes the index, for every search alike.
ALTER TABLE token_search ALTER COLUMN grams SET STATISTICS 0;

-- Credentials that were rotated out and still work for a while.
CREATE TABLE retired_credentials (
  digest bytea CONSTRAINT retired_credentials_digest_taken PRIMARY KEY,
  token_id text COLLATE "C" NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  retires_at bigint NOT NULL,
  stamp bytea NOT NULL
);
CREATE INDEX retired_credentials_by_token ON retired_credentials (token_id);

-- Apart from tokens, so that a use changes neither a token's row nor its version.
CREATE TABLE last_used (
  token_id text COLLATE "C" PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
  at bigint NOT NULL
) WITH (fillfactor = 85);

-- Exact counts by account and by sub-account, kept by the triggers in the transaction of the change.
CREATE TABLE token_counts (
  scope text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (scope, status)
) WITH (fillfactor = 50);

CREATE FUNCTION tokens_counted_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO token_counts AS c (scope, status, count)
  SELECT scope, status, count(*)
  FROM (SELECT account_id AS scope, status FROM added UNION ALL SELECT sub_account_id, status FROM added) AS change
  GROUP BY scope, status ORDER BY scope, status
  ON CONFLICT (scope, status) DO UPDATE SET count = c.count + excluded.count;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_counted_in AFTER INSERT ON tokens
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tokens_counted_in();

CREATE FUNCTION tokens_counted_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE token_counts AS c SET count = c.count - change.n
  FROM (
    SELECT scope, status, count(*) AS n
    FROM (SELECT account_id AS scope, status FROM removed UNION ALL SELECT sub_account_id, status FROM removed) AS each
    GROUP BY scope, status
  ) AS change
  WHERE c.scope = change.scope AND c.status = change.status;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_counted_out AFTER DELETE ON tokens
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION tokens_counted_out();

CREATE FUNCTION tokens_counted_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO token_counts AS c (scope, status, count)
  VALUES (new.account_id, old.status, -1), (new.account_id, new.status, 1),
    (new.sub_account_id, old.status, -1), (new.sub_account_id, new.status, 1)
  ON CONFLICT (scope, status) DO UPDATE SET count = c.count + excluded.count;
  UPDATE token_search SET status = new.status WHERE token_id = new.id;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_counted_over AFTER UPDATE OF status ON tokens
  FOR EACH ROW WHEN (old.status <> new.status) EXECUTE FUNCTION tokens_counted_over();

-- Each account's rows are a chain of stamps; the head says how long it is, and is what a change of the account locks.
-- Facts are text, not jsonb: the stamp covers them as they were written.
CREATE TABLE history (
  account_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  by text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  token_id text COLLATE "C",
  from_facts text NOT NULL,
  to_facts text NOT NULL,
  request_id text,
  address text,
  stamp bytea NOT NULL,
  PRIMARY KEY (account_id, seq)
);
CREATE INDEX history_by_token ON history (token_id, seq) WHERE token_id IS NOT NULL;

CREATE TABLE history_heads (
  account_id text COLLATE "C" PRIMARY KEY,
  seq bigint NOT NULL,
  last bytea NOT NULL,
  stamp bytea NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE idempotency_keys (
  account_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  request_digest text NOT NULL,
  token_id text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (account_id, created_at);
