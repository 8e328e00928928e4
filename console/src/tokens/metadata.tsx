// The metadata of a token on its own page, changed in its place as JSON.
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { fieldReason } from '../api/errors.ts'
import { etagOf, MASKED } from '../api/queries.ts'
import { useEdit } from '../api/use-edit.ts'
import {
  Metadata,
  MetadataInput,
  type MetadataObject,
  metadataOf,
  metadataProblem,
  metadataText,
} from '../ui/metadata.tsx'
import { Outcome } from '../ui/name.tsx'
import { useToast } from '../ui/toasts.tsx'
import { InPlace } from './in-place.tsx'
import { InPlaceForm } from './in-place-form.tsx'
import { patchBetween, setsNull } from './metadata-patch.ts'
import { fullName } from './token-words.ts'

const ofToken = ({ details }: Token): MetadataObject | null => details?.metadata ?? null

export function EditableMetadata({ token }: { token: Token }) {
  return (
    <InPlace token={token} what="metadata" form={(onDone) => <MetadataForm token={token} onDone={onDone} />}>
      <Metadata value={ofToken(token)} />
    </InPlace>
  )
}

function MetadataForm({ token, onDone }: { token: Token; onDone: () => void }) {
  const toast = useToast()
  const now = ofToken(token)
  const [before] = useState(now)
  const form = useForm({
    initialValues: { metadata: metadataText(before) },
    validate: { metadata: (typed) => metadataProblem(typed) ?? nullProblem(before, metadataOf(typed)) },
  })
  const edit = useEdit({
    kind: 'token',
    name: token.name,
    now: { ifMatch: etagOf(token) },
    // What others have changed meanwhile of other members stays.
    send: (client, after: MetadataObject | null, ifMatch) => {
      const metadata = patchBetween(before, after) as MetadataObject | null
      return client.patchToken({ id: token._id, 'if-match': ifMatch, body: { metadata }, ...MASKED })
    },
    isThere: (after) => patchBetween(now, after) === undefined,
    onSaved: ({ name }) => toast({ text: <Outcome name={name} what="has new metadata" /> }),
    close: onDone,
  })
  const submit = form.onSubmit(({ metadata }) => {
    const after = metadataOf(metadata)
    if (patchBetween(before, after) === undefined) return edit.leave()
    edit.save(after, (error) => form.setErrors({ metadata: fieldReason(error, 'metadata', 'Metadata') }))
  })
  return (
    <InPlaceForm
      label={`Metadata of ${fullName(token)}`}
      edit={edit}
      isDirty={form.isDirty()}
      onSubmit={submit}
      saves="Save metadata"
      now={
        <>
          It is now: <Metadata value={now} /> Saving again changes only what you have changed.
        </>
      }
    >
      <MetadataInput aria-label="Metadata" autoFocus {...form.getInputProps('metadata')} />
    </InPlaceForm>
  )
}

const nullProblem = (before: MetadataObject | null, after: MetadataObject | null): string | undefined =>
  after !== null && setsNull(patchBetween(before, after), after)
    ? 'Nothing can be changed to null: leave the member out instead'
    : undefined
