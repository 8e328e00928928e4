// A scenario: what is asked, what must come back, and what must not appear. Run over real HTTP on a real store.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type FailureCode, reasonOf } from '../../src/tokens/model/errors.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import { type Engine, type Estate, openedBefore } from '../support/estate.ts'
import type { Ask, Heard } from '../support/http.ts'
import { assertTellsNothing } from '../support/traces.ts'

export interface Scenario {
  /** A guarantee, as a sentence. */
  readonly name: string
  readonly ask: (estate: Estate) => Ask | Promise<Ask>
  readonly status: number
  /** The exact body, or a check of it. */
  readonly body?: object | ((heard: Heard, estate: Estate) => void | Promise<void>)
  /** A header's exact value, a pattern, or null for "must not be there". */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>
  /** Text that must not appear anywhere in the answer. */
  readonly absent?: (estate: Estate) => readonly string[]
  /** Where the status says otherwise: whether an engine has a part in the answer that is not in the contract of stores. */
  readonly asksEngine?: boolean
}

/** Answers to requests that cannot be read: no engine is asked for more than who asks. */
const BEFORE_ENGINES = new Set([400, 405, 413, 415, 416])

/** Whether a scenario is played on every engine, or once. */
export const isEngineBound = ({ status, asksEngine = !BEFORE_ENGINES.has(status) }: Scenario): boolean => asksEngine

/** What an engine does for these, its contract holds: test/storage/contract.ts. */
export const playedOnce = (scenarios: readonly Scenario[]): Scenario[] =>
  scenarios.map((each) => ({ ...each, asksEngine: false }))

export const failure = (message: string, reason: string, details?: object) => ({
  status: false,
  message,
  message_type: 'error',
  data: {},
  error: details === undefined ? { message: reason } : { message: reason, details },
})

const CATEGORIES: Readonly<Record<number, string>> = {
  400: 'Validation error',
  403: 'Forbidden',
  405: 'Method not allowed',
  409: 'Conflict',
  412: 'Precondition failed',
  413: 'Payload too large',
  415: 'Unsupported media type',
}

/** A refusal by its code, byte for byte but for its reason: that has to be the one of its code, or to name what is wrong. */
export const refusal =
  (code: string, names?: RegExp, isAboutFields = false) =>
  ({ status, headers, json, text }: Heard): void => {
    assert.equal(headers['x-latchkey-error'], code)
    const { message, details } = json.error
    assert.match(message, names ?? new RegExp(`^${RegExp.escape(reasonOf(code as FailureCode))}$`))
    const answer = failure(CATEGORIES[status] ?? '', message, isAboutFields ? details : undefined)
    assert.equal(text, JSON.stringify(answer))
  }
export const invalid = (names: RegExp) => refusal('invalid-request', names)
/** Of a body; the answer may also say of each field what is wrong. */
export const invalidFields = (names: RegExp) => refusal('invalid-request', names, true)

export const NOT_FOUND = failure('Not found', 'API token not found')
export const NOT_YOURS = failure('Forbidden', 'Sub account does not belong to you or does not exist')
export const unauthenticated = (message: string) => ({ code: 401, message, stack: `AuthenticationError: ${message}` })

export const success = (message: string, data: object, showMessage = 0) => ({
  app_type: 'api',
  app_version: '9.9.9',
  maintainence: 0,
  new_version: 0,
  force_update: 0,
  invalid_token: 0,
  refresh_token: '',
  show_message: showMessage,
  is_enc: false,
  status: true,
  message,
  message_type: 'success',
  data,
  error: {},
})

/** All scenarios, or those of them that are to be played. */
export function runScenarios(
  engine: Engine,
  tables: Readonly<Record<string, readonly Scenario[]>>,
  isPlayed: (scenario: Scenario) => boolean = () => true,
): void {
  describe(`the HTTP door on the ${engine.name} store`, () => {
    const estate = openedBefore(engine)
    let asked: readonly string[] = []
    before(() => {
      asked = listenTo(estate.running.store)
    })
    for (const [subject, scenarios] of Object.entries(tables)) {
      describe(subject, () => {
        for (const scenario of scenarios.filter(isPlayed))
          test(scenario.name, () => play(scenario, estate, () => asked))
      })
    }
    test('no credential that went through all of this is in a log, on the disk or in a metric', async () => {
      assert.ok(estate.secrets.size > 50)
      assert.ok(estate.logged.length > 200)
      assert.deepEqual(await estate.whereSecretsLie(), [])
      const { text } = await estate.ask({ path: '/metrics' })
      for (const secret of estate.secrets) assert.ok(!text.includes(secret))
    })
    test('the search for secrets finds one that is there', async () => {
      const { name } = await estate.token({ name: 'canary-in-plain-sight' })
      estate.secrets.add(name)
      assert.equal((await estate.whereSecretsLie()).length, 1)
    })
  })
}

/** The operations of the store, as they are begun from now on. */
function listenTo(store: Store): readonly string[] {
  const asked: string[] = []
  for (const [name, operation] of Object.entries(store)) {
    const heard = (...args: unknown[]) => {
      asked.push(name)
      return Reflect.apply(operation, store, args)
    }
    Object.assign(store, { [name]: heard })
  }
  return asked
}

/** What a request does, and the server never does by itself. */
const BY_REQUEST = /^(change|create|delete|insert|rotate|update|find(Account|Candidate|SubAccount|Token))/

async function play(scenario: Scenario, estate: Estate, asked: () => readonly string[]): Promise<void> {
  const ask = await scenario.ask(estate)
  const before = asked().length
  const heard = await estate.ask(ask)
  if (scenario.asksEngine === undefined && BEFORE_ENGINES.has(scenario.status)) {
    const decided = asked()
      .slice(before)
      .filter((name) => BY_REQUEST.test(name))
    assert.deepEqual(decided, [], 'a scenario that an engine has a part in says asksEngine')
  }
  assert.equal(heard.status, scenario.status, heard.text)
  if (typeof scenario.body === 'function') await scenario.body(heard, estate)
  // Byte for byte: the order of fields is part of it.
  else if (scenario.body !== undefined && ask.method !== 'HEAD') assert.equal(heard.text, JSON.stringify(scenario.body))
  for (const [name, expected] of Object.entries(scenario.headers ?? {})) {
    const found = heard.headers[name]
    if (expected === null) assert.equal(found, undefined, name)
    else if (typeof expected === 'string') assert.equal(found, expected, name)
    else assert.match(String(found), expected, name)
  }
  for (const text of scenario.absent?.(estate) ?? []) assert.ok(!heard.text.includes(text), `${text} appears`)
  holdsForEveryAnswer(ask, heard, estate)
}

/** What no answer may lack or contain, whatever was asked. */
function holdsForEveryAnswer(ask: Ask, heard: Heard, estate: Estate): void {
  assert.match(String(heard.headers['x-request-id']), /^[\w.-]+$/)
  if (heard.status === 401) assert.match(String(heard.headers['www-authenticate']), /^Bearer realm="latchkey"/)
  if (ask.path.startsWith('/api/')) assert.equal(heard.headers['cache-control'], 'no-store')
  for (const secret of heard.json?.data?.items?.map(({ token }: { token?: string }) => token) ?? []) {
    if (typeof secret === 'string') estate.secrets.add(secret)
  }
  const isFailure = heard.status >= 400
  assert.equal(heard.headers['x-latchkey-error'] !== undefined, isFailure, 'a failure has a code, and nothing else has')
  if (isFailure) {
    assert.match(String(heard.headers['x-latchkey-error']), /^[a-z]+(-[a-z]+)*$/)
    for (const secret of estate.secrets) assert.ok(!heard.text.includes(secret), 'an error repeats a credential')
    assertTellsNothing(heard.text, ask.path)
  }
}
