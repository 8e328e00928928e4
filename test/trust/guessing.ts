// Guessing: strings that look like credentials, at any length of the run. What reaches the store is counted there.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Registry } from '../../src/tokens/service/registry.ts'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { anAccount, openService, type TestService } from '../support/service.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function randomText(length: number): string {
  let text = ''
  for (const byte of randomBytes(length)) text += ALPHABET.charAt(byte % 62)
  return text
}

export function describeGuessing(guesses: number): void {
  describe('guessing', () => {
    let service: TestService
    let registry: Registry
    let looked = 0
    let real = ''
    before(async () => {
      service = await openService()
      const { caller, subAccount, key } = await anAccount(service)
      const origin = service.operator.origin()
      const fields = { subAccountId: subAccount.id, name: 'Real' }
      real = (await service.registry.createToken(caller, fields, origin)).credential
      const { store, stamps, keys } = service.opened
      const counted = {
        ...store,
        findCandidate: (presented: string) => {
          looked++
          return store.findCandidate(presented)
        },
        findKey: (presented: string) => {
          looked++
          return store.findKey(presented)
        },
      }
      registry = new Registry({ store: counted, stamps, keys, now: () => service.clock.now, onTampered() {} })
      // The controls: what is real is looked up, and let in.
      assert.equal((await registry.verification.verify(real)).accepted, true)
      assert.equal((await registry.authenticate(key.key)).accountId, caller.accountId)
      assert.equal(looked, 2)
    })
    after(() => service.opened.close())

    const isRefused = async (guess: string): Promise<boolean> => {
      const verdict = await registry.verification.verify(guess)
      const caller = await registry.authenticate(guess).catch(() => undefined)
      return !verdict.accepted && caller === undefined
    }

    test(`of ${guesses} random strings of our form none gets in, and next to none is looked up`, async (t) => {
      looked = 0
      let accepted = 0
      for (let n = 0; n < guesses; n++) {
        const guess = n % 2 === 0 ? `lk_tok_${randomText(49)}` : `lk_key_${randomText(49)}`
        if (!(await isRefused(guess))) accepted++
      }
      t.diagnostic(`${guesses} guesses, ${accepted} accepted, ${looked} looked up`)
      assert.equal(accepted, 0)
      // The checksum lets one in four thousand million through, here once for each of two questions.
      assert.ok(looked <= 2)
    })

    test('nor do those next to a real one: a letter changed, left out, added, or in the other case', async () => {
      looked = 0
      for (let index = 0; index < real.length; index++) {
        const letter = real.charAt(index)
        const swapped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
        const others = [letter === 'x' ? 'y' : 'x', '', `${letter}0`, ...(swapped === letter ? [] : [swapped])]
        for (const other of others) {
          const guess = real.slice(0, index) + other + real.slice(index + 1)
          if (guess !== real) assert.ok(await isRefused(guess), guess)
        }
      }
    })

    test('one who knows the checksum, or the form of an imported one, is looked up and refused', async () => {
      const count = Math.ceil(guesses / 20)
      looked = 0
      for (let n = 0; n < count; n++) {
        assert.ok(await isRefused(n % 2 === 0 ? newCredential('tok') : randomBytes(24).toString('base64url')))
      }
      assert.equal(looked, 2 * count)
    })
  })
}
