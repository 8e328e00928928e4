// A store that is backed up, lives on, and is put back in a folder of its own.
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import { Cli, type Ran } from './cli.ts'
import { removeFolder, temporaryFolder } from './sqlite.ts'

export class BackedUp {
  readonly cli = new Cli()
  readonly #folders: string[] = []

  get file(): string {
    return join(this.cli.dataDir, 'backup.lkb')
  }

  get journal(): string {
    return join(this.cli.dataDir, 'revocations.log')
  }

  async backUp(): Promise<Ran> {
    const made = await this.cli.run('backup', this.file, '--json')
    if (made.code !== 0) throw new Error(made.stderr)
    return made
  }

  /** The store, open for as long as the work takes. */
  async living<Result>(work: (latchkey: Latchkey) => Promise<Result>): Promise<Result> {
    return opened(this.cli.dataDir, work)
  }

  /** A folder with nothing but the master key, and the journal where there is one. */
  emptyFolder(journal: string | undefined = this.journal): Cli {
    const folder = new Cli()
    this.#folders.push(folder.dataDir)
    copyFileSync(join(this.cli.dataDir, 'master.key'), join(folder.dataDir, 'master.key'))
    if (journal !== undefined && existsSync(journal)) copyFileSync(journal, join(folder.dataDir, 'revocations.log'))
    return folder
  }

  temporaryFile(name: string): string {
    const folder = temporaryFolder()
    this.#folders.push(folder)
    return join(folder, name)
  }

  dispose(): void {
    this.cli.dispose()
    this.#folders.forEach(removeFolder)
  }
}

export async function opened<Result>(dataDir: string, work: (latchkey: Latchkey) => Promise<Result>): Promise<Result> {
  const latchkey = await openLatchkey(readConfig({ LATCHKEY_DATA_DIR: dataDir }))
  try {
    return await work(latchkey)
  } finally {
    await latchkey.store.close()
  }
}

export async function served<Result>(dataDir: string, work: (url: string) => Promise<Result>): Promise<Result> {
  const running = await startServer(readConfig({ LATCHKEY_DATA_DIR: dataDir, PORT: '0' }))
  try {
    return await work(running.url)
  } finally {
    await running.stop()
  }
}
