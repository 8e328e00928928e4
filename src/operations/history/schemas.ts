// The history as it is sent.
import { Type } from 'typebox'
import { ACTIONS } from '../../tokens/history/actions.ts'
import type { Json, JsonObject } from '../../tokens/model/fields.ts'
import { count, oneOf, orNull, pageFields, text, time } from '../schemas.ts'

const facts = (description: string, example: JsonObject) =>
  Type.Record(Type.String(), Type.Unsafe<Json>({}), { description, examples: [example] })
const POSITION = "Counts the account's entries; an opaque text for callers who see only some of them"
const HistorySubAccount = Type.Unsafe<{ _id: string; name: string } | null>({
  type: ['object', 'null'],
  properties: { _id: text('Sub-account identifier'), name: text('Its present name', 'Berlin agency') },
  required: ['_id', 'name'],
  description: 'The sub-account that was changed, or whose token was; null for neither',
})
export const HistoryEntry = Type.Object(
  {
    seq: Type.Unsafe<number | string>({ ...count(POSITION), type: ['integer', 'string'] }),
    at: time('When'),
    by: text(
      'An account key id, `jwt:` or `oidc:` and a subject, `leak:` and who has reported it, or `operator`',
      'key_019b2f0c5a3c8e1d2c3b4a5f6e7d',
    ),
    byName: orNull(text('The name of that account key then, or the e-mail address of the person', 'Console')),
    action: oneOf(ACTIONS, 'What was done', 'token.update'),
    subject: text('The id of what was changed', 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    subjectName: orNull(text('What it was called then, after the change', 'CI pipeline')),
    subAccount: HistorySubAccount,
    from: facts('The fields that changed, as they were before', { status: 'active' }),
    to: facts('The same fields after the change', { status: 'inactive' }),
    requestId: orNull(text('The X-Request-Id of the change')),
    address: orNull(text('The address it came from')),
  },
  { title: 'HistoryEntry' },
)

/** For entries of earlier versions, which have no `byName` and `subjectName`. */
const Names = Type.Record(Type.String(), Type.String(), {
  description: 'The present names of the tokens, sub-accounts and account keys that the entries mention, by id',
  examples: [{ tok_019b2f0c5a3c8e1d2c3b4a5f6e7d: 'CI pipeline' }],
})

export const HistoryPage = Type.Object({ ...pageFields(HistoryEntry), names: Names }, { title: 'HistoryPage' })
