// The peers: started on stores of their own, of the large estate's size, and asked for their own equivalents.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Part, Script } from './client.ts'
import type { Shape } from './estate.ts'
import { get, put, withBody } from './requests.ts'
import { Server } from './server.ts'
import type { WorkloadName } from './workloads.ts'

export interface Peer {
  readonly name: string
  readonly title: string
  readonly server: Server
  readonly scripts: Readonly<Partial<Record<WorkloadName, Script>>>
  /** How many times its processor time Latchkey should at least save. */
  readonly ahead: number
}

const FIRST_PAGES = 10
/** A million rows through an ORM. */
const SEEDING_MS = 20 * 60_000
const CHANGED = 500

export async function startPeers(folder: string, work: string, shape: Shape): Promise<Peer[]> {
  const home = join(folder, `peers-${shape.accounts}x${shape.subAccounts}x${shape.tokens}`)
  mkdirSync(home, { recursive: true })
  const start = (name: string, ...sizes: number[]) =>
    Server.start({
      name,
      args: [join(import.meta.dirname, 'peers', `${name}.mjs`), home, ...sizes.map(String)],
      log: join(work, `${name}.log`),
      readyMs: SEEDING_MS,
    })
  const betterAuth = await start('better-auth', shape.accounts, shape.tokens)
  const express = await start('express', shape.accounts, shape.subAccounts, shape.tokens)
  const sampled = <Account>(name: string) => JSON.parse(readFileSync(join(home, `${name}.json`), 'utf8')) as Account[]
  return [
    {
      name: 'better-auth',
      title: "better-auth's API-key plugin",
      server: betterAuth,
      scripts: betterAuthScripts(sampled('better-auth')),
      ahead: 20,
    },
    {
      name: 'express',
      title: 'Express, Kysely, COUNT and OFFSET',
      server: express,
      scripts: expressScripts(sampled('express')),
      ahead: 5,
    },
  ]
}

interface BetterAuthAccount {
  readonly cookie: string
  readonly items: readonly { readonly id: string; readonly key: string; readonly name: string }[]
}

function betterAuthScripts(accounts: readonly BetterAuthAccount[]): Peer['scripts'] {
  const list = (cookie: string, page: number) =>
    `GET /api/auth/api-key/list?limit=10&offset=${10 * page} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ${cookie}\r\n\r\n`
  const update = (cookie: string, body: object) =>
    withBody('POST', '/api/auth/api-key/update', `Cookie: ${cookie}`, body)
  return {
    verify: [
      {
        share: 1,
        status: 204,
        groups: accounts.map(({ items }) => items.slice(CHANGED).map(({ key }) => get('/verify', key))),
      },
    ],
    list: [
      listed(
        accounts.map(
          ({ cookie }) =>
            (page) =>
              list(cookie, page),
        ),
      ),
    ],
    put: [
      {
        share: 1,
        status: 200,
        inPairs: true,
        groups: accounts.map(({ cookie, items }) =>
          items
            .slice(0, CHANGED)
            .flatMap(({ id: keyId, name }, i) =>
              (i % 5 === 0 ? [{ name: `${name} new` }, { name }] : [{ enabled: false }, { enabled: true }]).map(
                (body) => update(cookie, { keyId, ...body }),
              ),
            ),
        ),
      },
    ],
  }
}

interface ExpressAccount {
  readonly key: string
  readonly items: readonly { readonly id: string; readonly name: string; readonly status: string }[]
}

function expressScripts(accounts: readonly ExpressAccount[]): Peer['scripts'] {
  const base = '/api/v1/apiClient/token'
  return {
    list: [
      listed(
        accounts.map(
          ({ key }) =>
            (page) =>
              get(`${base}?page=${page + 1}&limit=10`, key),
        ),
      ),
    ],
    put: [
      {
        share: 1,
        status: 200,
        inPairs: true,
        groups: accounts.map(({ key, items }) =>
          items
            .slice(0, CHANGED)
            .flatMap(({ id, name }, i) =>
              (i % 5 === 0
                ? [{ name: `${name} renamed` }, { name }]
                : [{ status: 'inactive' }, { status: 'active' }]
              ).map((body) => put(`${base}/${id}`, key, body)),
            ),
        ),
      },
    ],
  }
}

/** Pages by Zipf's law: the nth page stands in its group as often as 1/n of the first. */
function listed(accounts: readonly ((page: number) => string)[]): Part {
  const pages = Array.from({ length: FIRST_PAGES }, (_, page) => new Array(Math.round(2520 / (page + 1))).fill(page))
  return { share: 1, status: 200, groups: accounts.map((request) => pages.flat().map(request)) }
}
