-- What expires when: for lists narrowed by expiry, and for the overview.
CREATE INDEX tokens_by_expiry ON tokens (account_id, expires_at, status) WHERE expires_at IS NOT NULL;
