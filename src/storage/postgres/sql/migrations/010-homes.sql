-- By these a database shows that it was restored to an earlier state: see lineage/lineage.ts.

-- Where the data are. A new row begins whenever the operator accepts that changes are lost.
CREATE TABLE homes (
  number integer PRIMARY KEY,
  epoch text COLLATE "C" NOT NULL UNIQUE DEFAULT gen_random_uuid(),
  place text COLLATE "C" NOT NULL,
  begun_at timestamptz NOT NULL DEFAULT now(),
  -- What was lost, in words; null for the first one.
  accepted text,
  -- Set by an instance that has noticed a restore: then all instances refuse everything.
  refused_because text
);

-- Counts the seconds of each process that serves.
CREATE TABLE instance_marks (
  id text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- The cluster, the database and the table: a dump that is restored anywhere has another one. A migration that makes the table
-- tokens anew must enter the new place.
CREATE FUNCTION current_place() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws('/', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()),
    to_regclass('tokens')::oid)
  FROM pg_control_system()
$$;

INSERT INTO homes (number, place) VALUES (1, current_place());
