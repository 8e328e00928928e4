// The migrations of an engine: numbered SQL files in a folder.
import { readdirSync, readFileSync } from 'node:fs'
import { OperatorError } from '../tokens/model/errors.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

export function readMigrations(folder: URL): readonly Migration[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files.sort().map((file, index) => {
    const number = Number(file.slice(0, 3))
    if (number !== index + 1) throw new Error(`migration ${file} is out of order`)
    return { number, name: file.replace('.sql', ''), sql: readFileSync(new URL(file, folder), 'utf8') }
  })
}

/** A schema from a newer version is not touched. */
export function requireKnownNumber(found: number, newest: number): number {
  if (found <= newest) return found
  throw new OperatorError(
    `The store has schema ${found}, newer than ${newest}, the newest this version knows. Use a newer Latchkey.`,
  )
}
