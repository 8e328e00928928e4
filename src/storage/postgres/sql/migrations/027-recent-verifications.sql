-- The last verifications of a token, which decide nothing: see verify/recent-verifications.ts. `day` is that of the last of them, from 1970.
CREATE TABLE recent_verifications (
  token_id text COLLATE "C" PRIMARY KEY,
  day bigint NOT NULL,
  verifications text NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX recent_verifications_by_day ON recent_verifications (day);

-- The last use of a former credential is one of them.
INSERT INTO recent_verifications
  SELECT token_id, max(last_used_at) / 86400000,
    json_agg(json_build_object('reason', NULL, 'address', last_used_from, 'at', last_used_at, 'formerUntil', retires_at)
      ORDER BY last_used_at DESC)
  FROM retired_credentials WHERE last_used_at IS NOT NULL GROUP BY token_id;
ALTER TABLE retired_credentials DROP COLUMN last_used_at;
ALTER TABLE retired_credentials DROP COLUMN last_used_from;
