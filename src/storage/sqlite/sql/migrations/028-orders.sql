-- Lists in the order of names and of expiry, with all that a list compares without further filters. The condition on the name is true of
-- every token: SQLite uses a partial index only for statements that have it, and not in the place of the others that begin with the account.
CREATE INDEX tokens_by_name ON tokens (account_id, folded_name, id, status, sub_account_id) WHERE folded_name > '';
DROP INDEX tokens_by_expiry;
CREATE INDEX tokens_by_expiry ON tokens (account_id, expires_at, id, status, sub_account_id);
