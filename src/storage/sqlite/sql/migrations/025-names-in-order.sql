-- The list of an account with all that a search of names compares, so that one that matches much reads this index alone.
DROP INDEX tokens_by_account;
CREATE INDEX tokens_by_account ON tokens (account_id, id, folded_name, status, sub_account_id);
