-- How often verification has accepted and refused: see model/usage.ts. `subject` is a token, a sub-account or an account, `verdict` a
-- position in COUNTED. `day` counts from 1970, `month` from the year 0.
CREATE TABLE usage_hours (
  day INTEGER NOT NULL,
  subject TEXT NOT NULL,
  verdict INTEGER NOT NULL,
  h0 INTEGER, h1 INTEGER, h2 INTEGER, h3 INTEGER, h4 INTEGER, h5 INTEGER, h6 INTEGER, h7 INTEGER,
  h8 INTEGER, h9 INTEGER, h10 INTEGER, h11 INTEGER, h12 INTEGER, h13 INTEGER, h14 INTEGER, h15 INTEGER,
  h16 INTEGER, h17 INTEGER, h18 INTEGER, h19 INTEGER, h20 INTEGER, h21 INTEGER, h22 INTEGER, h23 INTEGER,
  PRIMARY KEY (day, subject, verdict)
) STRICT, WITHOUT ROWID;

-- Of days whose hours are no longer kept.
CREATE TABLE usage_days (
  month INTEGER NOT NULL,
  subject TEXT NOT NULL,
  verdict INTEGER NOT NULL,
  d1 INTEGER, d2 INTEGER, d3 INTEGER, d4 INTEGER, d5 INTEGER, d6 INTEGER, d7 INTEGER, d8 INTEGER,
  d9 INTEGER, d10 INTEGER, d11 INTEGER, d12 INTEGER, d13 INTEGER, d14 INTEGER, d15 INTEGER, d16 INTEGER,
  d17 INTEGER, d18 INTEGER, d19 INTEGER, d20 INTEGER, d21 INTEGER, d22 INTEGER, d23 INTEGER, d24 INTEGER,
  d25 INTEGER, d26 INTEGER, d27 INTEGER, d28 INTEGER, d29 INTEGER, d30 INTEGER, d31 INTEGER,
  PRIMARY KEY (month, subject, verdict)
) STRICT, WITHOUT ROWID;

-- Candidates for the busiest tokens of a sub-account or an account.
CREATE TABLE usage_busiest (
  day INTEGER NOT NULL,
  subject TEXT NOT NULL,
  tokens TEXT NOT NULL,
  PRIMARY KEY (day, subject)
) STRICT, WITHOUT ROWID;

-- The reports of the last hour that were added: one that is sent again is not added again.
CREATE TABLE usage_reports (
  source TEXT NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (source, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_reports_by_time ON usage_reports (at);

-- Of a former credential, to the minute.
ALTER TABLE retired_credentials ADD COLUMN last_used_at INTEGER;
ALTER TABLE retired_credentials ADD COLUMN last_used_from TEXT;
