-- What an account key may do, as JSON; null for everything.
ALTER TABLE account_keys ADD COLUMN permissions text;
ALTER TABLE account_keys ADD COLUMN last_used_at bigint;

-- 'once': credentials are shown when they are made, and not stored; null: they can be shown again.
ALTER TABLE accounts ADD COLUMN credentials text;

-- Such as lk_tok_…D7wZ, so that nothing need be decrypted to show it.
ALTER TABLE tokens ADD COLUMN masked text;
CREATE INDEX tokens_by_last_four ON tokens (account_id, right(masked, 4)) WHERE masked IS NOT NULL;
