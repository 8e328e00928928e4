// A disk that has lost its power: it holds what was synced, and any part of what was not, by the sector. Directory
// entries are held back as strictly as contents, until the directory itself is synced.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Moment, SystemCall } from './system-calls.ts'

const SECTOR = 512

interface Change {
  readonly call: SystemCall
  readonly offset: number
  readonly data: Buffer | undefined
  /** Written by the time that a sync began: only then does that sync cover it. */
  done: boolean
}

class Inode {
  #synced: Buffer
  /** In the order of asking. */
  #pending: Change[] = []

  constructor(content: Buffer) {
    this.#synced = content
  }

  begin(change: Change): void {
    this.#pending.push(change)
  }

  /** As a running system sees it. */
  get size(): number {
    return this.#pending.reduce(
      (size, { offset, data }) => (data === undefined ? offset : Math.max(size, offset + data.length)),
      this.#synced.length,
    )
  }

  end(call: SystemCall, result: number): void {
    const change = this.#pending.find((each) => each.call === call)
    if (change === undefined) return
    if (result < 0) this.#pending.splice(this.#pending.indexOf(change), 1)
    else change.done = true
  }

  /** What a sync that begins now covers. */
  covered(): readonly Change[] {
    return this.#pending.filter(({ done }) => done)
  }

  /** `keeps` decides what a failed sync has written: the system forgets the rest, and no later sync covers it. */
  synced(covered: readonly Change[], keeps: () => boolean): void {
    this.#pending = this.#pending.filter((change) => !covered.includes(change))
    for (const change of covered) this.#synced = apply(this.#synced, change, keeps)
  }

  /** `keeps` decides for each sector that was not synced. */
  crashed(keeps: () => boolean): Buffer {
    let content: Buffer = Buffer.from(this.#synced)
    for (const change of this.#pending) content = apply(content, change, keeps)
    return content
  }
}

function apply(before: Buffer, { offset, data }: Change, keeps: () => boolean): Buffer {
  if (data === undefined) return keeps() ? resize(before, offset) : before
  let content = before
  for (let at = offset; at < offset + data.length; ) {
    const end = Math.min(offset + data.length, (Math.floor(at / SECTOR) + 1) * SECTOR)
    if (keeps()) {
      if (content.length < end) content = resize(content, end)
      data.copy(content, at, at - offset, end - offset)
    }
    at = end
  }
  return content
}

function resize(content: Buffer, length: number): Buffer {
  const resized = Buffer.alloc(length)
  content.copy(resized)
  return resized
}

export class SimulatedDisk {
  readonly #folder: string
  /** The entries as a running system sees them, those that are synced, and the changes between the two. */
  readonly #names = new Map<string, Inode>()
  #syncedNames: ReadonlyMap<string, Inode>
  #pendingNames: { readonly name: string; readonly inode: Inode | undefined }[] = []
  readonly #syncs = new Map<SystemCall, readonly Change[]>()
  readonly #chance: () => number

  /** `files` are synced. `chance` decides what becomes of a sync that fails. */
  constructor(folder: string, files: readonly string[], chance: () => number) {
    this.#folder = folder
    this.#chance = chance
    for (const name of files) this.#names.set(name, new Inode(readFileSync(join(folder, name))))
    this.#syncedNames = new Map(this.#names)
  }

  see({ kind, call, ...moment }: Moment): void {
    const result = 'result' in moment ? moment.result : 0
    const name = basename(call.path)
    if (call.path === this.#folder && call.name === 'fsync') {
      if (kind === 'end' && result === 0) this.#syncNames()
    } else if (dirname(call.path) === this.#folder && !name.endsWith('-shm')) {
      if (call.name === 'openat' || call.name === 'unlink') {
        if (kind === 'end' && result >= 0) this.#enter(call, name)
      } else {
        const inode = this.#names.get(name)
        if (inode !== undefined) this.#change(inode, call, kind, result)
      }
    }
  }

  #change(inode: Inode, call: SystemCall, kind: 'start' | 'end', result: number): void {
    if (call.name.endsWith('sync')) this.#sync(inode, call, kind, result)
    else if (kind === 'end') inode.end(call, result)
    else if (call.name === 'pwrite64') inode.begin({ call, offset: call.last, data: call.data, done: false })
    else if (call.name === 'write') inode.begin({ call, offset: inode.size, data: call.data, done: false })
    else if (call.name === 'ftruncate') inode.begin({ call, offset: call.last, data: undefined, done: false })
    else throw new Error(`what does ${call.name} do?`)
  }

  #enter(call: SystemCall, name: string): void {
    const exists = this.#names.has(name)
    if (call.name === 'unlink') this.#names.delete(name)
    else if (!exists && call.flags.includes('O_CREAT')) this.#names.set(name, new Inode(Buffer.alloc(0)))
    else return
    this.#pendingNames.push({ name, inode: this.#names.get(name) })
  }

  #syncNames(): void {
    this.#syncedNames = new Map(this.#names)
    this.#pendingNames = []
  }

  #sync(inode: Inode, call: SystemCall, kind: 'start' | 'end', result: number): void {
    if (kind === 'start') return void this.#syncs.set(call, inode.covered())
    const kept = result === 0 ? 1 : share(this.#chance)
    inode.synced(this.#syncs.get(call) ?? [], () => this.#chance() < kept)
    this.#syncs.delete(call)
  }

  /** What is found after a power loss at this moment. */
  writeTo(folder: string, keeps: () => boolean): void {
    const names = new Map(this.#syncedNames)
    for (const { name, inode } of this.#pendingNames) {
      if (!keeps()) continue
      if (inode === undefined) names.delete(name)
      else names.set(name, inode)
    }
    for (const [name, inode] of names) writeFileSync(join(folder, name), inode.crashed(keeps))
  }
}

/** How much is kept: often nothing or everything, else any part. */
export function share(chance: () => number): number {
  return Math.max(0, Math.min(1, chance() * 1.4 - 0.2))
}
