-- Sign-ins that were completed, by digests of their state and code: none can be completed twice.
CREATE TABLE spent_sign_ins (
  digest BLOB PRIMARY KEY,
  spent_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_sign_ins_by_age ON spent_sign_ins (spent_at);
