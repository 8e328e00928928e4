// The embedded engine's store: its methods by their names.
import { existsSync, mkdirSync } from 'node:fs'
import { OperatorError } from '../../tokens/model/errors.ts'
import { inOrder, type Slice, type TokenQuery } from '../../tokens/model/page.ts'
import type { TokenRow } from '../../tokens/service/ports.ts'
import type { Store } from '../../tokens/service/store.ts'
import type { KeyRing } from '../../tokens/trust/key-ring.ts'
import { newStoreSecret, STORE_SECRET_CONTEXT, Stamps } from '../../tokens/trust/vault.ts'
import { toCandidate } from '../../tokens/trust/verdict.ts'
import { readChainLinks } from '../../tokens/upkeep/examination.ts'
import type { Revocations, StoreFiles } from '../../tokens/upkeep/ports.ts'
import { SqliteEngine } from './engine.ts'
import { noteOpened, requireWritable, syncPath } from './files/files.ts'
import { databaseIn, journalIn, readSecret, requireFinishedCopy } from './files/store-file.ts'
import type { Recovery } from './journal/journal.ts'
import type { ChosenPage } from './sql/listing.ts'
import { migrate, requireKnownSchema } from './sql/migrate.ts'
import { Connection } from './sqlite-connection.ts'
import { during, Readers } from './threads/readers.ts'
import { type EndedThread, RestartingThread } from './threads/restarting-thread.ts'

/** Skipping an index entry takes some 50 ns; a list that skips more runs on a reader thread. */
const MAX_SKIP_ON_LOOP = 2_000

export interface SqliteOptions {
  readonly dataDir: string
  readonly keys: KeyRing
  /** Of the revocation journal; by default in the data folder. */
  readonly journalPath?: string | undefined
  /** The operator accepts that tokens revoked since a backup may become active again. */
  readonly acceptRevocationLoss?: boolean
  /** For a process that answers requests. */
  readonly serves?: boolean
  readonly onThreadEnded?: ((ended: EndedThread) => void) | undefined
}

export interface OpenedStore {
  readonly store: Store
  readonly files: StoreFiles & Revocations
  readonly storeSecret: Uint8Array
  readonly applied: readonly string[]
  /** Revocations that were missing in the store and replayed from the journal. */
  readonly replayed: number
}

/** Opens the store; first creates it or migrates its schema. A wrong master key changes nothing. */
export async function openSqliteStore(options: SqliteOptions): Promise<OpenedStore> {
  const { dataDir, keys, journalPath = journalIn(dataDir), acceptRevocationLoss = false, serves = false } = options
  const { onThreadEnded: onEnded = () => {} } = options
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = databaseIn(dataDir)
  if (existsSync(path)) requireWritable(path)
  const known = existsSync(path) ? readSecret(path, keys) : undefined
  requireFinishedCopy(path)
  const applied = migrate(path, (db) => {
    const sealed = keys.first.seal(newStoreSecret(), STORE_SECRET_CONTEXT)
    db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES (?, ?, ?)', keys.first.id, sealed, Date.now())
  })
  const storeSecret = known ?? readSecret(path, keys)
  if (storeSecret === undefined) throw new OperatorError(`${path} was created but cannot be read`)
  const db = new Connection(path, 'read')
  requireKnownSchema(db)
  // SQLite has synced the new WAL's name too, but ignores an error of that sync.
  syncPath(dataDir)
  const files = [path, `${path}-wal`].map(noteOpened)
  const data = { path, files, storeSecret, journalPath, acceptRevocationLoss }
  let engine: SqliteEngine | undefined
  const onRestarted = (recovery: Recovery) => engine?.refuseIfObstructed(recovery)
  const starting = RestartingThread.start({ ...data, role: 'writer' }, { onEnded, onRestarted })
  const writer = await starting.catch((error) => {
    db.close()
    throw error
  })
  const readers = new Readers(data, onEnded)
  engine = new SqliteEngine(db, writer, readers, new Stamps(storeSecret), files, serves)
  return { store: storeOf(engine), files: engine, storeSecret, applied, replayed: writer.recovery.replayed }
}

function storeOf(engine: SqliteEngine): Store {
  const { memory, stamps } = engine
  const { ping, findSessionByDigest, findCandidateRows, readChainHeads, readChainPart, ...asked } = engine.questions()
  const changes = engine.changes()
  return {
    ...asked,
    ...changes,
    during,
    findNews: engine.inLife(asked.findNews),
    findMark: engine.inLife(asked.findMark),
    insertVerifier: engine.inLife(changes.insertVerifier),
    renewVerifiers: engine.inLife(changes.renewVerifiers),
    findKey: engine.identity((presented: string) => memory.findKey(presented)),
    findSession: async (presented) => findSessionByDigest(stamps.digest(presented)),
    findCandidate: engine.identity((presented: string) => memory.findCandidate(presented)),
    async findCandidateOf(id) {
      const found = await findCandidateRows(id)
      return found && toCandidate(found, found.token.digest, stamps)
    },
    findToken: async (accountId, id) => engine.read(() => memory.read(() => memory.findToken(accountId, id))),
    listTokens: (accountId, query) => listTokens(engine, accountId, query),
    readChains: () => readChainLinks(readChainHeads, readChainPart),
    async ping() {
      await engine.requireAlive()
      await ping()
    },
    close: () => engine.close(),
  }
}

/** For a long list, a reader thread selects ids; rows that are cached here need not be passed between threads. */
async function listTokens(
  engine: SqliteEngine,
  accountId: string,
  asked: TokenQuery,
): Promise<Slice<TokenRow> | undefined> {
  const { memory } = engine
  const query = inOrder(asked)
  const isFiltered = query.search !== undefined || query.narrowing !== undefined
  const isLong = isFiltered || query.sort.by !== 'createdAt' || (query.page - 1) * query.limit > MAX_SKIP_ON_LOOP
  if (!isLong) return engine.read(() => memory.read(() => memory.listTokens(accountId, query)))
  const time = engine.read(() => memory.read(() => memory.time))
  const chosen = (await engine.askReader(accountId, 'chooseTokens', [accountId, query])) as ChosenPage | undefined
  if (chosen === undefined) return undefined
  const filled = engine.read(() => memory.read(() => memory.fill(chosen, time)))
  // After a commit in between, rows and ids must be read again from one snapshot.
  return (
    filled ?? (engine.askReader(accountId, 'listTokens', [accountId, query]) as Promise<Slice<TokenRow> | undefined>)
  )
}
