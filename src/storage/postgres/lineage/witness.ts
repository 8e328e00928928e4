// The files in which instances keep what they know to have been confirmed. A file never changes: a process writes a new one, which
// includes or implies all that it has read, and then removes those. So processes on several machines can share a folder without locks.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createPrivate } from '../../../process/private-file.ts'
import { OperatorError } from '../../../tokens/model/errors.ts'
import type { Mark } from './marks.ts'

const fsync = promisify(fs.fsync)

export class Witness {
  readonly folder: string
  /** The folder may have files of other stores, also of one that this store was copied from. */
  readonly #prefix: string
  /** The files that this process has read or written. */
  readonly #known = new Set<string>()
  #writing: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(folder: string, firstEpoch: string) {
    this.folder = folder
    this.#prefix = `${firstEpoch}-`
  }

  /** What the files say that were not read before. */
  readNew(): Mark[] {
    const names = this.#list().filter((name) => !this.#known.has(name))
    const texts = names.map((name) => this.#unlessMissing(() => fs.readFileSync(join(this.folder, name), 'utf8')))
    // A file that has gone meanwhile is part of another one, which must be read instead.
    if (texts.includes(undefined)) return this.readNew()
    const found = names.map((name, i) => ({ name, marks: parse(texts[i] ?? '') }))
    for (const { name, marks } of found) if (marks !== undefined) this.#known.add(name)
    return found.flatMap(({ marks = [] }) => marks)
  }

  /** Resolves when what `marks` returns after this call is on disk. Calls during a write share the next one. */
  save(marks: () => readonly Mark[]): Promise<void> {
    this.#next ??= this.#writing
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        this.#writing = this.#write(marks())
        return this.#writing
      })
    return this.#next
  }

  /** Waits for the write in progress. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#next, this.#writing])
  }

  async #write(marks: readonly Mark[]): Promise<void> {
    const superseded = [...this.#known]
    makeFolder(this.folder)
    const name = `${this.#prefix}${randomBytes(8).toString('hex')}.json`
    const folder = fs.openSync(this.folder, 'r')
    try {
      await writeWhole(join(this.folder, name), JSON.stringify(marks), folder)
    } finally {
      fs.closeSync(folder)
    }
    this.#known.add(name)
    for (const each of superseded) {
      fs.rmSync(join(this.folder, each), { force: true })
      this.#known.delete(each)
    }
  }

  #list(): string[] {
    const names = this.#unlessMissing(() => fs.readdirSync(this.folder)) ?? []
    return names.filter((name) => name.startsWith(this.#prefix) && name.endsWith('.json'))
  }

  #unlessMissing<Result>(read: () => Result): Result | undefined {
    try {
      return read()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw unusable(this.folder, error)
    }
  }
}

/** Makes the file and its directory entry durable, or removes it: on a full disk, each attempt would leave a file. */
async function writeWhole(path: string, text: string, folder: number): Promise<void> {
  const file = createPrivate(path)
  try {
    fs.writeFileSync(file, text)
    // In parallel, so that a journaling file system combines them.
    await Promise.all([fsync(file), fsync(folder)])
  } catch (error) {
    fs.rmSync(path, { force: true })
    throw error
  } finally {
    fs.closeSync(file)
  }
}

/** Undefined for a file that is being written, or was when its writer ended: what it was to say was not confirmed. */
function parse(text: string): Mark[] | undefined {
  try {
    return JSON.parse(text) as Mark[]
  } catch {
    return undefined
  }
}

export function unusable(folder: string, error: unknown): OperatorError {
  return new OperatorError(
    `The folder ${folder}, in which this process keeps what it has confirmed, cannot be used: ${(error as Error).message}. ` +
      'LATCHKEY_PG_WITNESS names another one.',
  )
}

/** What root creates must belong to the user of the server. */
function makeFolder(folder: string): void {
  const first = fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (first === undefined || process.getuid?.() !== 0) return
  const { uid, gid } = fs.statSync(dirname(first))
  for (const made of [first, folder]) fs.lchownSync(made, uid, gid)
}
