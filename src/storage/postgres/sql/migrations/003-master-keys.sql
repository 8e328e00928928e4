-- One master key seals; the others in the vault are being retired, and only open.
ALTER TABLE vault ADD COLUMN seals boolean NOT NULL DEFAULT true;
CREATE UNIQUE INDEX vault_one_seals ON vault (seals) WHERE seals;

-- By their ids alone, so that none of them is ever put to use again.
CREATE TABLE retired_master_keys (
  key_id text COLLATE "C" PRIMARY KEY,
  retired_at bigint NOT NULL
);

-- No credential is stored that is sealed with a key that no longer seals. Whoever seals shares a lock until the end of
-- its transaction; whoever changes the key takes it alone. The key is read after the lock, by a statement of its own,
-- and so is the one that holds until the commit. A key's id stands in front of what it has sealed.
CREATE FUNCTION sealing_key() RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7809651199140128097);
  RETURN (SELECT decode(key_id, 'hex') FROM vault WHERE seals);
END $$;

CREATE FUNCTION tokens_sealed_in() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sealing bytea := sealing_key();
BEGIN
  IF EXISTS (SELECT FROM added WHERE substring(sealed FROM 2 FOR 4) IS DISTINCT FROM sealing) THEN
    RAISE EXCEPTION 'sealed with a master key that does not seal' USING ERRCODE = 'LK001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_sealed_in AFTER INSERT ON tokens
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tokens_sealed_in();

CREATE FUNCTION tokens_sealed_anew() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF substring(new.sealed FROM 2 FOR 4) IS DISTINCT FROM sealing_key() THEN
    RAISE EXCEPTION 'sealed with a master key that does not seal' USING ERRCODE = 'LK001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_sealed_anew AFTER UPDATE OF sealed ON tokens
  FOR EACH ROW EXECUTE FUNCTION tokens_sealed_anew();
