-- Lists in the order of names and of expiry. Of names in the table of the search, where a change of status writes to no index.
CREATE INDEX token_search_by_name ON token_search (account_id, folded_name, token_id);
DROP INDEX tokens_by_expiry;
CREATE INDEX tokens_by_expiry ON tokens (account_id, expires_at, id, status);
