-- How often verification has accepted and refused: see model/usage.ts. `subject` is a token, a sub-account or an account, `verdict` a
-- position in COUNTED. `day` counts from 1970, `month` from the year 0.
CREATE TABLE usage_hours (
  day bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  verdict bigint NOT NULL,
  h0 bigint, h1 bigint, h2 bigint, h3 bigint, h4 bigint, h5 bigint, h6 bigint, h7 bigint,
  h8 bigint, h9 bigint, h10 bigint, h11 bigint, h12 bigint, h13 bigint, h14 bigint, h15 bigint,
  h16 bigint, h17 bigint, h18 bigint, h19 bigint, h20 bigint, h21 bigint, h22 bigint, h23 bigint,
  PRIMARY KEY (day, subject, verdict)
) WITH (fillfactor = 70);

-- Of days whose hours are no longer kept.
CREATE TABLE usage_days (
  month bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  verdict bigint NOT NULL,
  d1 bigint, d2 bigint, d3 bigint, d4 bigint, d5 bigint, d6 bigint, d7 bigint, d8 bigint,
  d9 bigint, d10 bigint, d11 bigint, d12 bigint, d13 bigint, d14 bigint, d15 bigint, d16 bigint,
  d17 bigint, d18 bigint, d19 bigint, d20 bigint, d21 bigint, d22 bigint, d23 bigint, d24 bigint,
  d25 bigint, d26 bigint, d27 bigint, d28 bigint, d29 bigint, d30 bigint, d31 bigint,
  PRIMARY KEY (month, subject, verdict)
) WITH (fillfactor = 90);

-- Candidates for the busiest tokens of a sub-account or an account.
CREATE TABLE usage_busiest (
  day bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  tokens text NOT NULL,
  PRIMARY KEY (day, subject)
) WITH (fillfactor = 50);

-- The reports of the last hour that were added: one that is sent again is not added again.
CREATE TABLE usage_reports (
  source text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (source, number)
);
CREATE INDEX usage_reports_by_time ON usage_reports (at);

-- Of a former credential, to the minute.
ALTER TABLE retired_credentials ADD COLUMN last_used_at bigint;
ALTER TABLE retired_credentials ADD COLUMN last_used_from text;
