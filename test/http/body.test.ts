// How a body may be sent: as it is, in UTF-8. And paths whose slashes are escaped.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'
import { failure, refusal } from './scenario.ts'

const TOKENS = '/api/v1/apiClient/token'

describe('a request', () => {
  let estate: Estate
  let path: string
  before(async () => {
    estate = await Estate.open(sqliteEngine)
    path = `${TOKENS}/${(await estate.token()).id}`
  })
  after(async () => {
    closeConnections()
    await estate.close()
  })

  const put = (...headers: (readonly [string, string])[]) =>
    estate.mineAsks({ method: 'PUT', path, headers, body: '{"status":"inactive"}' })
  const statusOf = async () => (await estate.mineAsks({ path })).json.data.status

  for (const coding of ['gzip', 'br', 'GZIP', 'identity, gzip', 'x-unknown']) {
    test(`with a body in the content coding ${coding} is refused and changes nothing`, async () => {
      const heard = await put(['content-type', 'application/json'], ['content-encoding', coding])
      assert.equal(heard.status, 415)
      assert.equal(heard.headers['accept-encoding'], 'identity')
      refusal('unsupported-media-type', /Content-Encoding/)(heard)
      assert.equal(await statusOf(), 'active')
    })
  }

  for (const type of ['charset=utf-16', 'charset=iso-8859-1', 'charset="latin1"', 'x=y; CharSet = utf-7', 'charset=']) {
    test(`with a body of ${type} is refused and changes nothing`, async () => {
      const heard = await put(['content-type', `application/json; ${type}`])
      assert.equal(heard.status, 415)
      refusal('unsupported-media-type', /UTF-8/)(heard)
      assert.equal(await statusOf(), 'active')
    })
  }

  test('with a form in another charset or a content coding is refused too', async () => {
    const introspect = (type: string, ...headers: (readonly [string, string])[]) =>
      estate.mineAsks({
        method: 'POST',
        path: '/oauth2/introspect',
        body: 'token=x',
        headers: [['content-type', `application/x-www-form-urlencoded${type}`], ...headers],
      })
    assert.equal((await introspect('')).status, 200)
    assert.equal((await introspect('; charset=UTF-8')).status, 200)
    assert.equal((await introspect('; charset=utf-16')).status, 415)
    assert.equal((await introspect('', ['content-encoding', 'deflate'])).status, 415)
  })

  test('with a content coding but without a body is answered as one without', async () => {
    const headers = [
      ['content-encoding', 'gzip'],
      ['content-type', 'application/json; charset=utf-16'],
    ] as const
    const heard = await estate.mineAsks({ method: 'PUT', path, headers })
    assert.deepEqual([heard.status, heard.json.error.message], [400, 'No valid fields to update'])
  })

  test('with a body in UTF-8 is read, however that is written', async () => {
    for (const type of ['', '; charset=utf-8', ';charset=UTF-8', '; charset="utf-8"', '; x=y']) {
      const heard = await put(['content-type', `application/json${type}`], ['content-encoding', 'identity'])
      assert.equal(heard.status, 200, type)
    }
  })

  test('to a path with escaped slashes is to an unknown route, which allows no method', async () => {
    for (const unknown of [
      '/api%2fv1/apiClient/token',
      `${TOKENS}%2Ftok_x/history`,
      '/openapi.json%2f',
      '/%2fmetrics',
    ]) {
      for (const method of ['GET', 'PATCH']) {
        const heard = await estate.mineAsks({ method, path: unknown })
        assert.equal(heard.status, 404, `${method} ${unknown}`)
        assert.deepEqual(heard.json, failure('Not found', 'Route not found'))
        assert.equal(heard.headers.allow, undefined)
      }
    }
    // An id may hold one.
    const other = await estate.ask({ method: 'MKCOL', path: `${TOKENS}/tok%2fx`, headers: [bearer(estate.mine.key)] })
    assert.deepEqual([other.status, other.headers.allow], [405, 'GET, HEAD, PUT, PATCH, DELETE'])
  })
})
