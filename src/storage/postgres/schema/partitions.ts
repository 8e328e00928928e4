// Divides the large tables of a new store into partitions by account. Everything else about them stays as the migrations say, and
// later migrations apply to both kinds of store: see docs/decisions/021-partitions-by-account.md.
import type pg from 'pg'
import { OperatorError } from '../../../tokens/model/errors.ts'
import { BEGIN } from '../pool.ts'
import { MIGRATION_LOCK } from './migrate.ts'

/** A table is made again from its own definition. Its keys begin with the account, as PostgreSQL requires. */
const DIVIDE = `
CREATE FUNCTION pg_temp.divide(divided text, parts integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  options text := (SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class WHERE oid = divided::regclass);
  belongings text[] := ARRAY(
    SELECT format('ALTER TABLE %I ADD CONSTRAINT %I ', divided, conname) || CASE contype
      WHEN 'f' THEN pg_get_constraintdef(oid)
      ELSE format(CASE contype WHEN 'p' THEN 'PRIMARY KEY (%s)' ELSE 'UNIQUE (%s)' END, (
        SELECT CASE WHEN bool_or(attname = 'account_id') THEN '' ELSE 'account_id, ' END || string_agg(attname, ', ' ORDER BY position)
        FROM unnest(conkey) WITH ORDINALITY AS part (attnum, position) JOIN pg_attribute a USING (attnum)
        WHERE a.attrelid = conrelid)) END
    FROM pg_constraint WHERE conrelid = divided::regclass AND contype IN ('p', 'u', 'f')
    UNION ALL
    SELECT pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = divided::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
    UNION ALL
    SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = divided::regclass AND NOT tgisinternal
  );
  belonging text;
  index record;
BEGIN
  EXECUTE format('ALTER TABLE %I RENAME TO undivided', divided);
  EXECUTE format('CREATE TABLE %I (LIKE undivided INCLUDING CONSTRAINTS INCLUDING DEFAULTS) PARTITION BY HASH (account_id)', divided);
  DROP TABLE undivided CASCADE;
  FOR n IN 0 .. parts - 1 LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s) %s',
      divided || '_' || n, divided, parts, n, options);
  END LOOP;
  FOREACH belonging IN ARRAY belongings LOOP
    EXECUTE belonging;
  END LOOP;
  -- Errors name the index of the partition: with the name of the whole one, and a number.
  FOR index IN
    SELECT own.relname AS name, whole.relname || '_' || substring(part.relname FROM '[0-9]+$') AS new_name
    FROM pg_index i JOIN pg_class whole ON whole.oid = i.indexrelid JOIN pg_inherits h ON h.inhparent = whole.oid
    JOIN pg_class own ON own.oid = h.inhrelid JOIN pg_index o ON o.indexrelid = own.oid JOIN pg_class part ON part.oid = o.indrelid
    WHERE i.indrelid = divided::regclass
  LOOP
    EXECUTE format('ALTER INDEX %I RENAME TO %I', index.name, index.new_name);
  END LOOP;
END $$`

/**
 * No key of a partitioned table can be unique across accounts, or be referred to without its account. So the credentials of all
 * accounts have a table of their own, and what refers to a token is deleted with it by a trigger.
 */
const ACROSS_PARTITIONS = `
ALTER TABLE token_search ALTER COLUMN grams SET STATISTICS 0;
-- The primary key is the same now, and credentials are found by credential_places.
DROP INDEX tokens_by_account;
ALTER TABLE tokens DROP CONSTRAINT tokens_digest_taken;

-- Those that work, and former ones that still do.
CREATE TABLE credential_places (
  digest bytea CONSTRAINT credential_places_digest_taken PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  token_id text COLLATE "C" NOT NULL
);

-- Stable: PostgreSQL evaluates it before it opens the partitions, and then opens one of them.
CREATE FUNCTION credential_account(wanted bytea) RETURNS text STABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT account_id FROM credential_places WHERE digest = wanted);
END $$;

CREATE FUNCTION tokens_placed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO credential_places SELECT digest, account_id, id FROM added ORDER BY digest;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_placed AFTER INSERT ON tokens
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tokens_placed();

CREATE FUNCTION tokens_place_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE credential_places SET digest = new.digest WHERE digest = old.digest;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_place_changed AFTER UPDATE OF digest ON tokens
  FOR EACH ROW WHEN (old.digest <> new.digest) EXECUTE FUNCTION tokens_place_changed();

CREATE FUNCTION retired_credentials_placed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO credential_places SELECT new.digest, account_id, id FROM tokens WHERE id = new.token_id;
  ELSE
    DELETE FROM credential_places WHERE digest = old.digest;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER retired_credentials_placed AFTER INSERT OR DELETE ON retired_credentials
  FOR EACH ROW EXECUTE FUNCTION retired_credentials_placed();

CREATE FUNCTION tokens_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM credential_places WHERE digest = old.digest;
  DELETE FROM token_search WHERE account_id = old.account_id AND token_id = old.id;
  DELETE FROM last_used WHERE token_id = old.id;
  DELETE FROM retired_credentials WHERE token_id = old.id;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_gone AFTER DELETE ON tokens FOR EACH ROW EXECUTE FUNCTION tokens_gone();

UPDATE homes SET place = current_place()`

const DIVIDED = ['tokens', 'token_search', 'token_tags', 'history']

/** Divides a store without accounts, if it may. Refuses another number of partitions. */
export async function requirePartitions(client: pg.ClientBase, wanted: number, mayDivide = true): Promise<void> {
  if ((await countPartitions(client)) === wanted) return
  if (!mayDivide) {
    throw new OperatorError(
      `The store is not divided into ${wanted} partitions, and LATCHKEY_AUTO_MIGRATE is off. Run \`latchkey migrate\` first, or unset ` +
        'LATCHKEY_PG_PARTITIONS; nothing was changed.',
    )
  }
  await client.query(BEGIN)
  try {
    // Another process may be creating the store, too.
    await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    const found = await countPartitions(client)
    if (found !== wanted) await divide(client, found, wanted)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

async function divide(client: pg.ClientBase, found: number, wanted: number): Promise<void> {
  await client.query('LOCK TABLE accounts, tokens IN ACCESS EXCLUSIVE MODE')
  const { rows } = await client.query('SELECT FROM accounts LIMIT 1')
  if (found > 1 || rows.length > 0) {
    throw new OperatorError(
      `The store has ${found === 1 ? 'no partitions' : `${found} partitions`}, and LATCHKEY_PG_PARTITIONS is ${wanted}. Only a new ` +
        'store can be divided: unset it, or copy the store into an empty database with `latchkey copy`. Nothing was changed.',
    )
  }
  await client.query(DIVIDE)
  for (const table of DIVIDED) await client.query('SELECT pg_temp.divide($1, $2)', [table, wanted])
  await client.query(ACROSS_PARTITIONS)
}

/** 1 for a store that is not divided. */
export async function countPartitions(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query(
    `SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = to_regclass('tokens')`,
  )
  return Math.max(1, rows[0].n)
}
