// Whether a line of an import can become a token: by itself, next to the lines before it, and next to what is in the store.

import { Recent } from '../../tokens/model/clock-cache.ts'
import { Failure, reasonOf } from '../../tokens/model/errors.ts'
import { decodeText } from '../../tokens/model/fields.ts'
import type { Account } from '../../tokens/model/token.ts'
import { newTokenFields } from '../../tokens/model/update.ts'
import type { BulkToken, Operator } from '../../tokens/service/operator.ts'
import { readLine } from './import-line.ts'
import { SeenTexts } from './seen-texts.ts'

/** Sub-accounts whose accounts are remembered. */
const MAX_OWNERS = 20_000

export type Checked = { readonly token: BulkToken } | { readonly problem: string } | 'unchanged' | 'blank'

/** Checks each line by itself, and against the store. */
export function makeChecker(operator: Operator, looksForCredentials: boolean) {
  const owners = new Recent<string, Promise<Account | undefined>>(MAX_OWNERS)
  const findOwner = async (subAccountId: string) => {
    const accountId = await operator.findOwner(subAccountId)
    return accountId === undefined ? undefined : operator.getAccount(accountId)
  }
  const ownerOf = (subAccountId: string) => {
    const known = owners.get(subAccountId) ?? findOwner(subAccountId)
    owners.set(subAccountId, known)
    return known
  }

  const checkAlone = async (bytes: Buffer): Promise<Checked> => {
    try {
      const text = decodeText(bytes)
      if (text === undefined) return { problem: 'not valid UTF-8' }
      if (text.trim() === '') return 'blank'
      const line = readLine(text)
      // Rejects invalid metadata or an invalid policy for this line, instead of for the whole batch.
      newTokenFields(line)
      const account = await ownerOf(line.subAccountId)
      if (account === undefined) return { problem: `sub-account ${line.subAccountId} does not exist` }
      if (account.credentials === 'once' && line.credential === undefined) {
        return { problem: `credential is required: ${account.id} stores none, and an import shows no new ones` }
      }
      return { token: { ...line, accountId: account.id } }
    } catch (error) {
      if (error instanceof Failure && error.code === 'invalid-request') return { problem: error.message }
      throw error
    }
  }

  return async (lines: readonly Buffer[]): Promise<Checked[]> => {
    const checked = await Promise.all(lines.map(checkAlone))
    const tokenOf = (each: Checked) => (typeof each === 'object' && 'token' in each ? each.token : undefined)
    const tokens = checked.map(tokenOf).filter((token) => token !== undefined)
    const found = await compareWithStore(operator, tokens, looksForCredentials)
    const taken = new Map<BulkToken | undefined, Checked | undefined>(tokens.map((token, n) => [token, found[n]]))
    return checked.map((each) => taken.get(tokenOf(each)) ?? each)
  }
}

/**
 * Undefined if neither the name nor, where it is looked for, the credential is taken. Names first: a token that is found by its
 * name is then found by its credential too, even if another process has just created it.
 */
export async function compareWithStore(operator: Operator, tokens: readonly BulkToken[], looksForCredentials = true) {
  const sameNames = await operator.findByNames(tokens.map(({ subAccountId, name }) => ({ subAccountId, name })))
  return Promise.all(
    tokens.map(async ({ credential, status }, n): Promise<'unchanged' | { readonly problem: string } | undefined> => {
      const sameName = sameNames[n]
      const isLookedFor = credential !== undefined && (looksForCredentials || sameName !== undefined)
      const sameCredential = isLookedFor ? await operator.findByCredential(credential) : undefined
      if (sameName !== undefined && sameName.id === sameCredential?.id) {
        if (status === undefined || status === sameName.status) return 'unchanged'
        return { problem: `the token is there already and ${sameName.status}, and an import changes no token` }
      }
      if (sameName !== undefined) return { problem: reasonOf('duplicate-name') }
      return sameCredential && { problem: reasonOf('duplicate-credential') }
    }),
  )
}

/** Compares a line with the good lines before it. */
export function makeRepeatCheck(): (token: BulkToken) => string | undefined {
  const names = new SeenTexts()
  const credentials = new SeenTexts()
  return ({ subAccountId, name, credential }) => {
    const owned = `${subAccountId} ${name}`
    if (names.has(owned)) return 'an earlier line has the same name for this sub-account'
    if (credential !== undefined && !credentials.add(credential)) return 'an earlier line has the same credential'
    names.add(owned)
    return undefined
  }
}
