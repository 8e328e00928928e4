-- What an account key may do, as JSON; null for everything.
ALTER TABLE account_keys ADD COLUMN permissions TEXT;
ALTER TABLE account_keys ADD COLUMN last_used_at INTEGER;

-- 'once': credentials are shown when they are made, and not stored; null: they can be shown again.
ALTER TABLE accounts ADD COLUMN credentials TEXT;

-- Such as lk_tok_…D7wZ, so that nothing need be decrypted to show it.
ALTER TABLE tokens ADD COLUMN masked TEXT;
CREATE INDEX tokens_by_last_four ON tokens (account_id, substr(masked, -4)) WHERE masked IS NOT NULL;

-- Which sub-account a token was created for, also after its deletion: for the history that a key for some sub-accounts sees.
-- A row that was altered and is no JSON is of none.
CREATE INDEX history_by_sub_account
  ON history (account_id, CASE WHEN json_valid(to_facts) THEN to_facts ->> '$.subAccountId' END, token_id)
  WHERE action = 'token.create';
