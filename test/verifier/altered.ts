// The positive control of a promise: the same code with one rule left out, in a process of its own.
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'

export interface Alteration {
  /** The end of the file's path. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Of the modules that this process loads from now on. */
export function alter({ file, from, to }: Alteration): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith(file)) return loaded
      const source = String(loaded.source)
      assert.ok(source.includes(from), `${file} has no ${from}`)
      return { ...loaded, source: source.replace(from, to) }
    },
  })
}
