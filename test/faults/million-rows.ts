// Fills a database with a million tokens quickly, by SQL, indexes last: half of them of one account, the rest of a hundred.
import type pg from 'pg'
import { prefixOf } from '../../src/storage/postgres/sql/grams.ts'

export interface Filled {
  readonly accountId: string
  readonly subAccountId: string
  readonly tokenId: string
  readonly digest: Uint8Array
}

const TOKENS = 1_000_000
const ACCOUNTS = 101
const SUB_ACCOUNTS_OF_EACH = 50
/** The page in the middle of the large account's tokens, ten to a page. */
export const MIDDLE = TOKENS / 4 / 10

const id = (prefix: string, number: string) => `'${prefix}_' || lpad(to_hex(${number}), 28, '0')`
/** Every second token is of the first account. */
const ACCOUNT = `CASE WHEN n % 2 = 0 THEN 0 ELSE 1 + n / 2 % ${ACCOUNTS - 1} END`
const SUB_ACCOUNT = `(${ACCOUNT}) * ${SUB_ACCOUNTS_OF_EACH} + n / 256 % ${SUB_ACCOUNTS_OF_EACH}`

export async function fill(client: pg.Client): Promise<Filled> {
  await client.query(`SET session_replication_role = replica; SET maintenance_work_mem = '512MB'`)
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index i
     JOIN pg_class c ON c.oid = i.indrelid
     WHERE c.relnamespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)`,
  )
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  await fillTables(client)
  await fillSearch(client)
  for (const { definition } of indexes) await client.query(definition)
  await client.query('RESET ALL')
  await client.query('VACUUM ANALYZE')
  const { rows } = await client.query(`SELECT * FROM tokens WHERE id = ${id('tok', '500000')}`)
  const { account_id: accountId, sub_account_id: subAccountId, id: tokenId, digest } = rows[0]
  return { accountId, subAccountId, tokenId, digest }
}

/** Triggers are off meanwhile, so that the counts are made here too. */
async function fillTables(client: pg.Client): Promise<void> {
  await client.query(`
    INSERT INTO accounts SELECT ${id('acc', 'n')}, 'Account ' || n, n FROM generate_series(0, ${ACCOUNTS - 1}) n;
    INSERT INTO account_keys
      SELECT ${id('key', 'n')}, ${id('acc', `n % ${ACCOUNTS}`)}, 'key', sha256(('key' || n)::bytea), n, NULL, NULL, 'x'
      FROM generate_series(0, ${ACCOUNTS * 5 - 1}) n;
    INSERT INTO sub_accounts
      SELECT ${id('sub', 'n')}, ${id('acc', `n / ${SUB_ACCOUNTS_OF_EACH}`)}, 'Sub ' || n, 's@x.example', 'C', 'sub ' || n,
        n, NULL, 'x' FROM generate_series(0, ${ACCOUNTS * SUB_ACCOUNTS_OF_EACH - 1}) n;
    INSERT INTO tokens
      SELECT ${id('tok', 'n')}, ${id('acc', ACCOUNT)}, ${id('sub', SUB_ACCOUNT)}, 'Deploy ' || n,
        CASE WHEN n % 10 = 3 THEN 'inactive' ELSE 'active' END, n, CASE WHEN n % 7 = 0 THEN n END, 1,
        sha256(n::text::bytea), decode(repeat('ab', 89), 'hex'), sha256('x') FROM generate_series(0, ${TOKENS - 1}) n;
    INSERT INTO history
      SELECT account_id, row_number() OVER (PARTITION BY account_id ORDER BY id), created_at, 'operator', 'token.create',
        id, id, '{}', '{}', NULL, NULL, sha256('x') FROM tokens;
    INSERT INTO history_heads SELECT account_id, max(seq), sha256('x'), sha256('x') FROM history GROUP BY 1;
    INSERT INTO last_used SELECT id, created_at FROM tokens WHERE created_at % 3 = 0;
    INSERT INTO retired_credentials
      SELECT sha256(('r' || created_at)::bytea), id, 1, sha256('x') FROM tokens WHERE created_at % 500 = 0;
    INSERT INTO token_counts SELECT account_id, status, count(*) FROM tokens GROUP BY 1, 2;
    INSERT INTO token_counts SELECT sub_account_id, status, count(*) FROM tokens GROUP BY 1, 2`)
}

/** The groups of a name as grams.ts writes them: the prefix of the account is all that SQL does not know. */
async function fillSearch(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ id: string }>('SELECT id FROM accounts')
  const prefixes = rows.map(({ id: account }) => prefixOf(account))
  await client.query(
    `INSERT INTO token_search (token_id, account_id, sub_account_id, status, folded_name, grams)
     SELECT t.id, t.account_id, t.sub_account_id, t.status, lower(t.name), array_to_tsvector(ARRAY(
       SELECT DISTINCT p.prefix || substr(lower(t.name), at, 3) FROM generate_series(1, length(t.name)) at))
     FROM tokens t JOIN unnest($1::text[], $2::text[]) AS p (account_id, prefix) USING (account_id)`,
    [rows.map((row) => row.id), prefixes],
  )
}
