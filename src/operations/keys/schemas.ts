// Account keys as they are sent.
import { Type } from 'typebox'
import { ROLES, type Role } from '../../tokens/model/permissions.ts'
import { Permissions, ROLE_DESCRIPTION } from '../permissions.ts'
import { pageFields, text, time, timeOrNull } from '../schemas.ts'

export const Key = Type.Object(
  {
    _id: text('Account key identifier', 'key_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    name: text('What it is for', 'Support desk'),
    ...Permissions,
    role: Type.Unsafe<Role | null>({
      type: ['string', 'null'],
      enum: [...ROLES, null],
      description: `${ROLE_DESCRIPTION}; null where its rights were altered and cannot be read, which lets nobody in`,
      examples: ['viewer'],
    }),
    createdAt: time('Time of creation'),
    expiresAt: timeOrNull('When it stops working; null for never'),
    revokedAt: timeOrNull('Since when it is revoked'),
    lastUsedAt: timeOrNull('Last request with it, to the minute; null for never'),
  },
  { title: 'Key' },
)
export const CreatedKey = Type.Object(
  { ...Key.properties, ...Permissions, key: text('The key itself, shown only once', 'lk_key_…') },
  { title: 'CreatedKey' },
)

export const KeyPage = Type.Object(pageFields(Key), { title: 'KeyPage' })
