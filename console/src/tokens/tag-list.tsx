// The tags of a token: each leads to the tokens that have it.
import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import chip from '../ui/chip.module.css'
import { Chips } from '../ui/chips.tsx'
import { cx } from '../ui/cx.ts'
import { Name } from '../ui/name.tsx'
import surface from '../ui/surface.module.css'
import { withTag } from './token-filters.ts'
import { fullName } from './token-words.ts'

const NO_TAGS: readonly string[] = []

export const tagsOf = ({ details }: Token): readonly string[] => details?.tags ?? NO_TAGS

export const TagList = memo(function TagList({ token }: { token: Token }) {
  const tags = tagsOf(token)
  if (tags.length === 0) return null
  return (
    <Chips label={`Tags of ${fullName(token)}`}>
      {tags.map((tag) => (
        <li key={tag}>
          <Link
            to="/tokens"
            search={(previous) => withTag(previous, tag)}
            className={cx(chip.chip, surface.choice)}
            aria-label={`Tokens with the tag ${tag}`}
          >
            <Name>{tag}</Name>
          </Link>
        </li>
      ))}
    </Chips>
  )
})
