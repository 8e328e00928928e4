// The format of a backup: one file with the database, then a manifest that describes it and proves it complete. Pure.
import { OperatorError } from '../model/errors.ts'
import type { Stamps } from '../trust/vault.ts'

export interface Manifest {
  readonly format: 1
  readonly madeAt: string
  readonly appVersion: string
  readonly schema: number
  /** Ids of the master keys that decrypt it. A backup never contains the keys themselves. */
  readonly masterKeyIds: readonly string[]
  readonly counts: Readonly<Record<string, number>>
  /** A hash of every account's last history stamp: backups with the same one have the same history. */
  readonly historyHead: string
  /** Of the revocation journal: its length, and the stamp of its last line. Null if there was none yet. */
  readonly journal: { readonly size: number; readonly stamp: string } | null
  readonly databaseBytes: number
  readonly sha256: string
}

/** Receives the progress of a backup or a restore. */
export type OnBytes = (done: number, all: number) => void

/** The last bytes of the file: the length of the manifest, and this text, by which a backup is recognised. */
const MAGIC = 'latchkey backup\n'
const LENGTH_DIGITS = 8
export const FOOTER_BYTES = LENGTH_DIGITS + MAGIC.length

/** What is appended to the database. The stamp cannot be made without the store secret. */
export function manifestTrailer(manifest: Manifest, stamps: Stamps): Buffer {
  const json = JSON.stringify(manifest)
  const text = `\n${JSON.stringify({ manifest: json, stamp: stampOf(json, stamps) })}\n`
  return Buffer.from(text + String(text.length).padStart(LENGTH_DIGITS, '0') + MAGIC)
}

/** The length of the trailer including the footer; undefined if the file is not a backup. */
export function trailerLength(footer: string): number | undefined {
  const length = Number(footer.slice(0, LENGTH_DIGITS))
  return footer.endsWith(MAGIC) && Number.isInteger(length) ? length + FOOTER_BYTES : undefined
}

export interface SignedManifest {
  readonly manifest: Manifest
  readonly json: string
  readonly stamp: string
}

/** Not to be trusted before `isManifestStamp` has checked the stamp. */
export function readTrailer(trailer: string): SignedManifest {
  try {
    const { manifest: json, stamp } = JSON.parse(trailer.slice(0, -FOOTER_BYTES)) as { manifest: string; stamp: string }
    const manifest = JSON.parse(json) as Manifest
    if (manifest.format === 1) return { manifest, json, stamp }
  } catch {
    // Reported below.
  }
  throw new OperatorError('The manifest of the backup cannot be read')
}

export function isManifestStamp({ json, stamp }: SignedManifest, stamps: Stamps): boolean {
  return stamp === stampOf(json, stamps)
}

function stampOf(json: string, stamps: Stamps): string {
  return stamps.stampRow(['backup', json]).toString('hex')
}
