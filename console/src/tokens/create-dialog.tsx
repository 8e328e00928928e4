// Creates a token and shows its credential. What most tokens do without is folded away.
import { Box, Stack, Text, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { newIdempotencyKey } from '../../../client/request.ts'
import { duplicateName, fieldErrors } from '../api/errors.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useChange } from '../api/use-change.tsx'
import { MemberFields, usePolicyFields } from '../policy/member-fields.tsx'
import { type PolicyFields, policyOf, refusedMembers } from '../policy/policy-fields.ts'
import { SubAccountPicker } from '../sub-accounts/sub-account-picker.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { ChipsInput } from '../ui/chips-input.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { type Expiry, ExpiryInput, isPastTime, timeOf } from '../ui/expiry-input.tsx'
import { MetadataInput, metadataOf, metadataProblem } from '../ui/metadata.tsx'
import { useNow } from '../ui/time.tsx'
import { CredentialReady, unseenCredential } from './credential-ready.tsx'
import { tagsProblem } from './tags.tsx'

const LABELS = {
  subAccountId: 'Sub-account',
  name: 'Name',
  expiresAt: 'The time of expiry',
  tags: 'Tags',
  metadata: 'Metadata',
}

interface Fields extends Expiry {
  readonly subAccountId: string | undefined
  readonly name: string
  readonly tags: readonly string[]
  /** As it was typed. */
  readonly metadata: string
}

type Request = Parameters<LatchkeyClient['createToken']>[0]

export function CreateDialog({ subAccountId, close }: { subAccountId: string | undefined; close: () => void }) {
  const { form, policy, create, run } = useNewToken(subAccountId)
  const fields = form.values
  const isPast = isPastTime(fields, useNow())
  if (create.data)
    return <CredentialReady token={create.data} close={close} title="Token created" outcome="is ready." />
  const submit = () => {
    if (!isPast) run()
  }
  const isDirty = form.isDirty() || policy.isDirty()
  const problems = { ...errorsOf(create.error), ...refusedMembers(create.error, policy.values) }
  return (
    <form onSubmit={form.onSubmit(submit)}>
      <Stack gap="md">
        <SubAccountPicker
          label={LABELS.subAccountId}
          placeholder="Search by name, e-mail or company"
          value={fields.subAccountId}
          onChange={(id) => form.setFieldValue('subAccountId', id)}
          error={form.errors.subAccountId}
          autoFocus={subAccountId === undefined}
        />
        <TextInput
          label={LABELS.name}
          description="Unique within the sub-account"
          required
          data-autofocus={subAccountId !== undefined || undefined}
          {...form.getInputProps('name')}
        />
        <ExpiryInput
          choice={form.getInputProps('expiresAt')}
          time={form.getInputProps('at')}
          past={isPast && 'This time is past: the token would never authenticate'}
        />
        <Extras form={form} policy={policy} />
        <ChangeButtons
          change={create}
          run={submit}
          submits
          isAboutFields={Object.keys(problems).length > 0}
          disabled={fields.subAccountId === undefined || isPast}
        >
          Create token
        </ChangeButtons>
      </Stack>
      <BeforeLeaving loss={isDirty && !create.isPending ? 'typed' : undefined} />
    </form>
  )
}

interface Forms {
  readonly form: UseFormReturnType<Fields>
  readonly policy: UseFormReturnType<PolicyFields>
}

/** Opens by itself where something in it is wrong. */
function Extras({ form, policy }: Forms) {
  const [isOpen, setOpen] = useState(false)
  const { subAccountId = '' } = form.values
  const owner = useQuery({ ...queries.subAccount(useClient(), subAccountId), enabled: isOpen && subAccountId !== '' })
  const isWrong = Boolean(form.errors.tags || form.errors.metadata || Object.keys(policy.errors).length > 0)
  return (
    <Box component="details" open={isOpen || isWrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Tags, metadata and policy</summary>
      <Stack gap="md" pt="md">
        <ChipsInput
          label={LABELS.tags}
          placeholder="Type one, then Enter"
          splitChars={[',', '\n']}
          {...form.getInputProps('tags')}
          value={form.values.tags}
        />
        <MetadataInput label={LABELS.metadata} {...form.getInputProps('metadata')} />
        <Text size="sm" c="dimmed">
          What the policy of its sub-account does not allow, the token cannot do.
        </Text>
        <MemberFields form={policy} ceiling={owner.data?.policy ?? undefined} />
      </Stack>
    </Box>
  )
}

function useNewToken(subAccountId: string | undefined) {
  // Kept until a field changes: a retry is the same request to the letter, its time of expiry included.
  const [request, setRequest] = useState<Request>()
  const onValuesChange = () => setRequest(undefined)
  const form = useForm<Fields>({
    initialValues: { subAccountId, name: '', expiresAt: '', at: '', tags: [], metadata: '' },
    validate: { tags: tagsProblem, metadata: metadataProblem },
    validateInputOnChange: ['tags'],
    onValuesChange,
  })
  const policy = usePolicyFields(null, onValuesChange)
  const create = useChange({
    kind: 'token',
    name: form.values.name,
    send: (client, what: Request) => client.createToken(what),
    unseen: unseenCredential,
  })
  const run = () => {
    if (policy.validate().hasErrors) return
    const next = request ?? requestOf(form.values, policy.values, Date.now())
    setRequest(next)
    create.mutate(next, {
      onError(error) {
        form.setErrors(errorsOf(error))
        policy.setErrors(refusedMembers(error, policy.values))
      },
    })
  }
  return { form, policy, create, run }
}

function errorsOf(error: unknown): { [Name in keyof typeof LABELS]?: string } {
  const duplicate = duplicateName(error)
  return duplicate === undefined ? fieldErrors(error, LABELS) : { name: duplicate }
}

function requestOf(
  { subAccountId = '', name, tags, metadata, ...expiry }: Fields,
  sent: PolicyFields,
  now: number,
): Request {
  const policy = policyOf(sent)
  return {
    'idempotency-key': newIdempotencyKey(),
    body: {
      ...{ subAccountId, name, expiresAt: timeOf(expiry, now) },
      tags: tags.length === 0 ? undefined : tags,
      metadata: metadataOf(metadata) ?? undefined,
      policy: Object.keys(policy).length === 0 ? undefined : policy,
    },
  }
}
