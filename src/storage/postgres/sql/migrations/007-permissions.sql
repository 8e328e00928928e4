-- What an account key may do, as JSON; null for everything.
ALTER TABLE account_keys ADD COLUMN permissions text;
ALTER TABLE account_keys ADD COLUMN last_used_at bigint;

-- 'once': credentials are shown when they are made, and not stored; null: they can be shown again.
ALTER TABLE accounts ADD COLUMN credentials text;

-- Such as lk_tok_…D7wZ, so that nothing need be decrypted to show it.
ALTER TABLE tokens ADD COLUMN masked text;
CREATE INDEX tokens_by_last_four ON tokens (account_id, right(masked, 4)) WHERE masked IS NOT NULL;

-- Which sub-account a token was created for, also after its deletion: for the history that a key for some sub-accounts sees.
-- By its text: a row that was altered may be no JSON. Within a JSON string the quotation marks would be escaped.
CREATE INDEX history_by_sub_account
  ON history (account_id, substring(to_facts FROM '"subAccountId":"(sub_[0-9a-f]+)"'), token_id)
  WHERE action = 'token.create';
