-- Sign-ins that were completed, by digests of their state and code: none can be completed twice.
CREATE TABLE spent_sign_ins (
  digest bytea PRIMARY KEY,
  spent_at bigint NOT NULL
);
CREATE INDEX spent_sign_ins_by_age ON spent_sign_ins (spent_at);
