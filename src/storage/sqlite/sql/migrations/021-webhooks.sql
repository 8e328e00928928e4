-- Receivers of events. `position` is the last row of the account's history that is dealt with; secrets are sealed.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  url TEXT NOT NULL,
  events TEXT,
  ordering TEXT NOT NULL,
  status TEXT NOT NULL,
  disabled_because TEXT,
  created_at INTEGER NOT NULL,
  sealed BLOB NOT NULL,
  former_sealed BLOB,
  former_until INTEGER,
  position INTEGER NOT NULL,
  last_success_at INTEGER,
  stamp BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_by_account ON webhooks (account_id, id);
-- Those that events are sent to, in turn.
CREATE INDEX webhooks_active ON webhooks (id, account_id, position) WHERE status = 'active';

CREATE TABLE webhook_deliveries (
  webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  event TEXT NOT NULL,
  at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  status TEXT NOT NULL,
  response_status INTEGER,
  error TEXT,
  first_at INTEGER,
  next_at INTEGER,
  PRIMARY KEY (webhook_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, next_at, seq) WHERE next_at IS NOT NULL;

-- Which process does what no two may do at the same time, until when.
CREATE TABLE claims (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  held_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Which tokens were announced to expire, and when.
CREATE INDEX history_expiring ON history (token_id, at) WHERE action = 'token.expiring';
-- Whose tokens may end before their own expiry.
CREATE INDEX sub_accounts_with_policy ON sub_accounts (account_id, id) WHERE policy IS NOT NULL;
