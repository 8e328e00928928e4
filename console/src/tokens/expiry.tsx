// When a token expires, changed in its place.
import { useForm } from '@mantine/form'
import type { Token } from '../../../client/latchkey-client.ts'
import { fieldReason } from '../api/errors.ts'
import { etagOf, MASKED } from '../api/queries.ts'
import { useEdit } from '../api/use-edit.ts'
import { type Expiry, ExpiryInput, isPastTime, timeOf } from '../ui/expiry-input.tsx'
import { localTime } from '../ui/format.ts'
import { Outcome } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import { Moment, useNow } from '../ui/time.tsx'
import { useToast } from '../ui/toasts.tsx'
import { InPlace } from './in-place.tsx'
import { InPlaceForm } from './in-place-form.tsx'
import { fullName } from './token-words.ts'

const expiryOf = ({ details }: Token): string | null => details?.expiresAt ?? null

const shown = (expiresAt: string | null) => (expiresAt === null ? 'Never' : <Moment at={expiresAt} />)

export function EditableExpiry({ token }: { token: Token }) {
  return (
    <InPlace token={token} what="expiry" form={(onDone) => <ExpiryForm token={token} onDone={onDone} />}>
      {shown(expiryOf(token))}
    </InPlace>
  )
}

function ExpiryForm({ token, onDone }: { token: Token; onDone: () => void }) {
  const toast = useToast()
  const expiresAt = expiryOf(token)
  const form = useForm<Expiry>({
    initialValues: expiresAt === null ? { expiresAt: '', at: '' } : { expiresAt: 'at', at: localTime(expiresAt) },
  })
  const edit = useEdit({
    kind: 'token',
    name: token.name,
    now: { ifMatch: etagOf(token) },
    send: (client, next: string | null, ifMatch) =>
      client.patchToken({ id: token._id, 'if-match': ifMatch, body: { expiresAt: next }, ...MASKED }),
    isThere: (next) => next === expiresAt,
    onSaved: ({ name, details }) =>
      toast({ text: <Outcome name={name} what={details?.expiresAt ? 'has a new expiry' : 'no longer expires'} /> }),
    close: onDone,
  })
  const isPast = isPastTime(form.values, useNow()) && form.isDirty()
  const submit = form.onSubmit((fields) => {
    if (!form.isDirty()) return edit.leave()
    if (isPast) return
    edit.save(timeOf(fields, Date.now()), (error) =>
      form.setErrors({ expiresAt: fieldReason(error, 'expiresAt', 'time') }),
    )
  })
  return (
    <InPlaceForm
      label={`Expiry of ${fullName(token)}`}
      edit={edit}
      isDirty={form.isDirty()}
      onSubmit={submit}
      saves="Save expiry"
      now={say`It expires now: ${shown(expiresAt)}. Saving again replaces that.`}
    >
      <ExpiryInput
        choice={form.getInputProps('expiresAt')}
        time={form.getInputProps('at')}
        past={isPast && 'This time is past. To stop the token at once, disable it.'}
      />
    </InPlaceForm>
  )
}
