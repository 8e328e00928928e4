// What the schemas of operations are made of. A schema is the type, the list of fields that are sent, and the description; its title is
// its name in the API description and in generated clients.
import { Type } from 'typebox'
import { reasonOf } from '../tokens/model/errors.ts'
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE } from '../tokens/model/page.ts'

export const text = (description: string, example?: string) =>
  Type.String(example === undefined ? { description } : { description, examples: [example] })
/** The serializer formats a Date faster than `toISOString` does. */
export const time = (description: string) =>
  Type.Unsafe<Date | string>(Type.String({ description, format: 'date-time', examples: ['2026-01-31T09:30:00.000Z'] }))
/** A list of types: for a union, the serializer would validate every value. */
export const orNull = (schema: object) => Type.Unsafe<string | null>({ ...schema, type: ['string', 'null'] })
export const timeOrNull = (description: string) => orNull({ format: 'date-time', description })
export const count = (description: string) => Type.Integer({ description, examples: [1] })
export const oneOf = <Value extends string>(values: readonly Value[], description: string, example = values[0]) =>
  Type.Unsafe<Value>(Type.String({ enum: [...values], description, examples: [example] }))

export function pageFields<Item extends ReturnType<typeof Type.Object>>(item: Item) {
  return {
    items: Type.Array(item),
    total: count('All matches on all pages, exactly'),
    page: count('The number of this page, from 1'),
    limit: Type.Integer({ description: 'How many items a page can hold', examples: [10] }),
    totalPages: count('0 where nothing matches'),
    hasNextPage: Type.Boolean(),
    hasPrevPage: Type.Boolean(),
  }
}

export const PageParameters = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1, description: 'From 1; 1 unless set' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description: `Items per page, at most ${MAX_LIMIT}; ${DEFAULT_LIMIT} unless set`,
    }),
  ),
}

export const NOT_YOURS = [reasonOf('sub-account-forbidden')]

export const ifMatch = (description: string) => Type.Object({ 'if-match': Type.Optional(Type.String({ description })) })

const RETRY =
  'A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller; 409 where that ' +
  'would show a credential or key that is not stored'

export const IDEMPOTENCY_KEY = {
  'idempotency-key': Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: RETRY })),
}

export const etag = (description: string) => ({ ETag: { type: 'string', description } })
