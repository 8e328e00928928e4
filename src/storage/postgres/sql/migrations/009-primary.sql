-- After a failover two servers may take themselves for the primary for a while. Each promotion begins a new timeline. The one
-- on which changes are confirmed is named here: see lease.ts.
CREATE TABLE confirmed_timeline (
  timeline text COLLATE "C" NOT NULL,
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row)
);

CREATE FUNCTION current_timeline() RETURNS text LANGUAGE sql AS $$
  SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
$$;

INSERT INTO confirmed_timeline (timeline) VALUES (current_timeline());

CREATE FUNCTION require_confirmed_timeline() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM confirmed_timeline WHERE timeline = current_timeline()) THEN
    RAISE EXCEPTION 'this server has become the primary a moment ago' USING ERRCODE = 'LK002';
  END IF;
END
$$;
