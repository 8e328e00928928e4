// The operator accepts that a database was restored to an earlier state, and that changes are lost.
import { OperatorError } from '../../../tokens/model/errors.ts'
import { VERIFIERS } from '../../../tokens/model/tables.ts'
import { toTimeOrNull } from '../../../tokens/model/times.ts'
import type { KeyRing } from '../../../tokens/trust/key-ring.ts'
import { Stamps } from '../../../tokens/trust/vault.ts'
import { anyLease, unknownLease } from '../../../tokens/verifiers/lease.ts'
import { endAllBulk } from '../../changes/replays.ts'
import { requireFitServer } from '../fit-server.ts'
import { BEGIN, connect, placeOf } from '../pool.ts'
import { Connection } from '../postgres-connection.ts'
import { readFirstEpoch, readSecret, requireFinishedCopy } from '../prepare-database.ts'
import { requireUpToDate } from '../schema/migrate.ts'
import { insertRows } from '../sql/insertion.ts'
import { makeChange } from '../sql/make-changes.ts'
import { readFound } from './mark-rows.ts'
import { findLoss } from './marks.ts'
import { Witness } from './witness.ts'

export interface AcceptedLoss {
  /** What shows that the database was restored; null if nothing does. */
  readonly found: string | null
  /** When an instance last used the data before they were saved; null if none ever did. */
  readonly dataFrom: string | null
  /** When the last change was confirmed that this machine knows of. */
  readonly knownUntil: string | null
  /** Sessions that ended since must not come back: everybody signs in again. */
  readonly endedSessions: number
}

interface Place {
  readonly databaseUrl: string
  readonly keys: KeyRing
  readonly witness: string | undefined
}

export async function acceptLoss({ databaseUrl, keys, witness }: Place): Promise<AcceptedLoss> {
  const client = await connect(databaseUrl)
  try {
    await requireFitServer(client)
    const secret = await readSecret(client, databaseUrl, keys)
    if (secret === undefined) throw new OperatorError(`${placeOf(databaseUrl)} holds no store`)
    await requireFinishedCopy(client, databaseUrl)
    await requireUpToDate(client)
    const files = witness === undefined ? undefined : new Witness(witness, await readFirstEpoch(client))
    const db = new Connection(client)
    return await db.transaction([BEGIN], () => accept(db, files, new Stamps(secret)))
  } finally {
    await client.end()
  }
}

async function accept(db: Connection, files: Witness | undefined, stamps: Stamps): Promise<AcceptedLoss> {
  // Before the marks are locked, as by changes of operations, which raise theirs last.
  await makeChange({ db, stamps }, endAllBulk(Date.now()))
  // So that no transaction raises a mark of the epoch that ends here, and is committed in the next one.
  await db.run('LOCK TABLE instance_marks IN SHARE ROW EXCLUSIVE MODE')
  const known = files?.readNew() ?? []
  const found = findLoss(await readFound(db, known), known) ?? null
  const last = await db.tuple('SELECT (extract(epoch FROM max(at)) * 1000)::bigint FROM instance_marks')
  const dataFrom = toTimeOrNull(last?.[0] as number | null)
  await db.run(
    'INSERT INTO homes (number, place, accepted) SELECT max(number) + 1, current_place(), $1 FROM homes',
    `${found ?? 'nothing shows a restore'}; data of ${dataFrom ?? 'an unknown time'}`,
  )
  // The server serves from now on, however its timeline came about.
  await db.run('UPDATE confirmed_timeline SET timeline = current_timeline()')
  const knownUntil = known.length === 0 ? null : toTimeOrNull(Math.max(...known.map(({ at }) => at)))
  const endedSessions = await db.run('DELETE FROM sessions')
  await db.run('DELETE FROM portal_sessions')
  // Those that hold a lease may have begun after the data were saved.
  await db.run('DELETE FROM verifiers')
  await insertRows(db, VERIFIERS, [unknownLease(anyLease(Date.now()))])
  return { found, dataFrom, knownUntil, endedSessions }
}
