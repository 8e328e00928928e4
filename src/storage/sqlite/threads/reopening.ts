// A connection that is opened when it is first used, and again after a disk error.

import { type OpenedFile, requireInPlace } from '../files/files.ts'
import { Connection, isBusy, isFull, isStoreFault } from '../sqlite-connection.ts'

export class Reopening {
  readonly path: string
  readonly #mode: 'read' | 'write'
  readonly #files: readonly OpenedFile[]
  #connection: Connection | undefined

  constructor(path: string, mode: 'read' | 'write', files: readonly OpenedFile[]) {
    this.path = path
    this.#mode = mode
    this.#files = files
  }

  /** For every operation: the file may be replaced at any time. For readers, the store checks this. */
  get(): Connection {
    if (this.#mode === 'write' || this.#connection === undefined) requireInPlace(this.#files)
    this.#connection ??= new Connection(this.path, this.#mode)
    return this.#connection
  }

  rollBack(): void {
    this.#connection?.rollBack()
  }

  /** A connection is not used again after a disk error. */
  dropIfBroken(error: unknown): void {
    if (isStoreFault(error) && !isBusy(error) && !isFull(error)) this.close()
  }

  close(): void {
    this.#connection?.close()
    this.#connection = undefined
  }
}
