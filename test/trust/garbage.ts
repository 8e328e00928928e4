// What nobody would send: texts, queries and bodies at random, and good ones that were spoiled.
import { anyCharacter, fc } from '../support/properties.ts'

/** What a header can carry at all: a byte a character, no control characters. */
export const headerText = fc
  .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.constant(9), fc.integer({ min: 0x80, max: 0xff })), {
    maxLength: 80,
  })
  .map((codes) => String.fromCharCode(...codes))

export const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ maxLength: 300 }),
  fc.constantFrom('\0', '\ud800', '\u202e', '%', '%00', '%zz', '__proto__', 'constructor', "' OR 1=1 --", '../..'),
)

/** Percent-encoded rightly, not at all, or in ways that do not decode. */
export const queryText = fc.oneof(
  anyText.map((text) => encodeURIComponent(text.toWellFormed())),
  fc.string({ unit: fc.constantFrom(...'%&=+[]{}"\'\\/.0123456789abcdefXYZ'), maxLength: 40 }),
)

/** A text with a few characters taken out, doubled, or replaced. */
export const mangled = (texts: fc.Arbitrary<string>) =>
  fc
    .tuple(
      texts,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '\0', 'é', ' ', '\n')), {
        maxLength: 3,
      }),
    )
    .map(([text, edits]) => {
      let result = text
      for (const [index, put] of edits) {
        const at = index % (result.length + 1)
        result = result.slice(0, at) + put + result.slice(at + 1)
      }
      return result
    })

export const fieldNames = fc.constantFrom(
  'name',
  'status',
  'subAccountId',
  'expiresAt',
  'overlapSeconds',
  'metadata',
  'tags',
  'policy',
  '_id',
  '__proto__',
  'token',
  'email',
)
/** Policies that are nearly right. */
const policies = fc.record(
  {
    scopes: fc.oneof(fc.array(fc.oneof(fc.constantFrom('a', 'a:*', '*', 'a b'), anyText), { maxLength: 3 }), anyText),
    addresses: fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.0/8', '::/129', '1.2.3.4/8'), anyText), {
      maxLength: 3,
    }),
    rate: fc.record({ limit: fc.oneof(fc.integer(), fc.double()), seconds: fc.integer() }, { requiredKeys: [] }),
    quota: fc.record({ limit: fc.maxSafeInteger(), per: fc.oneof(fc.constantFrom('day', 'ever'), anyText) }),
    maxLifetimeSeconds: fc.oneof(fc.integer(), fc.jsonValue()),
  },
  { requiredKeys: [] },
)
export const fieldValues = fc.oneof(
  anyText,
  fc.jsonValue(),
  policies,
  fc.array(anyText, { maxLength: 12 }),
  fc.constantFrom('active', 'inactive', null, Number.MAX_VALUE, -0, '2030-01-01T00:00:00Z'),
)
const jsonText = fc.oneof(
  fc.dictionary(fc.oneof(fieldNames, anyText), fieldValues, { maxKeys: 5 }).map((value) => JSON.stringify(value)),
  fc.json(),
)
export const bodies = fc.oneof(
  jsonText,
  mangled(jsonText),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.nat(3_000).map((depth) => `${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`),
)

export const mostly = <Value>(value: Value, others: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: others })
