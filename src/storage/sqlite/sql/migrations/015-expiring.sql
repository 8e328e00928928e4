-- How many tokens of all accounts expire soon: a range of this index, however many accounts there are.
CREATE INDEX tokens_expiring ON tokens (expires_at) WHERE expires_at IS NOT NULL AND status = 'active';
