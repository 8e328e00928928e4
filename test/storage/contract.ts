// What every engine must do, whatever it is made of: the guarantees of src/tokens/service/store.ts, one by one. An engine's
// own test file hands over a function that opens an empty store.
import { after, before, describe } from 'node:test'
import { Estate, type OpenEmptyStore, type TestStore } from '../support/store.ts'
import { describeAccounts } from './contract/accounts.ts'
import { describeAuthority } from './contract/authority.ts'
import { describeConcurrency, describeInsertedAtOnce } from './contract/concurrency.ts'
import { describeExports } from './contract/exports.ts'
import { describeHistory } from './contract/history.ts'
import { describeIdempotency } from './contract/idempotency.ts'
import { describeLimits } from './contract/limits.ts'
import { describeListing } from './contract/listing.ts'
import { describeListingProperties } from './contract/listing-properties.ts'
import { describeMasterKeys, describeResealing } from './contract/master-keys.ts'
import { describeOverview } from './contract/overview.ts'
import { describePolicies } from './contract/policies.ts'
import { describeRecentVerifications } from './contract/recent-verifications.ts'
import { describeSearch } from './contract/search.ts'
import { describeSessions } from './contract/sessions.ts'
import { describeSubAccounts } from './contract/sub-accounts.ts'
import { describeTokens } from './contract/tokens.ts'
import { describeUpdateProperties } from './contract/update-properties.ts'
import { describeUsage } from './contract/usage.ts'
import { describeVerification } from './contract/verification.ts'
import { describeNews, describeVerifiers } from './contract/verifiers.ts'
import { describeWebhookStore } from './contract/webhooks.ts'
import { describeWhole } from './contract/whole.ts'

/** A part of the suite. It shares one store with the others, and so only asks about accounts it has made itself. */
export type Part = (estate: () => Estate) => void

/** What partitions change: they divide the tokens, with their search and tags, and the history, and credentials are found by a table of places. */
const inPartitions: Record<string, Part> = {
  tokens: describeTokens,
  'tokens inserted at once': describeInsertedAtOnce,
  listing: describeListing,
  'listing, for any estate and query': describeListingProperties,
  'listing, after any changes': describeUpdateProperties,
  'lists by parts': describeExports,
  'policies, tags and metadata': describePolicies,
  'the overview': describeOverview,
  verification: describeVerification,
  'recent verifications': describeRecentVerifications,
  history: describeHistory,
  news: describeNews,
  'webhooks, claims and what ends soon': describeWebhookStore,
}

const everywhereElse: Record<string, Part> = {
  'accounts and keys': describeAccounts,
  sessions: describeSessions,
  'the authority of a change': describeAuthority,
  'sub-accounts': describeSubAccounts,
  'requests that are repeated': describeIdempotency,
  'what a search finds': describeSearch,
  usage: describeUsage,
  verifiers: describeVerifiers,
  concurrency: describeConcurrency,
}

export function describeStore(name: string, open: OpenEmptyStore): void {
  describe(name, () => {
    describeParts({ ...inPartitions, ...everywhereElse }, open)
    describe('the store as a whole', () => describeWhole(open))
    describe('rates and quotas', () => describeLimits(open))
    describe('master keys', () => describeMasterKeys(open))
  })
}

export function describePartitions(name: string, open: OpenEmptyStore): void {
  describe(name, () => {
    describeParts(inPartitions, open)
    describe('master keys', () => describeResealing(open))
  })
}

/** They share a store. What is described beside them opens many. */
function describeParts(parts: Record<string, Part>, open: OpenEmptyStore): void {
  let opened: TestStore
  let estate: Estate
  before(async () => {
    opened = await open()
    estate = new Estate(opened)
  })
  after(() => opened.close())
  for (const [title, part] of Object.entries(parts)) describe(title, () => part(() => estate))
}
