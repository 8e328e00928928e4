// Metrics: cheap to scrape, complete while the store is away, and named as Prometheus wants them.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Metrics } from '../../src/http/observe/metrics.ts'
import { Failure } from '../../src/tokens/model/errors.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { closeConnections } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'

/** Well after the time in which scrapes share a count. */
const LATER = 90_000

/** A store whose counts are made by hand, and a clock that is set by hand. */
function counting() {
  const state = { now: 0, calls: 0, answer: async (): Promise<number> => 3, soonMs: 0 }
  const metrics = new Metrics()
  const countTokens = async () => {
    state.calls++
    return { active: await state.answer(), inactive: 0 }
  }
  const countExpiring = async (from: number, before: number) => {
    state.soonMs = before - from
    return 5
  }
  metrics.countTokens({ countTokens, countExpiring }, () => 0, { maxWaitMs: 50, now: () => state.now })
  return { state, metrics }
}

const activeIn = (text: string) => /^latchkey_tokens\{status="active"\} (\d+)$/m.exec(text)?.[1]
const errorsIn = (text: string) => /^latchkey_token_count_errors_total (\d+)$/m.exec(text)?.[1]
const unavailable = () => Promise.reject(new Failure('unavailable'))

test('while the store cannot be reached, the number of tokens is the last one known, and nothing else is missing', async () => {
  const { state, metrics } = counting()
  metrics.countVerdict('accepted')
  assert.equal(activeIn(await metrics.text()), '3')
  assert.match(await metrics.text(), /^latchkey_tokens_expiring_soon 5$/m)
  state.answer = unavailable
  state.now = LATER
  for (const text of [await metrics.text(), await Metrics.sum([await metrics.snapshot()])]) {
    assert.deepEqual([activeIn(text), errorsIn(text)], ['3', '1'])
    assert.match(text, /^latchkey_verifications_total\{verdict="accepted"\} 1$/m)
  }
  state.answer = async () => 4
  state.now = 2 * LATER
  assert.deepEqual([activeIn(await metrics.text()), errorsIn(await metrics.text())], ['4', '1'])
})

test('the tokens that expire soon are those of the next seven days', async () => {
  const { state, metrics } = counting()
  await metrics.text()
  assert.equal(state.soonMs, 7 * 86_400_000)
})

test('before the first count has succeeded there is no number of tokens', async () => {
  const { state, metrics } = counting()
  state.answer = unavailable
  assert.equal(activeIn(await metrics.text()), undefined)
})

test('however many scrapes come, tokens are counted once in a while, and one count at a time', async () => {
  const { state, metrics } = counting()
  const { promise, resolve } = Promise.withResolvers<number>()
  state.answer = () => promise
  const scrapes = Array.from({ length: 10 }, () => metrics.text())
  state.now = 2 * LATER
  const late = metrics.text()
  resolve(7)
  for (const text of await Promise.all([...scrapes, late])) assert.equal(activeIn(text), '7')
  assert.equal(state.calls, 1)
  for (let n = 0; n < 2; n++) await metrics.text()
  assert.equal(state.calls, 2)
})

test('a store that does not answer does not hold up a scrape', async () => {
  const { state, metrics } = counting()
  assert.equal(activeIn(await metrics.text()), '3')
  assert.match(await metrics.text(), /^latchkey_tokens_expiring_soon 5$/m)
  const { promise, resolve } = Promise.withResolvers<number>()
  state.answer = () => promise
  state.now = LATER
  assert.equal(activeIn(await metrics.text()), '3')
  assert.match(await metrics.text(), /^latchkey_tokens_expiring_soon 5$/m)
  resolve(5)
})

test('scrapes at the same time are one scrape', async () => {
  const estate = await Estate.open(sqliteEngine)
  try {
    const { metrics } = estate.running
    let made = 0
    metrics.text = async () => `scrape ${++made}`
    const heard = await Promise.all(Array.from({ length: 20 }, () => estate.ask({ path: '/metrics' })))
    assert.ok(made < 20, `${made} scrapes`)
    assert.ok(heard.every(({ text }) => /^scrape \d+$/.test(text)))
  } finally {
    closeConnections()
    await estate.close()
  }
})

test('requests beyond a limit are counted by the limit, guesses in the form of an introspection among them', async () => {
  const estate = await Estate.open(sqliteEngine, { LATCHKEY_RATE_LIMIT_FAILED: '2/h', LATCHKEY_RATE_LIMIT_KEY: '3/h' })
  try {
    const limited = async (limit: string) => {
      const pattern = new RegExp(`^latchkey_rate_limited_requests_total\\{limit="${limit}"\\} (\\d+)$`, 'm')
      return pattern.exec(await estate.running.metrics.text())?.[1]
    }
    assert.deepEqual([await limited('key'), await limited('failed'), await limited('address')], ['0', '0', '0'])
    for (let n = 0; n < 5; n++) await estate.mineAsks({ path: '/api/v1/apiClient/token' })
    assert.equal(await limited('key'), '2')
    const guess = {
      method: 'POST',
      path: '/oauth2/introspect',
      headers: [['content-type', 'application/x-www-form-urlencoded']],
      body: 'token=x&client_secret=lk_key_guess',
    } as const
    const statuses = []
    for (let n = 0; n < 4; n++) statuses.push((await estate.ask(guess)).status)
    assert.deepEqual(statuses, [401, 401, 429, 429])
    assert.equal(await limited('failed'), '2')
  } finally {
    closeConnections()
    await estate.close()
  }
})

test('a pool of connections shows how full it is', async () => {
  const metrics = new Metrics()
  const state = { inUse: 3, idle: 1, waiting: 2, max: 4 }
  metrics.watchPools(() => ({ reads: state }))
  const text = await metrics.text()
  for (const line of ['connections_in_use{pool="reads"} 3', 'connections_idle{pool="reads"} 1']) {
    assert.ok(text.includes(`latchkey_store_${line}\n`), line)
  }
  for (const line of ['connections_max{pool="reads"} 4', 'connection_waiters{pool="reads"} 2']) {
    assert.ok(text.includes(`latchkey_store_${line}\n`), line)
  }
})

/** The names in the table of docs/operate/settings.md, but for those of the runtime. */
function documentedMetrics(): string[] {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operate', 'settings.md'), 'utf8')
  const rows = page.slice(page.indexOf('\n## Metrics'), page.indexOf('\n## Logs')).match(/^\| `latchkey_.*$/gm) ?? []
  return rows.flatMap((row) => {
    const [, names = ''] = row.split('|')
    const [first = '', ...others] = Array.from(names.matchAll(/`(\w+)(?:\{\S*\})?`/g), ([, name = '']) => name)
    return [first, ...others.map((name) => (name.startsWith('_') ? first.replace(/_in_use$/, name) : name))]
  })
}

/** What the rules and the dashboard of docs/monitoring name, but for what Prometheus itself adds. */
function namesIn(file: string) {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'monitoring', file), 'utf8')
  const metrics = [...new Set(text.match(/\b(latchkey|process|nodejs)_\w+/g))]
  const used = text.matchAll(/by \(([\w, ]+)\)|\{(\w+)=~?\\?"|\$labels\.(\w+)|\{\{(\w+)\}\}/g)
  const labels = Array.from(used, (found) => found.slice(1).join('').split(', ')).flat()
  const ofPrometheus = ['instance', 'job', 'le']
  assert.ok(metrics.length >= 10 && labels.length >= 5)
  return { metrics, labels: [...new Set(labels)].filter((label) => !ofPrometheus.includes(label)) }
}

test('every documented metric is there at the first scrape, with 0 for what has not happened', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-metrics-'))
  const grants = join(folder, 'grants.json')
  writeFileSync(grants, '[]')
  const jwt = { JWKS: join(folder, 'jwks.json'), ISSUER: 'x', AUDIENCE: 'x', ACCOUNT_CLAIM: 'x', GRANTS: grants }
  writeFileSync(jwt.JWKS, '{"keys":[]}')
  const env = Object.fromEntries(Object.entries(jwt).map(([name, value]) => [`LATCHKEY_JWT_${name}`, value]))
  const estate = await Estate.open(postgresEngine, env)
  try {
    const { text } = await estate.ask({ path: '/metrics' })
    for (const file of ['alerts.yaml', 'grafana-dashboard.json']) {
      const { metrics, labels } = namesIn(file)
      assert.deepEqual(
        metrics.filter((name) => !new RegExp(`^${name}(\\{.*\\})? `, 'm').test(text)),
        [],
        file,
      )
      assert.deepEqual(
        labels.filter((label) => !new RegExp(`[{,]${label}="`).test(text)),
        [],
        file,
      )
    }
    const documented = documentedMetrics()
    assert.ok(documented.length >= 13 && documented.includes('latchkey_store_connections_idle'), documented.join())
    const missing = documented.filter((name) => !new RegExp(`^${name}(_count)?(\\{.*\\})? \\d`, 'm').test(text))
    assert.deepEqual(missing, [])
    const refused = ['unknown', 'tampered', 'inactive', 'expired', 'suspended', 'address', 'scope', 'rate', 'quota']
    for (const verdict of ['accepted', ...refused]) {
      assert.ok(text.includes(`latchkey_verifications_total{verdict="${verdict}"} 0\n`), verdict)
    }
    for (const status of [204, 401, 403, 429, 503]) {
      const labels = `{method="GET",route="/api/v1/verify",status="${status}"}`
      assert.ok(text.includes(`latchkey_http_request_duration_seconds_count${labels} 0\n`), labels)
    }
    assert.match(text, /^latchkey_store_operation_duration_seconds_count\{operation="findCandidate"\} 0$/m)
  } finally {
    closeConnections()
    await estate.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
}

function familiesIn(text: string): Family[] {
  const help = new Map(Array.from(text.matchAll(/^# HELP (\S+) (.*)$/gm), ([, name = '', words = '']) => [name, words]))
  return Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = '', type = '']) => ({
    name,
    type,
    help: help.get(name) ?? '',
  }))
}

/** The rules of `promtool check metrics`, as far as they can be broken here. */
const RULES: Readonly<Record<string, (family: Family) => boolean>> = {
  'has a help text': ({ help }) => help.trim() !== '',
  'ends in _total if and only if it is a counter': ({ name, type }) => name.endsWith('_total') === (type === 'counter'),
  'does not end like a part of a histogram': ({ name }) => !/_(count|sum|bucket)$/.test(name),
  'has no type in its name': ({ name }) => !/(^|_)(gauge|counter|histogram|summary)(_|$)/.test(name),
  'uses base units': ({ name }) =>
    !/(^|_)(milliseconds?|microseconds?|nanoseconds?|ms|us|minutes?|hours?|kilobytes?|megabytes?|bits?|percent)(_|$)/.test(
      name,
    ),
  'has no capitals or colons': ({ name }) => /^[a-z][a-z0-9_]*$/.test(name),
}

test('every metric is named as promtool wants it', async () => {
  const estate = await Estate.open(sqliteEngine)
  try {
    estate.running.metrics.watchPools(() => ({ reads: { inUse: 0, idle: 0, waiting: 0, max: 1 } }))
    const families = familiesIn(await estate.running.metrics.text())
    for (const name of ['latchkey_build_info', 'latchkey_tokens', 'latchkey_http_request_duration_seconds']) {
      assert.ok(
        families.some((family) => family.name === name),
        name,
      )
    }
    for (const [rule, holds] of Object.entries(RULES)) {
      const broken = families.filter((family) => !holds(family)).map(({ name }) => name)
      assert.deepEqual(broken, [], `each ${rule}`)
    }
  } finally {
    closeConnections()
    await estate.close()
  }
})

test('durations are counted in buckets whose bounds dashboards and alerts can rely on', async () => {
  const estate = await Estate.open(sqliteEngine)
  try {
    await estate.mineAsks({ path: '/api/v1/apiClient/token' })
    const { text } = await estate.ask({ path: '/metrics' })
    const bounds = (name: string) => {
      const found = text.matchAll(new RegExp(`^latchkey_${name}_duration_seconds_bucket\\{.*le="([^"]+)"`, 'gm'))
      return [...new Set(Array.from(found, ([, bound]) => bound))].join(' ')
    }
    assert.equal(bounds('http_request'), '0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 +Inf')
    assert.equal(
      bounds('store_operation'),
      '0.00001 0.000025 0.00005 0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.05 0.25 1 +Inf',
    )
  } finally {
    closeConnections()
    await estate.close()
  }
})

test('the build is named: version, Node.js and engine', async () => {
  const estate = await Estate.open(sqliteEngine)
  try {
    const { text } = await estate.ask({ path: '/metrics' })
    const build = /^latchkey_build_info\{version="\d+\.\d+\.\d+[^"]*",node="(\S+)",engine="embedded"\} 1$/m.exec(text)
    assert.equal(build?.[1], process.versions.node)
  } finally {
    closeConnections()
    await estate.close()
  }
})
