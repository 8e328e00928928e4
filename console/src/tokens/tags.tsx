// The tags of a token: each leads to the tokens that have it. On the token's own page they are changed in place.
import { Button, Group, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { Link } from '@tanstack/react-router'
import { memo, useEffect, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { CONFLICT, fieldErrors, isConflict, shortReason } from '../api/errors.ts'
import { usePermissions } from '../api/permissions.ts'
import { etagOf, MASKED } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import chip from '../ui/chip.module.css'
import { Chips } from '../ui/chips.tsx'
import { ChipsInput } from '../ui/chips-input.tsx'
import { cx } from '../ui/cx.ts'
import { keepFocus } from '../ui/focus.ts'
import { Name, Outcome } from '../ui/name.tsx'
import { IconButton } from '../ui/row-buttons.tsx'
import { say } from '../ui/say.ts'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'
import { useToast } from '../ui/toasts.tsx'
import { fullName } from './about-token.tsx'
import { withTag } from './token-search.ts'

const MAX_TAGS = 10
const MAX_TAG_CHARACTERS = 50
const NO_TAGS: readonly string[] = []

const tagsOf = ({ details }: Token): readonly string[] => details?.tags ?? NO_TAGS

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

const EDIT_BUTTON = 'edit-tags'

export function EditableTags({ token }: { token: Token }) {
  const [isEditing, setEditing] = useState(false)
  const { change } = usePermissions()
  useEffect(() => {
    if (isEditing) return () => keepFocus(EDIT_BUTTON)
  }, [isEditing])
  if (isEditing) return <TagsForm token={token} onDone={() => setEditing(false)} />
  return (
    <Group gap={6}>
      {tagsOf(token).length === 0 ? <span className={text.dim}>None</span> : <TagList token={token} />}
      {change && (
        <IconButton
          icon="pencil"
          id={EDIT_BUTTON}
          label={`Change the tags of ${fullName(token)}`}
          onClick={() => setEditing(true)}
        />
      )}
    </Group>
  )
}

function TagsForm({ token, onDone }: { token: Token; onDone: () => void }) {
  const toast = useToast()
  // As they were when the form was opened: a refresh may bring what somebody else has changed meanwhile.
  const [base] = useState(token)
  const form = useForm({
    initialValues: { tags: tagsOf(base) },
    validate: { tags: problemOf },
    validateInputOnChange: true,
  })
  const save = useChange({
    kind: 'token',
    name: token.name,
    send: (client, { tags, ifMatch }: { tags: readonly string[]; ifMatch: string | undefined }) =>
      client.patchToken({ id: token._id, 'if-match': ifMatch, body: { tags }, ...MASKED }),
    onDone({ name }) {
      toast({ text: <Outcome name={name} what="has new tags" /> })
      onDone()
    },
  })
  const leave = () => {
    if (!save.isPending) onDone()
  }
  const submit = form.onSubmit(({ tags }) => {
    // What it has already may be from an attempt whose answer was lost.
    if (!form.isDirty() || JSON.stringify(tags) === JSON.stringify(tagsOf(token))) return leave()
    // The person has seen the other change by now: theirs is sent with the version that includes it.
    const ifMatch = etagOf(isConflict(save.error) ? token : base)
    save.mutate({ tags, ifMatch }, { onError: (error) => form.setErrors({ tags: reasonOf(error) }) })
  })
  // The version that was refused is not the one with the other change.
  const isRead = etagOf(token) !== save.variables?.ifMatch
  const tagsNow = tagsOf(token).length === 0 ? 'none' : <Name>{tagsOf(token).join(', ')}</Name>
  return (
    <form
      onSubmit={submit}
      aria-label={`Tags of ${fullName(token)}`}
      onKeyDown={(event) => {
        if (event.key === 'Escape') leave()
      }}
    >
      <Stack gap={6}>
        <ChipsInput
          size="xs"
          aria-label="Tags"
          placeholder="Type one, then Enter"
          splitChars={[',', '\n']}
          autoFocus
          {...form.getInputProps('tags')}
          value={form.values.tags}
        />
        {isConflict(save.error) && (
          <span className={text.small}>
            {isRead
              ? say`Its tags are now: ${tagsNow}. Saving again replaces them.`
              : 'What has changed is being read …'}
          </span>
        )}
        <Group gap={6}>
          <BusyButton type="submit" size="compact-xs" busy={save.isPending || (isConflict(save.error) && !isRead)}>
            Save tags
          </BusyButton>
          <Button size="compact-xs" variant="default" aria-disabled={save.isPending} onClick={leave}>
            Cancel
          </Button>
        </Group>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !save.isPending ? 'typed' : undefined} />
    </form>
  )
}

function problemOf(tags: readonly string[]): string | undefined {
  if (tags.length > MAX_TAGS) return `At most ${MAX_TAGS} tags are possible; these are ${tags.length}`
  const long = tags.find((tag) => [...tag].length > MAX_TAG_CHARACTERS)
  return long && `“${long}” is too long: a tag has at most ${MAX_TAG_CHARACTERS} characters`
}

function reasonOf(error: unknown): string {
  if (isConflict(error)) return CONFLICT
  return fieldErrors(error, { tags: 'tags' }).tags ?? shortReason(error)
}
