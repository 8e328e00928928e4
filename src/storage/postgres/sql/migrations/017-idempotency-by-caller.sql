-- An idempotency key belongs to the caller who sent it. Who that was is in the history of the token that was made.
ALTER TABLE idempotency_keys RENAME COLUMN token_id TO subject;
ALTER TABLE idempotency_keys ADD COLUMN by text COLLATE "C";
UPDATE idempotency_keys i SET by = (
  SELECT h.by FROM history h WHERE h.token_id = i.subject AND h.account_id = i.account_id AND h.action = 'token.create' LIMIT 1
);
DELETE FROM idempotency_keys WHERE by IS NULL;
ALTER TABLE idempotency_keys ALTER COLUMN by SET NOT NULL;
ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey;
ALTER TABLE idempotency_keys ADD PRIMARY KEY (account_id, by, key);
