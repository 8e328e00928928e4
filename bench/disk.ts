// The disk under the servers: how often it is flushed, and how slow it pretends to be.
import { spawnSync } from 'node:child_process'
import { openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const PAGE_BYTES = 4_096

export class Disk {
  readonly #page: number
  #taken = 0
  readonly env: Readonly<Record<string, string>>

  private constructor(page: string, library: string) {
    this.#page = openSync(page, 'r+')
    this.env = { LD_PRELOAD: library, BENCH_SYNC_PAGE: page }
  }

  static make(folder: string): Disk {
    const library = join(folder, 'sync-shim.so')
    const source = join(import.meta.dirname, 'sync-shim.c')
    const { status } = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'ignore' })
    if (status !== 0) throw new Error('a C compiler (cc) is needed for the library that counts flushes')
    const page = join(folder, 'sync-page')
    writeFileSync(page, Buffer.alloc(PAGE_BYTES))
    return new Disk(page, library)
  }

  /** Flushes of write-ahead logs since it was last called, of all servers: one a commit, and one more a checkpoint. */
  takeLogFlushes(): number {
    const bytes = Buffer.alloc(8)
    readSync(this.#page, bytes, 0, 8, 0)
    const before = this.#taken
    this.#taken = Number(bytes.readBigUInt64LE())
    return this.#taken - before
  }

  /** From now on every flush takes this much longer. */
  delayFlushes(milliseconds: number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(BigInt(milliseconds * 1000))
    writeSync(this.#page, bytes, 0, 8, 16)
  }
}
