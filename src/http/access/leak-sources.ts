// Sources of reports about leaked credentials that sign what they send, as GitHub's partner programme does: ECDSA on P-256 over the
// bytes of the body.
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { failure } from '../../tokens/model/errors.ts'
import { LocalLimiter, type RateLimit, type RateLimiter } from '../../tokens/trust/rate-limit.ts'
import { isObject } from '../../tokens/verify/is-object.ts'
import { HttpFailure } from '../protocol/failures.ts'
import { watchedFile } from './watched-file.ts'

const KEYS_FOR_MS = 30 * 60_000
/**
 * An unknown id may be that of a new key. Anybody can send one, and the source must not be asked all the time: after a burst, once in two
 * minutes, for whichever id. All keys are fetched together, so ids that were made up cannot keep a new key from being fetched.
 */
const FETCH_AGAIN: RateLimit = { count: 10, perMs: 20 * 60_000 }
const FETCH_TIMEOUT_MS = 5_000
const MAX_KEYS_BYTES = 262_144
const BASE64 = /^[A-Za-z0-9+/]{8,200}={0,2}$/

export const BAD_SIGNATURE = 'The signature of the report is missing or not valid'

type Keys = ReadonlyMap<string, KeyObject>

/** The key with this id, if the source has it. */
type FindKey = (id: string) => Promise<KeyObject | undefined>

/** `keysUrl` is an address with HTTPS, or one of this machine. */
type Settings = Readonly<Record<'name' | 'keyIdHeader' | 'signatureHeader', string>> &
  ({ readonly keysUrl: string } | { readonly keysFile: string })

export interface LeakSource {
  readonly name: string
  /** Rejects what the source has not signed. */
  readonly requireSigned: (request: FastifyRequest, body: Uint8Array) => Promise<void>
}

/** Who may report leaked credentials from outside. */
export interface OutsideReports {
  /** Set where anybody may. */
  readonly limiter: RateLimiter | undefined
  readonly sources: readonly LeakSource[]
}

type Fetch = typeof globalThis.fetch

/** `monotonic`: in milliseconds. */
export function openLeakSource(settings: Settings, monotonic: () => number, fetch: Fetch): LeakSource {
  const { name, keyIdHeader, signatureHeader } = settings
  const findKey =
    'keysUrl' in settings ? fetchedKeys(settings.keysUrl, monotonic, fetch) : keysInFile(settings.keysFile)
  return {
    name,
    async requireSigned({ headers }, body) {
      const [id, signature] = [headers[keyIdHeader.toLowerCase()], headers[signatureHeader.toLowerCase()]]
      const isWellFormed = typeof id === 'string' && typeof signature === 'string' && BASE64.test(signature)
      const key = isWellFormed ? await findKey(id) : undefined
      const isSigned = key !== undefined && verify('sha256', body, key, Buffer.from(String(signature), 'base64'))
      if (!isSigned) throw new HttpFailure(403, BAD_SIGNATURE)
    },
  }
}

function keysInFile(path: string): FindKey {
  const read = watchedFile(path, (text) => readKeys(JSON.parse(text)))
  return async (id) => read().get(id)
}

function fetchedKeys(url: string, monotonic: () => number, fetch: Fetch): FindKey {
  let [keys, fetchedAt]: [Keys, number] = [new Map(), Number.NEGATIVE_INFINITY]
  let fetching: Promise<void> | undefined
  const limiter = new LocalLimiter(monotonic)
  const fetchKeys = async () => {
    keys = await download(url, fetch)
    fetchedAt = monotonic()
  }
  const requireQuota = async () => {
    const waitMs = await limiter.take('unknown', FETCH_AGAIN)
    if (waitMs > 0) throw new HttpFailure(503, NOT_FETCHED, { 'retry-after': String(Math.ceil(waitMs / 1000)) })
  }
  return async (id) => {
    const isOld = monotonic() - fetchedAt > KEYS_FOR_MS
    if (!isOld && keys.has(id)) return keys.get(id)
    if (!isOld && fetching === undefined) await requireQuota()
    fetching ??= fetchKeys().finally(() => {
      fetching = undefined
    })
    await fetching
    return keys.get(id)
  }
}

const NOT_FETCHED = 'The keys of the source cannot be fetched; try again'

async function download(url: string, fetch: Fetch): Promise<Keys> {
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })
    if (!answer.ok) throw new Error(`${answer.status}`)
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of answer.body ?? []) {
      bytes += chunk.length
      if (bytes > MAX_KEYS_BYTES) throw new Error('the answer is too long')
      chunks.push(chunk)
    }
    return readKeys(JSON.parse(Buffer.concat(chunks).toString()))
  } catch (error) {
    throw failure('unavailable', error, NOT_FETCHED)
  }
}

/** `{public_keys: [{key_identifier, key}]}`. Keys that are not on P-256 are left out. */
function readKeys(document: unknown): Keys {
  const list = isObject(document) ? (document as { public_keys?: unknown }).public_keys : undefined
  const keys = new Map<string, KeyObject>()
  for (const entry of Array.isArray(list) ? list : []) {
    const { key_identifier: id, key: pem } = (isObject(entry) ? entry : {}) as Readonly<Record<string, unknown>>
    if (typeof id !== 'string' || typeof pem !== 'string') continue
    const key = createPublicKey(pem)
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') keys.set(id, key)
  }
  return keys
}
