-- Only used where rate limits are configured. Lost in a crash, and not on standbys: then everybody begins anew.
CREATE UNLOGGED TABLE rate_limits (
  name bytea PRIMARY KEY,
  full_at double precision NOT NULL
);
