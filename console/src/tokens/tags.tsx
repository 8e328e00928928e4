// The tags of a token on its own page, where they are changed in place.
import { useForm } from '@mantine/form'
import type { Token } from '../../../client/latchkey-client.ts'
import { fieldReason } from '../api/errors.ts'
import { etagOf, MASKED } from '../api/queries.ts'
import { useEdit } from '../api/use-edit.ts'
import { ChipsInput } from '../ui/chips-input.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import text from '../ui/text.module.css'
import { useToast } from '../ui/toasts.tsx'
import { InPlace } from './in-place.tsx'
import { InPlaceForm } from './in-place-form.tsx'
import { TagList, tagsOf } from './tag-list.tsx'
import { fullName } from './token-words.ts'

const MAX_TAGS = 10
const MAX_TAG_CHARACTERS = 50
export function EditableTags({ token }: { token: Token }) {
  return (
    <InPlace token={token} what="tags" form={(onDone) => <TagsForm token={token} onDone={onDone} />}>
      {tagsOf(token).length === 0 ? <span className={text.dim}>None</span> : <TagList token={token} />}
    </InPlace>
  )
}

function TagsForm({ token, onDone }: { token: Token; onDone: () => void }) {
  const toast = useToast()
  const form = useForm({
    initialValues: { tags: tagsOf(token) },
    validate: { tags: tagsProblem },
    validateInputOnChange: true,
  })
  const edit = useEdit({
    kind: 'token',
    name: token.name,
    now: { ifMatch: etagOf(token) },
    send: (client, tags: readonly string[], ifMatch) =>
      client.patchToken({ id: token._id, 'if-match': ifMatch, body: { tags }, ...MASKED }),
    isThere: (tags) => JSON.stringify(tags) === JSON.stringify(tagsOf(token)),
    onSaved: ({ name }) => toast({ text: <Outcome name={name} what="has new tags" /> }),
    close: onDone,
  })
  const submit = form.onSubmit(({ tags }) => {
    if (!form.isDirty()) return edit.leave()
    edit.save(tags, (error) => form.setErrors({ tags: fieldReason(error, 'tags', 'tags') }))
  })
  const tagsNow = tagsOf(token).length === 0 ? 'none' : <Name>{tagsOf(token).join(', ')}</Name>
  return (
    <InPlaceForm
      label={`Tags of ${fullName(token)}`}
      edit={edit}
      isDirty={form.isDirty()}
      onSubmit={submit}
      saves="Save tags"
      now={say`Its tags are now: ${tagsNow}. Saving again replaces them.`}
    >
      <ChipsInput
        size="xs"
        aria-label="Tags"
        placeholder="Type one, then Enter"
        splitChars={[',', '\n']}
        autoFocus
        {...form.getInputProps('tags')}
        value={form.values.tags}
      />
    </InPlaceForm>
  )
}

export function tagsProblem(tags: readonly string[]): string | undefined {
  if (tags.length > MAX_TAGS) return `At most ${MAX_TAGS} tags are possible; these are ${tags.length}`
  const long = tags.find((tag) => [...tag].length > MAX_TAG_CHARACTERS)
  return long && `“${long}” is too long: a tag has at most ${MAX_TAG_CHARACTERS} characters`
}
