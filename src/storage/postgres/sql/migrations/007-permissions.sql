-- What an account key may do, as JSON; null for everything.
ALTER TABLE account_keys ADD COLUMN permissions text;

-- Such as lk_tok_…D7wZ, so that nothing need be decrypted to show it.
ALTER TABLE tokens ADD COLUMN masked text;

-- Which sub-account a token was created for, also after its deletion: for the history that a key for some sub-accounts sees.
CREATE INDEX history_by_sub_account ON history (account_id, (to_facts::jsonb ->> 'subAccountId'), token_id)
  WHERE action = 'token.create';
