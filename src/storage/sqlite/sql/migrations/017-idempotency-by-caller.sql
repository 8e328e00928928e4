-- An idempotency key belongs to the caller who sent it. Who that was is in the history of the token that was made.
CREATE TABLE idempotency_keys_by_caller (
  account_id TEXT NOT NULL,
  by TEXT NOT NULL,
  key TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  subject TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, by, key)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO idempotency_keys_by_caller
  SELECT i.account_id, h.by, i.key, i.request_digest, i.token_id, i.created_at
  FROM idempotency_keys i CROSS JOIN history h ON h.token_id = i.token_id
  WHERE h.account_id = i.account_id AND h.action = 'token.create';
DROP TABLE idempotency_keys;
ALTER TABLE idempotency_keys_by_caller RENAME TO idempotency_keys;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
