// The rows by which a database shows what it has: see marks.ts.
import { randomUUID } from 'node:crypto'
import type { Connection } from '../postgres-connection.ts'
import type { Found, Mark, Own } from './marks.ts'

/** For so long after a restore it is recognised by what was confirmed before. */
const KEPT = '90 days'
const DELETED_AT_ONCE = 100

const milliseconds = (time: string) => `(extract(epoch FROM ${time}) * 1000)::bigint`

/** A mark that does not stand where it was confirmed is left alone, and another one is made. The time of a mark never goes back. */
export async function raiseMark(db: Connection, own: Own | undefined): Promise<Mark> {
  const raised = await db.get<Mark>(
    `WITH raised AS (
       UPDATE instance_marks SET number = number + 1, at = greatest(at, now()) WHERE id = $1 AND number = $2 RETURNING *
     ), made AS (
       INSERT INTO instance_marks (id, number) SELECT $3, 1 WHERE NOT EXISTS (SELECT FROM raised) RETURNING *
     )
     SELECT id, number, ${milliseconds('at')} AS at, (SELECT epoch FROM homes ORDER BY number DESC LIMIT 1) AS epoch
     FROM (TABLE raised UNION ALL TABLE made) AS mark`,
    ...[own?.id ?? '', own?.number ?? 0, randomUUID()],
  )
  return raised as Mark
}

/**
 * In one statement, since a loss may be accepted and marks may be deleted at any moment. A server that was promoted in a failover
 * has no recovery target.
 */
export async function readFound(db: Connection, known: readonly Mark[]): Promise<Found> {
  const found = await db.get<Found>(
    `SELECT epoch, place, current_place() AS "currentPlace", refused_because AS "refusedBecause",
       ARRAY(SELECT epoch FROM homes) AS epochs,
       ARRAY(
         SELECT name || ' = ' || current_setting(name)
         FROM unnest('{recovery_target,recovery_target_lsn,recovery_target_name,recovery_target_time,recovery_target_xid}'::text[]) name
         WHERE current_setting(name) <> ''
           AND NOT EXISTS (SELECT FROM confirmed_timeline WHERE timeline = current_timeline())
       ) AS targets,
       coalesce(${milliseconds('forgotten_until')}, 0) AS "forgottenUntil",
       (SELECT coalesce(json_object_agg(id, number), '{}') FROM instance_marks WHERE id = ANY($1::text[])) AS numbers
     FROM homes ORDER BY number DESC LIMIT 1`,
    known.map(({ id }) => id),
  )
  return found as Found
}

/** For instances that know nothing. Without effect if the operator has accepted the loss meanwhile. */
export async function noteRefusal(db: Connection, { epoch }: Found, reason: string): Promise<void> {
  await db.run('UPDATE homes SET refused_because = $1 WHERE epoch = $2 AND refused_because IS NULL', reason, epoch)
}

/** Those of processes that have ended: others raise theirs all the time. */
export async function deleteOldMarks(db: Connection): Promise<void> {
  await db.run(
    `WITH old AS (
       DELETE FROM instance_marks WHERE id = ANY(ARRAY(
         SELECT id FROM instance_marks WHERE at < now() - interval '${KEPT}' LIMIT ${DELETED_AT_ONCE} FOR UPDATE SKIP LOCKED
       )) RETURNING at
     )
     UPDATE homes SET forgotten_until = greatest(forgotten_until, (SELECT max(at) FROM old))
     WHERE number = (SELECT max(number) FROM homes) AND EXISTS (SELECT FROM old)`,
  )
}

/** In words, for a database from which nothing is missing. */
export async function summarize(db: Connection, isChecked: boolean): Promise<string> {
  if (!isChecked) return 'not checked, since LATCHKEY_PG_WITNESS is off'
  const accepted = await db.tuples(
    `SELECT to_char(begun_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), accepted
     FROM homes WHERE accepted IS NOT NULL ORDER BY number`,
  )
  return ['none is missing', ...accepted.map(([at, what]) => `a loss was accepted at ${at} (${what})`)].join('; ')
}
