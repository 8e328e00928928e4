-- People who are signed in to the console. Of the cookie only a digest is stored; `claims` is JSON.
CREATE TABLE sessions (
  id text COLLATE "C" PRIMARY KEY,
  digest bytea NOT NULL UNIQUE,
  account_id text COLLATE "C" REFERENCES accounts (id),
  subject text NOT NULL,
  email text,
  claims text NOT NULL,
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  stamp bytea NOT NULL
);
CREATE INDEX sessions_by_account ON sessions (account_id, id);
CREATE INDEX sessions_by_creation ON sessions (created_at);
CREATE INDEX sessions_by_use ON sessions (seen_at);
