// Changes a policy. Only what was changed is sent, and only if nobody else has changed the token or sub-account meanwhile.
import { Button, Group, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useEffect, useRef, useState } from 'react'
import type { Call, LatchkeyClient } from '../../../client/latchkey-client.ts'
import { isConflict } from '../api/errors.ts'
import { type Identified, type Kind, withETag } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import surface from '../ui/surface.module.css'
import { useToast } from '../ui/toasts.tsx'
import { Warning } from '../ui/warning.tsx'
import { LifetimeField, ListField, QuotaField, RateField } from './member-fields.tsx'
import {
  fieldsOf,
  type PolicyFields,
  type PolicyPatch,
  patchOf,
  policyOf,
  problemsOfFields,
  refusedMembers,
} from './policy-fields.ts'
import { type Policy, policyChanges } from './words.ts'

/** A token or a sub-account, as far as its policy goes. */
export interface PolicyOwner {
  readonly kind: Kind
  readonly name: string
  readonly policy: Policy | null
  readonly etag: string | undefined
  readonly send: (client: LatchkeyClient, patch: PolicyPatch, ifMatch: string | undefined) => Call<Identified>
}

interface PolicyFormProps {
  readonly owner: PolicyOwner
  readonly ceiling: Policy | undefined
  readonly onDone: () => void
}

export function PolicyForm({ owner, ceiling, onDone }: PolicyFormProps) {
  const { form, save, run, meanwhile, isRead, refused } = usePolicyForm(owner, onDone)
  const leave = () => {
    if (!save.isPending) onDone()
  }
  const isAboutFields = Object.keys(refused).length > 0
  const element = useRef<HTMLFormElement>(null)
  // The button that opened the form is gone, and the focus with it.
  useEffect(() => element.current?.querySelector('input')?.focus(), [])
  return (
    <form ref={element} onSubmit={form.onSubmit(run)} noValidate aria-label={`Policy of ${owner.name}`}>
      <Stack gap={14} p={16} className={surface.raised}>
        <ListField member="scopes" form={form} ceiling={ceiling} />
        <ListField member="addresses" form={form} ceiling={ceiling} />
        <RateField form={form} ceiling={ceiling} />
        <QuotaField form={form} ceiling={ceiling} />
        {owner.kind === 'sub-account' && <LifetimeField form={form} />}
        {meanwhile !== undefined && <ChangedMeanwhile changes={meanwhile} isRead={isRead} />}
        {save.error !== null && !isAboutFields && !isConflict(save.error) && (
          <ErrorAlert error={save.error} kind="change" retry={form.onSubmit(run)} busy={save.isPending} />
        )}
        <Group gap="sm">
          <BusyButton type="submit" busy={save.isPending || !isRead}>
            {meanwhile === undefined ? 'Save policy' : 'Save mine on top'}
          </BusyButton>
          <Button variant="default" aria-disabled={save.isPending} onClick={leave}>
            {meanwhile === undefined ? 'Cancel' : 'Discard mine'}
          </Button>
        </Group>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !save.isPending ? 'typed' : undefined} />
    </form>
  )
}

function usePolicyForm(owner: PolicyOwner, onDone: () => void) {
  const toast = useToast()
  // As it was when the form was opened: a refresh may bring what somebody else has changed meanwhile.
  const [base] = useState(owner)
  const form = useForm<PolicyFields>({
    initialValues: fieldsOf(base.policy),
    validate: problemsOfFields,
    validateInputOnChange: ['scopes', 'addresses'],
  })
  const save = useChange({
    kind: owner.kind,
    name: owner.name,
    // The ETag of the answer is the one of the next change.
    send: (client, { patch, ifMatch }: { patch: PolicyPatch; ifMatch: string | undefined }) =>
      withETag(owner.send(client, patch, ifMatch)),
    onDone() {
      toast({ text: say`The policy of ${<Name>{owner.name}</Name>} is saved` })
      onDone()
    },
  })
  const hasConflict = isConflict(save.error)
  const changes = policyChanges(base.policy, owner.policy)
  const run = () => {
    const patch = patchOf(base.policy, policyOf(form.values))
    // It may be as it should be already: by an attempt whose answer was lost.
    const isThere = Object.keys(patchOf(owner.policy, policyOf(form.values))).length === 0
    if (isThere || Object.keys(patch).length === 0) return onDone()
    // The person has seen the other change by now: theirs is sent with the version that includes it.
    const ifMatch = hasConflict || changes.length > 0 ? owner.etag : base.etag
    const onError = (error: unknown) => form.setErrors(refusedMembers(error, form.values))
    save.mutate({ patch, ifMatch }, { onError })
  }
  const meanwhile = hasConflict || (changes.length > 0 && !save.isPending) ? changes : undefined
  // The version that was refused is not the one with the other change.
  const isRead = !hasConflict || owner.etag !== save.variables?.ifMatch
  return { form, save, run, meanwhile, isRead, refused: refusedMembers(save.error, form.values) }
}

function ChangedMeanwhile({ changes, isRead }: { changes: readonly string[]; isRead: boolean }) {
  return (
    <Warning role="status">
      It has been changed since you opened this form: by somebody else, or by an attempt of yours whose answer was lost.
      What you have entered is still here. {isRead ? otherChange(changes) : 'What has changed is being read …'}
    </Warning>
  )
}

function otherChange(changes: readonly string[]): string {
  if (changes.length === 0) return 'The other change is not about the policy.'
  return `The policy is different now: ${changes.join('; ')}. Where you have changed the same, saving replaces that.`
}
