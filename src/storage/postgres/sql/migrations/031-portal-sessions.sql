-- Sessions of the portal, which their holders know by sealed ids. `may` is JSON; `maker` is the account key or the session of the person
-- that has made it.
CREATE TABLE portal_sessions (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  sub_account_id text COLLATE "C" NOT NULL,
  may text NOT NULL,
  origin text,
  maker text COLLATE "C",
  by text NOT NULL,
  by_name text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  ended_at bigint,
  stamp bytea NOT NULL
);
CREATE INDEX portal_sessions_by_end ON portal_sessions (account_id, expires_at);
