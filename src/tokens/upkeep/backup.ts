// A backup is one file: the database, then a manifest that says what the file holds and proves that it is whole. Pure.
import { OperatorError } from '../errors.ts'
import type { Stamps } from '../trust/vault.ts'

export interface Manifest {
  readonly format: 1
  readonly madeAt: string
  readonly appVersion: string
  readonly schema: number
  /** The master keys that open it; the keys themselves are nowhere in a backup. */
  readonly masterKeyIds: readonly string[]
  readonly counts: Readonly<Record<string, number>>
  /** Of every account's last history stamp: two backups with the same one tell the same story. */
  readonly historyHead: string
  /** How far the revocation journal had come: its length, and the stamp of its last line. Null: not begun yet. */
  readonly journal: { readonly size: number; readonly stamp: string } | null
  readonly databaseBytes: number
  readonly sha256: string
}

/** Told how much of a backup or a restore is done. */
export type OnBytes = (done: number, all: number) => void

/** The last bytes of the file: the length of the manifest, and a word to know it by. */
const WORD = 'latchkey backup\n'
const LENGTH_DIGITS = 8
export const FOOTER_BYTES = LENGTH_DIGITS + WORD.length

/** What is appended to the database. The stamp hangs on the store's secret: nobody else can make one. */
export function manifestTrailer(manifest: Manifest, stamps: Stamps): Buffer {
  const json = JSON.stringify(manifest)
  const text = `\n${JSON.stringify({ manifest: json, stamp: stampOf(json, stamps) })}\n`
  return Buffer.from(text + String(text.length).padStart(LENGTH_DIGITS, '0') + WORD)
}

/** How long the trailer is, footer included; undefined when these are not the last bytes of a backup. */
export function trailerLength(footer: string): number | undefined {
  const length = Number(footer.slice(0, LENGTH_DIGITS))
  return footer.endsWith(WORD) && Number.isInteger(length) ? length + FOOTER_BYTES : undefined
}

export interface SignedManifest {
  readonly manifest: Manifest
  readonly json: string
  readonly stamp: string
}

/** Whatever it says is believed only once its stamp was checked with the store's own secret. */
export function readTrailer(trailer: string): SignedManifest {
  try {
    const { manifest: json, stamp } = JSON.parse(trailer.slice(0, -FOOTER_BYTES)) as { manifest: string; stamp: string }
    const manifest = JSON.parse(json) as Manifest
    if (manifest.format === 1) return { manifest, json, stamp }
  } catch {
    // Said below.
  }
  throw new OperatorError('The manifest of the backup cannot be read')
}

export function isManifestStamp({ json, stamp }: SignedManifest, stamps: Stamps): boolean {
  return stamp === stampOf(json, stamps)
}

function stampOf(json: string, stamps: Stamps): string {
  return stamps.stampRow(['backup', json]).toString('hex')
}
