// The schemas of bulk operations.
import { Type } from 'typebox'
import { BULK_ACTIONS, MAX_BULK_IDS, MAX_REASON_CHARACTERS } from '../../tokens/bulk/bulk.ts'
import { count, oneOf, orNull, pageFields, text, time, timeOrNull } from '../schemas.ts'
import { ExtraFilters, Filters } from '../tokens/parameters.ts'
import { Token } from '../tokens/schemas.ts'

/** Those of the list, and `ids`. */
const Filter = Type.Object(
  {
    subAccountId: Type.Optional(Type.String({ description: 'Only tokens of this sub-account' })),
    ...Filters,
    ...ExtraFilters,
    ids: Type.Optional(Type.Array(Type.String(), { maxItems: MAX_BULK_IDS, description: 'Only these tokens' })),
  },
  {
    title: 'BulkFilter',
    description: 'The parameters of the token list, or ids, without any that filters nothing; `{}` for all tokens',
  },
)

export const BulkRequest = Type.Object(
  {
    action: Type.String({
      enum: [...BULK_ACTIONS],
      description: '`expire` sets `expiresAt` to the time of the request, unless it is earlier',
    }),
    filter: Filter,
    dryRun: Type.Optional(Type.Boolean({ default: false, description: 'Count only, and change nothing' })),
    expectedTotal: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Go ahead only if the filter matches exactly so many tokens' }),
    ),
    reason: Type.Optional(
      Type.String({ maxLength: MAX_REASON_CHARACTERS, description: 'In each row of the history, as `to.reason`' }),
    ),
  },
  { title: 'BulkRequest' },
)

export const Bulk = Type.Object(
  {
    _id: text(
      'Operation identifier; in each row of the history, as `to.operation`',
      'blk_019b2f0c5a3c8e1d2c3b4a5f6e7d',
    ),
    action: oneOf(BULK_ACTIONS, 'What is done to each token'),
    status: oneOf(
      ['running', 'done', 'undone', 'failed'],
      '`done` and `undone`: every verifier has confirmed it, too',
      'running',
    ),
    total: count('The tokens that the filter matched'),
    done: count('How many of them were changed'),
    skipped: count('How many were so already, were changed or deleted by others, or are not matched any more'),
    filter: Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      additionalProperties: true,
      description: 'As it was sent',
      examples: [{ idleDays: '90' }],
    }),
    reason: orNull({ description: 'As it was sent' }),
    createdAt: time('When it was accepted'),
    endedAt: timeOrNull('When it was over'),
    by: text(
      'Who has ordered it: the id of an account key, `operator`, or `jwt:` or `oidc:` and the subject',
      'key_019b2f0c5a3c8e1d2c3b4a5f6e7d',
    ),
    byName: orNull({ description: 'What the key was called, or the e-mail address of the person' }),
    undo: Type.Union(
      [
        Type.Object({
          restored: count('How many tokens have again what they had before'),
          kept: count('How many were changed or deleted since, and stay so'),
        }),
        Type.Null(),
      ],
      { description: 'Null unless it is undone', examples: [null] },
    ),
    failedBecause: orNull({
      enum: ['revoked', 'altered', 'restored', null],
      description:
        '`revoked`: the key or session by which it was ordered has ended. `altered`: its row was changed in the database. ' +
        '`restored`: the store was restored to an earlier state',
    }),
  },
  { title: 'BulkOperation' },
)

const { _id, name, subAccount, status } = Token.properties
export const BulkPreview = Type.Object(
  {
    total: count('The tokens that the filter matches'),
    sample: Type.Array(Type.Object({ _id, name, subAccount, status }, { title: 'BulkToken' }), {
      description: 'The newest ten of them',
    }),
  },
  { title: 'BulkPreview' },
)
export const BulkPage = Type.Object(pageFields(Bulk), { title: 'BulkPage' })
