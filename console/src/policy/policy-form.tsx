// Changes a policy. Only what was changed is sent, and only if nobody else has changed the token or sub-account meanwhile.
import { Button, Group, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { Call, LatchkeyClient, PolicyImpact } from '../../../client/latchkey-client.ts'
import { type Identified, type Kind, withETag } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useChange } from '../api/use-change.tsx'
import { useEdit } from '../api/use-edit.ts'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import surface from '../ui/surface.module.css'
import { useToast } from '../ui/toasts.tsx'
import { Warning } from '../ui/warning.tsx'
import { CutOff } from './cut-off.tsx'
import { MemberFields, usePolicyFields } from './member-fields.tsx'
import { isPatched, MEMBERS, type PolicyPatch, patchOf, policyOf, refusedMembers } from './policy-fields.ts'
import { type Policy, policyChanges } from './words.ts'

/** A token or a sub-account, as far as its policy goes. */
export interface PolicyOwner {
  readonly kind: Kind
  readonly name: string
  readonly policy: Policy | null
  readonly etag: string | undefined
  readonly send: (client: LatchkeyClient, patch: PolicyPatch, ifMatch: string | undefined) => Call<Identified>
  /** Asked before a change is sent, where others may lose something by it. */
  readonly preview?: (client: LatchkeyClient, patch: PolicyPatch) => Call<PolicyImpact>
}

interface PolicyFormProps {
  readonly owner: PolicyOwner
  readonly ceiling: Policy | undefined
  readonly onDone: () => void
}

export function PolicyForm({ owner, ceiling, onDone }: PolicyFormProps) {
  const { form, edit, run, meanwhile, refused, preview, impact } = usePolicyForm(owner, onDone)
  const { isRead, hasConflict } = edit
  const error = preview.error ?? edit.error
  const isPending = preview.isPending || edit.isPending
  const save = impact === undefined ? 'Save policy' : `Save, and cut off ${plural(impact.affected, 'token')}`
  const isAboutFields = Object.keys(refused).length > 0
  const element = useRef<HTMLFormElement>(null)
  // The button that opened the form is gone, and the focus with it.
  useEffect(() => element.current?.querySelector('input')?.focus(), [])
  return (
    <form ref={element} onSubmit={form.onSubmit(run)} noValidate aria-label={`Policy of ${owner.name}`}>
      <Stack gap={14} p={16} className={surface.raised}>
        <MemberFields form={form} ceiling={ceiling} withLifetime={owner.kind === 'sub-account'} />
        {meanwhile !== undefined && <ChangedMeanwhile changes={meanwhile} isRead={isRead} />}
        {impact !== undefined && <CutOff impact={impact} />}
        {error !== null && !isAboutFields && !hasConflict && (
          <ErrorAlert error={error} kind="change" retry={form.onSubmit(run)} busy={isPending} />
        )}
        <Group gap="sm">
          <BusyButton type="submit" busy={isPending || !isRead} {...(impact && { color: 'red' })}>
            {meanwhile === undefined ? save : 'Save mine on top'}
          </BusyButton>
          <Button variant="default" aria-disabled={isPending} onClick={edit.leave}>
            {meanwhile === undefined ? 'Cancel' : 'Discard mine'}
          </Button>
        </Group>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !isPending ? 'typed' : undefined} />
    </form>
  )
}

function usePolicyForm(owner: PolicyOwner, onDone: () => void) {
  const toast = useToast()
  const form = usePolicyFields(owner.policy)
  const back = useChange({
    kind: owner.kind,
    name: owner.name,
    send: (client, { patch, ifMatch }: { patch: PolicyPatch; ifMatch: string }) => owner.send(client, patch, ifMatch),
    onDone: () => toast({ text: say`The policy of ${<Name>{owner.name}</Name>} is as it was before` }),
    isFromToast: () => true,
  })
  const saved = say`The policy of ${<Name>{owner.name}</Name>} is saved`
  /** Of what was sent; what others have changed stays. */
  const undone = useRef<PolicyPatch>({})
  const undo = (ifMatch: string) => back.mutate({ patch: undone.current, ifMatch })
  const client = useClient()
  const preview = useMutation({
    mutationFn: async (patch: PolicyPatch) => ({
      patch: JSON.stringify(patch),
      impact: await owner.preview?.(client, patch),
    }),
  })
  const edit = useEdit({
    kind: owner.kind,
    name: owner.name,
    now: { policy: owner.policy, ifMatch: owner.etag },
    // The ETag of the answer is the one of the next change.
    send: (client, patch: PolicyPatch, ifMatch) => withETag(owner.send(client, patch, ifMatch)),
    isThere: (patch) => isPatched(owner.policy, patch),
    onSaved: ({ etag }) => toast(etag === undefined ? { text: saved } : { text: saved, undo: () => undo(etag) }),
    close: onDone,
  })
  const { base, hasConflict, isPending, error } = edit
  const changes = policyChanges(base.policy, owner.policy)
  const hasSeen = hasConflict || changes.length > 0
  const run = () => {
    const patch = patchOf(base.policy, policyOf(form.values))
    if (Object.keys(patch).length === 0) return edit.leave()
    const before = (hasSeen ? owner : base).policy ?? {}
    undone.current = Object.fromEntries(
      MEMBERS.filter((name) => name in patch).map((name) => [name, before[name] ?? null]),
    )
    const onError = (failure: unknown) => form.setErrors(refusedMembers(failure, form.values))
    const save = () => edit.save(patch, onError, hasSeen)
    if (owner.preview === undefined || preview.data?.patch === JSON.stringify(patch)) return save()
    preview.mutate(patch, { onError, onSuccess: ({ impact }) => impact?.affected === 0 && save() })
  }
  // Of what is entered now; what is entered afterwards is looked at again.
  const isCurrent = preview.data?.patch === JSON.stringify(patchOf(base.policy, policyOf(form.values)))
  const impact = isCurrent && preview.data?.impact?.affected !== 0 ? preview.data?.impact : undefined
  const meanwhile = hasConflict || (changes.length > 0 && !isPending) ? changes : undefined
  return { form, edit, run, meanwhile, refused: refusedMembers(preview.error ?? error, form.values), preview, impact }
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
