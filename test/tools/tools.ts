// Tools that others wrote, against a live server on each engine. `npm run test:tools`; what they said is written to
// reports/security-tests.md.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { allScenarios } from '../http/all.scenarios.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { Raw } from '../support/raw.ts'
import { beside, ROOT, report, run, writeReport } from './programs.ts'
import { serveVulnerable } from './vulnerable.ts'
import { WORDS } from './words.ts'

const LIST = '/api/v1/apiClient/token'
const folder = mkdtempSync(join(tmpdir(), 'latchkey-tools-'))
let estate: Estate

before(async () => {
  estate = await Estate.open(sqliteEngine)
  for (const name of ['One', 'Two', 'Three']) await estate.token({ name })
  writeFileSync(join(folder, 'openapi.json'), (await estate.ask({ path: '/openapi.json' })).text)
})
afterEach((t) => {
  const { passed, error, fullName } = t as TestContext & { error?: Error & { cause?: Error } }
  const reason = (error?.cause ?? error)?.message.trim().split('\n', 1)[0]
  if (!passed) report({ fullName }, '', `**failed**: ${reason}`)
})
after(async () => {
  closeConnections()
  await estate.close()
  rmSync(folder, { recursive: true, force: true })
  writeReport(join(ROOT, 'reports', 'security-tests.md'))
})

const key = () => `Authorization: Bearer ${estate.mine.key}`
const description = () => join(folder, 'openapi.json')

describe('sqlmap', () => {
  const SQLMAP_VERSION = 'sqlmap 1.7.2, level 5, risk 3'
  const SQLMAP = [
    ...['--batch', '--level=5', '--risk=3', '--technique=BEUST', '--threads=2', '--time-sec=5', '--timeout=10'],
    ...['--flush-session', '--disable-coloring', '--ignore-code=400,401,403,404,409,412,413,415', '--skip-waf'],
  ]
  // Its last word: under load it may suspect a delay, and then find that there was none.
  const FOUND = /is vulnerable|identified the following injection point/

  test('finds the control', async (t) => {
    await serveVulnerable(async (url) => {
      const { output } = await run('sqlmap', ['-u', `${url}/?search=o`, '-p', 'search', '--dbms=SQLite', ...SQLMAP])
      assert.match(output, FOUND)
    })
    report(t, SQLMAP_VERSION, 'a parameter that is put into the SQL: found')
  })

  for (const engine of [sqliteEngine, postgresEngine]) {
    describe(`on the ${engine.name} store`, () => {
      let own: Estate
      before(async () => {
        own = await Estate.open(engine)
        for (const name of ['One', 'Two', 'Three']) await own.token({ name })
      })
      after(() => own.close())
      const dbms = `--dbms=${engine === sqliteEngine ? 'SQLite' : 'PostgreSQL'}`
      const JSON_TYPE = 'Content-Type: application/json'
      const FORM = 'Content-Type: application/x-www-form-urlencoded'

      /** A star marks what is tried where it is not a parameter of the query. */
      const targets: Readonly<Record<string, (id: string, subAccount: string) => readonly string[]>> = {
        'search of a list': () => ['-u', `${LIST}?search=o`, '-p', 'search'],
        'status of a list': () => ['-u', `${LIST}?status=active`, '-p', 'status'],
        'subAccountId of a list': (_id, sub) => ['-u', `${LIST}?subAccountId=${sub}`, '-p', 'subAccountId'],
        'page and limit of a list': () => ['-u', `${LIST}?page=1&limit=10`, '-p', 'page,limit'],
        'include and used of a list': () => ['-u', `${LIST}?include=details&used=never`, '-p', 'include,used'],
        'the times of a list': () => [
          ...['-u', `${LIST}?createdFrom=2020-01-01T00:00:00Z&expiresBefore=2030-01-01T00:00:00Z`],
          ...['-p', 'createdFrom,expiresBefore'],
        ],
        'search of sub-accounts': () => ['-u', '/api/v1/apiClient/sub-account?search=o', '-p', 'search'],
        'the id of a token': (id) => ['-u', `${LIST}/${id}*`],
        'the id of a sub-account, for its tokens': (_id, sub) => ['-u', `${LIST}/sub-account/${sub}*`],
        'the id of a sub-account': (_id, sub) => ['-u', `/api/v1/apiClient/sub-account/${sub}*`],
        'the id of a token, for its history': (id) => ['-u', `${LIST}/${id}*/history`],
        'name and status of an update': (id) => [
          ...['-u', `${LIST}/${id}`, '--method=PUT', '-H', JSON_TYPE, '--data', '{"name":"x*","status":"active*"}'],
        ],
        'the fields of a new token': (_id, sub) => [
          ...['-u', LIST, '--method=POST', '-H', JSON_TYPE],
          ...['--data', `{"subAccountId":"${sub}*","name":"x*","expiresAt":"2030-01-01T00:00:00Z*"}`],
        ],
        'the key of a retry': (_id, sub) => [
          ...['-u', LIST, '--method=POST', '-H', JSON_TYPE, '-H', 'Idempotency-Key: a*'],
          ...['--data', `{"subAccountId":"${sub}","name":"same"}`],
        ],
        'the token of an introspection': () => [
          ...['-u', '/oauth2/introspect', '--method=POST', '-H', FORM, '--data', 'token=abc', '-p', 'token'],
        ],
        'the bearer of a verification': () => ['-u', '/api/v1/verify', '-H', 'Authorization: Bearer abc*'],
        'If-Match, X-Request-Id and X-Forwarded-For': (id) => [
          ...['-u', `${LIST}/${id}`, '--method=PUT', '-H', JSON_TYPE, '--data', '{"status":"active"}'],
          ...['-H', 'If-Match: "1*"', '-H', 'X-Request-Id: a*', '-H', 'X-Forwarded-For: 1*'],
        ],
      }
      for (const [what, target] of Object.entries(targets)) {
        test(`finds nothing in ${what}`, async (t) => {
          const { id } = await own.token()
          const args = target(id, own.mine.subAccounts[0].id).map((arg) => (arg.startsWith('/') ? own.url + arg : arg))
          const caller = what.startsWith('the bearer') ? [] : ['-H', `Authorization: Bearer ${own.mine.key}`]
          const before = own.logged.length
          const { output } = await run('sqlmap', [...args, ...caller, dbms, ...SQLMAP])
          const requests = own.logged.length - before
          assert.ok(requests > 200, `${requests} requests`)
          assert.doesNotMatch(output, FOUND)
          assert.match(output, /do not appear to be injectable|does not seem to be injectable/, output.slice(-2_000))
          const faults = own.logged.filter((line) => line.includes('request failed'))
          assert.deepEqual(faults, [])
          const told = `${requests} requests: nothing to inject into, no answer of 5xx`
          report(t, SQLMAP_VERSION, told)
        })
      }
    })
  }
})

test('wapiti finds nothing', async (t) => {
  const file = join(folder, 'wapiti.json')
  const modules = 'backup,blindsql,crlf,csp,exec,file,htaccess,methods,permanentxss,redirect,shellshock,sql,xss,xxe'
  const { id } = await estate.token()
  const before = estate.logged.length
  const starts = [
    `${LIST}?search=o&status=active&page=1&limit=10`,
    `${LIST}/${id}`,
    '/console/',
    '/docs/',
    '/openapi.json',
  ]
  const { output } = await run('wapiti', [
    ...['-u', `${estate.url}/`, ...starts.flatMap((path) => ['-s', `${estate.url}${path}`])],
    ...['-m', modules, '-H', key(), '-f', 'json', '-o', file, '--flush-session', '--max-scan-time', '600', '-v', '0'],
  ])
  const { vulnerabilities, anomalies, infos } = JSON.parse(readFileSync(file, 'utf8'))
  const all = Object.entries({ ...vulnerabilities, ...anomalies }) as [string, object[]][]
  const found = all.filter(([, each]) => each.length > 0)
  assert.deepEqual(found, [], output.slice(-1_000))
  const requests = estate.logged.length - before
  assert.ok(requests > 100, `${requests} requests: ${output.slice(-1_000)}`)
  report(t, infos.version, `${requests} requests of the modules ${modules}: 0 vulnerabilities, 0 anomalies`)
})

describe('slowhttptest', () => {
  const attacks: Readonly<Record<string, readonly string[]>> = {
    'slow headers': ['-H'],
    'slow bodies': ['-B'],
    'overlapping ranges': ['-R'],
    'slow reading': ['-X'],
  }
  for (const [what, args] of Object.entries(attacks)) {
    test(`${what}: everybody else is served`, async (t) => {
      const { credential } = await estate.token()
      const attack = run('slowhttptest', [
        ...[...args, '-c', '1000', '-r', '200', '-i', '5', '-l', '30', '-p', '3', '-u', `${estate.url}${LIST}`],
      ])
      let over = false
      void attack.finally(() => {
        over = true
      })
      const times: number[] = []
      while (!over) {
        const start = performance.now()
        const verdict = await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })
        assert.equal(verdict.status, 204)
        times.push(performance.now() - start)
        await sleep(20)
      }
      const output = stripVTControlCharacters((await attack).output)
      assert.match(output, /service available:\s+YES/)
      assert.doesNotMatch(output, /service available:\s+NO/)
      times.sort((a, b) => a - b)
      const p99 = times[Math.floor(times.length * 0.99)] ?? 0
      const served = `${times.length} of ${times.length} verifications answered 204, p99 ${p99.toFixed(0)} ms`
      report(t, 'slowhttptest 1.8.2', `1,000 connections for 30 s: available throughout; meanwhile ${served}`)
    })
  }
})

test('ffuf finds no path that is not meant to be there', async (t) => {
  const list = join(folder, 'words.txt')
  const file = join(folder, 'ffuf.json')
  writeFileSync(list, WORDS.join('\n'))
  await run('ffuf', [
    '-u',
    `${estate.url}/FUZZ`,
    '-w',
    list,
    '-mc',
    'all',
    '-fc',
    '404',
    '-o',
    file,
    '-of',
    'json',
    '-t',
    '10',
  ])
  const { results } = JSON.parse(readFileSync(file, 'utf8')) as {
    results: { input: { FUZZ: string }; status: number }[]
  }
  const MEANT = /^(|api.*|oauth2\/.*|docs.*|console.*|healthz|readyz|metrics|openapi\.json|%.*)$/
  const found = results.map(({ input, status }) => `${status} ${input.FUZZ}`)
  assert.ok(found.includes('200 healthz'), 'the control')
  assert.deepEqual(
    results.filter(({ input, status }) => status !== 400 && !MEANT.test(input.FUZZ)).map(({ input }) => input.FUZZ),
    [],
  )
  const api = results.filter(({ input }) => input.FUZZ.startsWith('api/'))
  assert.deepEqual(
    api.filter(({ status }) => status !== 401 && status !== 405),
    [],
  )
  report(t, 'ffuf 1.1.0', `${WORDS.length} paths, without a caller: only what is meant to be there; all of the API 401`)
})

test('zzuf: no request with flipped bits causes a 5xx', async (t) => {
  const { id } = await estate.token()
  const body = '{"name":"Flipped","status":"inactive"}'
  const requests = [
    `GET ${LIST}?search=o&page=1&limit=10 HTTP/1.1\r\nHost: x\r\n${key()}\r\nConnection: close\r\n\r\n`,
    `PUT ${LIST}/${id} HTTP/1.1\r\nHost: x\r\n${key()}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `POST /oauth2/introspect HTTP/1.1\r\nHost: x\r\n${key()}\r\nContent-Type: application/x-www-form-urlencoded\r\nConnection: close\r\nContent-Length: 9\r\n\r\ntoken=abc`,
  ]
  const statuses = new Map<number, number>()
  for (const [n, request] of requests.entries()) {
    const file = join(folder, `request-${n}`)
    writeFileSync(file, request)
    for (let seed = 0; seed < 500; seed++) {
      const ratio = ['0.0005', '0.002', '0.01'][seed % 3] ?? '0.01'
      const { output } = await run('zzuf', ['-s', String(seed), '-r', ratio, 'cat', file])
      const raw = await Raw.open(estate.url)
      raw.send(output)
      // A length that was flipped upwards is waited for; the sender hangs up.
      raw.socket.end()
      await raw.ended
      for (const { status } of raw.answers()) statuses.set(status, (statuses.get(status) ?? 0) + 1)
      raw.close()
    }
  }
  const seen = [...statuses].sort(([a], [b]) => a - b)
  assert.deepEqual(
    seen.filter(([status]) => status >= 500),
    [],
  )
  assert.equal((await estate.ask({ path: '/readyz' })).status, 200)
  const counts = seen.map(([status, count]) => `${count} × ${status}`).join(', ')
  report(t, 'zzuf 0.15', `1,500 requests, no 5xx: ${counts}; the others were disconnected without a response`)
})

describe('prism', () => {
  /** Plays the scenario suite through the proxy; what an answer has that is not in the description is a violation. */
  async function violationsOf(file: string): Promise<{ answers: number; violations: string[] }> {
    const port = 20_000 + Math.floor(Math.random() * 20_000)
    const violations = new Set<string>()
    let answers = 0
    const played = await Estate.open(sqliteEngine)
    const args = ['proxy', file, played.url, '--port', String(port), '--host', '127.0.0.1']
    await beside('prism', args, /Prism is listening/, async () => {
      for (const scenario of Object.values(allScenarios).flat()) {
        const ask = await scenario.ask(played)
        // The proxy ends when it is sent one of these.
        if (!isDecodable(ask.path)) continue
        // What is too odd for it never comes back; what it answers itself has a type.
        const heard = await Promise.race([
          send(`http://127.0.0.1:${port}`, ask).catch(() => undefined),
          sleep(3_000, undefined, { ref: false }),
        ])
        if (heard === undefined || heard.json?.type !== undefined) continue
        answers++
        const said = String(heard.headers['sl-violations'] ?? '[]')
        for (const { location, message } of JSON.parse(said) as { location: string[]; message: string }[])
          if (location[0] === 'response') violations.add(`${ask.path.slice(0, 60)}: ${location.join('.')} ${message}`)
      }
    })
    await played.close()
    return { answers, violations: [...violations] }
  }

  test('every answer of the whole scenario suite is as the API description says', async (t) => {
    const { answers, violations } = await violationsOf(description())
    assert.deepEqual(violations, [])
    assert.ok(answers > 200, String(answers))
    report(t, 'prism 5.16.0', `${answers} answers, all as described`)
  })

  test('a description that lacks an answer, or asks for a field too many, is found out', async () => {
    const altered = JSON.parse(readFileSync(description(), 'utf8'))
    const list = altered.paths['/api/v1/apiClient/token'].get.responses
    delete list['403']
    altered.components.schemas.TokenPageResponse.required.push('nothing')
    const file = join(folder, 'altered.json')
    writeFileSync(file, JSON.stringify(altered))
    const { violations } = await violationsOf(file)
    assert.ok(violations.some((each) => each.includes('nothing')))
    assert.ok(violations.some((each) => each.includes('status code')))
  })
})

test('promtool has nothing to say about the metrics, and finds a gauge that is named like a counter', async (t) => {
  const check = async (text: string) => {
    const file = join(folder, 'metrics.txt')
    writeFileSync(file, text)
    return run('sh', ['-c', 'promtool check metrics < "$0"', file])
  }
  estate.running.metrics.watchPools(() => ({ reads: { inUse: 0, idle: 0, waiting: 0, max: 1 } }))
  const { output, code } = await check(await estate.running.metrics.text())
  assert.deepEqual([code, output], [0, ''], 'promtool is in the Debian package prometheus')
  const control = await check('# HELP tokens_total Tokens\n# TYPE tokens_total gauge\ntokens_total 1\n')
  assert.match(control.output, /non-counter metrics should not have "_total" suffix/)
  report(t, 'promtool 2.42.0', 'no naming problem; a gauge named like a counter was found')
})

test('spectral with the OWASP rules has nothing to say about the API description', async (t) => {
  const { output, code } = await run('spectral', [
    'lint',
    description(),
    '-r',
    join(import.meta.dirname, 'spectral.yaml'),
    '-F',
    'warn',
  ])
  assert.equal(code, 0, output)
  report(t, 'spectral 6.16.3', '0 errors, 0 warnings; rules switched off: see test/tools/spectral.yaml')
})

test('redocly has nothing to say about the API description', async (t) => {
  const { output, code } = await run('redocly', [
    'lint',
    description(),
    '--config',
    join(import.meta.dirname, 'redocly.yaml'),
  ])
  assert.equal(code, 0, output)
  assert.doesNotMatch(output, /warning/)
  report(t, 'redocly 2.73.0', '0 errors, 0 warnings; rules switched off: see test/tools/redocly.yaml')
})

test('csp_evaluator has nothing to say about the policies of the pages', async (t) => {
  const load = async (name: string) =>
    (await import(`./node_modules/csp_evaluator/dist/${name}.js`)) as Record<string, never>
  const { CspParser } = (await load('parser')) as unknown as { CspParser: new (policy: string) => { csp: object } }
  const { CspEvaluator } = (await load('evaluator')) as unknown as {
    CspEvaluator: new (csp: object) => { evaluate(): { severity: number; description: string; directive: string }[] }
  }
  const evaluate = (policy: string) => new CspEvaluator(new CspParser(policy).csp).evaluate()
  // 10 is high, 20 a syntax error, 30 medium; higher numbers are less.
  const grave = (policy: string) => evaluate(policy).filter(({ severity }) => severity <= 45)
  assert.ok(grave("script-src 'unsafe-inline' *").length > 0, 'the control')
  for (const path of ['/console/', '/docs/']) {
    const policy = String((await estate.ask({ path })).headers['content-security-policy'])
    assert.deepEqual(grave(policy), [], path)
  }
  report(t, 'csp_evaluator 1.1.8', '/console/ and /docs/: nothing of high or medium severity')
})

test('npm audit knows nothing against any dependency', async (t) => {
  for (const prefix of ['.', 'test/tools', 'bench']) {
    const { output, code } = await run('npm', ['audit', '--prefix', prefix, '--audit-level=high'])
    assert.equal(code, 0, output.replace(/^npm warn.*\n/gm, '').replace(/https?:\S+/g, 'the registry'))
  }
  report(t, 'npm audit', 'the product, its tools, the benchmark: nothing high or critical')
})

test('lockfile-lint: every package comes whole, under its own name, from the registry', async (t) => {
  for (const lock of ['package-lock.json', 'test/tools/package-lock.json', 'bench/package-lock.json']) {
    const args = [
      '--path',
      lock,
      '--type',
      'npm',
      '--validate-integrity',
      '--validate-package-names',
      '--allowed-hosts',
      'npm',
    ]
    const { output, code } = await run('lockfile-lint', args)
    assert.equal(code, 0, output)
  }
  report(t, 'lockfile-lint 5.0.1', 'three lock files: no issues')
})

test('secretlint: no secret is in any file of the repository', async (t) => {
  const files = (await run('git', ['ls-files'])).output
    .split('\n')
    .filter((file) => /\.\w+$/.test(file) && !/\.(png|woff2)$/.test(file))
  const config = join(import.meta.dirname, 'secretlint.json')
  const { output, code } = await run('secretlint', ['--secretlintrc', config, ...files])
  assert.equal(code, 0, output)
  const canary = join(folder, 'canary.txt')
  writeFileSync(
    canary,
    `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEpAIBAAKCAQEA'.repeat(20)}\n-----END RSA PRIVATE KEY-----\n`,
  )
  assert.notEqual((await run('secretlint', ['--secretlintrc', config, canary])).code, 0, 'the control')
  report(t, 'secretlint 13.0.6', `${files.length} files: no secrets; the control is found`)
})

function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== ''
  } catch {
    return false
  }
}
