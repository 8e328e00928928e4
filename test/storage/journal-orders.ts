// Sequences of events over the embedded store itself, as a tree: each event starts from a copy of the folder that the events
// before it have left. Everything but the threads is real. After a change the process counts as killed: the files are copied
// while they are in use.
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backUpSqlite } from '../../src/storage/sqlite/files/backup.ts'
import { restoreSqlite } from '../../src/storage/sqlite/files/restore.ts'
import { Memory } from '../../src/storage/sqlite/memory/memory.ts'
import { openSqliteStore } from '../../src/storage/sqlite/store.ts'
import { Reopening } from '../../src/storage/sqlite/threads/reopening.ts'
import { Writer } from '../../src/storage/sqlite/threads/writer.ts'
import type { TokenChange } from '../../src/tokens/changes/plan.ts'
import type { SubAccount } from '../../src/tokens/model/token.ts'
import type { KeyRing } from '../../src/tokens/trust/key-ring.ts'
import { Stamps } from '../../src/tokens/trust/vault.ts'
import { judge } from '../../src/tokens/verify/verdict.ts'
import {
  type Change,
  credentialName,
  type Event,
  type Explored,
  nameAt,
  type Seen,
  type TokenName,
} from '../support/orders.ts'
import { newKeyRing, removeFolder } from '../support/sqlite.ts'
import { Estate, START } from '../support/store.ts'

/** In memory where there is such a folder: a kill loses nothing that was written. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const [DATABASE, JOURNAL, COPY, BACKUP] = ['latchkey.db', 'revocations.log', 'copy.db', 'backup.lkb']
const FILES = [DATABASE, `${DATABASE}-wal`, JOURNAL, COPY, BACKUP]
const [NOW, LATER] = [START + 1_000_000, START + 2_000_000]
const MOST_EVENTS = 4

export class RealStore implements Explored<string> {
  readonly #keys: KeyRing = newKeyRing()
  readonly #root = mkdtempSync(join(FOLDER, 'latchkey-orders-'))
  #stamps = new Stamps(Buffer.alloc(32))
  #sealed: Uint8Array = Buffer.of()
  #subAccount: SubAccount | undefined
  readonly #ids = new Map<TokenName, string>()

  /** The folder of a store with a sub-account and its two tokens, stopped. */
  async start(): Promise<string> {
    const dataDir = this.#newFolder()
    const { store, storeSecret } = await openSqliteStore({ dataDir, keys: this.#keys })
    this.#stamps = new Stamps(storeSecret)
    const nothing = async () => {}
    const estate = new Estate({
      ...{ store, stamps: this.#stamps, keys: this.#keys, openAnother: async () => store },
      ...{ reopen: nothing, close: nothing },
    })
    this.#sealed = estate.sealed()
    this.#subAccount = await estate.subAccount(await estate.account())
    for (const name of ['A', 'B'] as const) {
      const digest = this.#stamps.digest(credentialName(name, 0))
      this.#ids.set(name, (await estate.token(this.#subAccount, name, { digest })).id)
    }
    await store.close()
    return dataDir
  }

  async after(folder: string, event: Event, n: number): Promise<string> {
    const next = this.#copyOf(folder)
    const at = (name: string) => join(next, name)
    const options = { dataDir: next, keys: this.#keys }
    switch (event.kind) {
      case 'change':
        return this.#changed(next, event, n)
      case 'stop':
        this.#opened(next)?.writer.close()
        break
      case 'copy':
        copyFileSync(at(DATABASE), at(COPY))
        break
      case 'backup':
        rmSync(at(BACKUP), { force: true })
        await backUpSqlite(options, at(BACKUP), 'test', () => {})
        break
      case 'put back':
        rmSync(at(`${DATABASE}-wal`), { force: true })
        copyFileSync(at(COPY), at(DATABASE))
        break
      case 'restore':
        await restoreSqlite({ ...options, replace: true }, at(BACKUP), () => {})
    }
    return next
  }

  see(folder: string): Seen | undefined {
    const scratch = this.#copyOf(folder)
    const opened = this.#opened(scratch)
    try {
      if (opened === undefined) return undefined
      const db = opened.connection.get()
      const memory = new Memory(db, this.#stamps)
      const names = [...this.#ids.values()].map(
        (id) => db.get<{ name: string }>('SELECT name FROM tokens WHERE id = ?', id)?.name,
      )
      const credentials = (['A', 'B'] as const).flatMap((token) =>
        Array.from({ length: MOST_EVENTS + 1 }, (_, n) => credentialName(token, n)),
      )
      const accepted = credentials.filter((each) => judge(memory.findCandidate(each), NOW).accepted)
      return { accepted, names }
    } finally {
      opened?.writer.close()
      this.drop(scratch)
    }
  }

  drop(folder: string): void {
    rmSync(folder, { recursive: true })
  }

  dispose(): void {
    removeFolder(this.#root)
  }

  #opened(folder: string) {
    const connection = new Reopening(join(folder, DATABASE), 'write', [])
    const writer = new Writer(connection, join(folder, JOURNAL), this.#stamps)
    const { obstacle } = writer.open(false)
    if (obstacle === undefined) return { writer, connection }
    writer.close()
    return undefined
  }

  async #changed(folder: string, { change, cut }: Extract<Event, { kind: 'change' }>, n: number): Promise<string> {
    const opened = this.#opened(folder)
    if (opened === undefined) return folder
    const before = readFileSync(join(folder, JOURNAL))
    const [reply] = await opened.writer.commit([this.#callOf(change, n)])
    assert.ok(reply && ('value' in reply || ('failure' in reply && reply.failure.code === 'token-not-found')))
    const image = this.#copyOf(folder)
    opened.writer.close()
    this.drop(folder)
    const journal = join(image, JOURNAL)
    const written = readFileSync(journal).length - before.length
    if (cut === 'no line') writeFileSync(journal, before)
    if (cut === 'half a line') truncateSync(journal, before.length + Math.floor(written / 2))
    return image
  }

  #callOf(change: Change, n: number) {
    const { accountId = '', id: subAccountId = '' } = this.#subAccount ?? {}
    const origin = { by: 'operator', at: START + 1_000 + n, requestId: null, address: null }
    if (!('token' in change)) {
      const status = change.what === 'suspend' ? 'suspended' : 'active'
      return { id: 1, name: 'updateSubAccount', args: [accountId, subAccountId, { status }, origin] }
    }
    const { what, token } = change
    const update = (update: object): TokenChange => ({ kind: 'update', update })
    const rotate = (formerUntil: number): TokenChange => {
      const digest = this.#stamps.digest(credentialName(token, n))
      return { kind: 'rotate', rotation: { digest, sealed: this.#sealed, formerUntil } }
    }
    const changes: Readonly<Record<typeof what, TokenChange>> = {
      off: update({ status: 'inactive' }),
      on: update({ status: 'active' }),
      expire: update({ expiresAt: 1 }),
      rename: update({ name: nameAt(n) }),
      delete: { kind: 'delete' },
      rotate: rotate(origin.at),
      overlap: rotate(LATER),
    }
    return { id: 1, name: 'changeToken', args: [accountId, this.#ids.get(token), changes[what], origin] }
  }

  #newFolder(): string {
    return mkdtempSync(join(this.#root, 'x'))
  }

  #copyOf(folder: string): string {
    const copy = this.#newFolder()
    for (const file of FILES) if (existsSync(join(folder, file))) copyFileSync(join(folder, file), join(copy, file))
    return copy
  }
}

export const REAL = {
  cuts: ['no line', 'half a line'],
  others: ['stop', 'copy', 'backup', 'put back', 'restore'],
} as const
