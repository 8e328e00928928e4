// A store of the embedded engine in a temporary folder.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/storage/sqlite/store.ts'
import { KeyRing } from '../../src/tokens/trust/key-ring.ts'
import { MasterKey, Stamps } from '../../src/tokens/trust/vault.ts'
import type { Revocations, StoreFiles } from '../../src/tokens/upkeep/ports.ts'
import type { TestStore } from './store.ts'

export interface TestSqlite extends TestStore {
  /** As they are open now; another object after `reopen`. */
  readonly files: StoreFiles & Revocations
  readonly path: string
}

export async function openEmptySqlite(): Promise<TestSqlite> {
  const dataDir = temporaryFolder()
  const keys = newKeyRing()
  let { store, files, storeSecret } = await openSqliteStore({ dataDir, keys })
  return {
    get store() {
      return store
    },
    get files() {
      return files
    },
    keys,
    stamps: new Stamps(storeSecret),
    path: join(dataDir, 'latchkey.db'),
    openAnother: async () => (await openSqliteStore({ dataDir, keys })).store,
    async reopen(meanwhile = () => {}) {
      await store.close()
      meanwhile()
      ;({ store, files } = await openSqliteStore({ dataDir, keys }))
    },
    async close() {
      await store.close()
      removeFolder(dataDir)
    },
  }
}

export function newKeyRing(): KeyRing {
  return new KeyRing([new MasterKey(randomBytes(32))])
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'latchkey-test-'))
}

export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true })
}
