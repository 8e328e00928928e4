// The fields of the policy form: each member can be restricted or not, and says what its sub-account allows.
import { Group, Input, NativeSelect, Stack, Text } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { type ReactNode, useId, useState } from 'react'
import { ChipsInput } from '../ui/chips-input.tsx'
import surface from '../ui/surface.module.css'
import { Warning } from '../ui/warning.tsx'
import { allowanceOf, type ListMember } from './ceiling.ts'
import classes from './member-fields.module.css'
import { fieldsOf, LABELS, type Member, type PolicyFields, problemsOfFields } from './policy-fields.ts'
import { NOT_ALLOWED } from './policy-table.tsx'
import {
  capitalized,
  DURATION_UNITS,
  type DurationUnit,
  PERIOD_WORDS,
  type Policy,
  quotaWords,
  rateWords,
} from './words.ts'

type Form = UseFormReturnType<PolicyFields>

export const usePolicyFields = (policy: Policy | null, onValuesChange?: () => void): Form =>
  useForm<PolicyFields>({
    initialValues: fieldsOf(policy),
    validate: problemsOfFields,
    validateInputOnChange: ['scopes', 'addresses'],
    ...(onValuesChange && { onValuesChange }),
  })

interface FieldProps {
  readonly form: Form
  readonly ceiling?: Policy | undefined
}

/** All of them; those of a sub-account limit lifetimes too. */
export function MemberFields({ form, ceiling, withLifetime = false }: FieldProps & { withLifetime?: boolean }) {
  return (
    <>
      <ListField member="scopes" form={form} ceiling={ceiling} />
      <ListField member="addresses" form={form} ceiling={ceiling} />
      <RateField form={form} ceiling={ceiling} />
      <QuotaField form={form} ceiling={ceiling} />
      {withLifetime && <LifetimeField form={form} />}
    </>
  )
}

interface MemberFieldProps extends FieldProps {
  readonly member: Member
  /** What is true while it is restricted. */
  readonly label: string
  /** What is true while it is not. */
  readonly none: string
  /** What the sub-account allows, in words. */
  readonly above?: string | undefined
  readonly children: ReactNode
}

function MemberField({ member, label, none, above, form, children }: MemberFieldProps) {
  return (
    <fieldset className={surface.divided}>
      <Group component="label" gap={10} wrap="nowrap" fw={500}>
        <input type="checkbox" {...form.getInputProps(`on.${member}`, { type: 'checkbox' })} />
        {label}
      </Group>
      <Stack gap={6} pt={8} className={classes.inside}>
        {form.values.on[member] ? children : <Text size="sm" c="dimmed">{`Not restricted: ${none}`}</Text>}
        {above !== undefined && (
          <Text size="xs" c="dimmed">
            Its sub-account: {above}
          </Text>
        )}
      </Stack>
    </fieldset>
  )
}

const LISTS = {
  scopes: {
    label: 'Only these scopes',
    none: 'every scope',
    hint: 'Such as orders:read; items:* stands for all that begins with items:',
    nothing: 'Without any, every request that needs a scope is refused.',
  },
  addresses: {
    label: 'Only from these addresses',
    none: 'from any address',
    hint: 'Single addresses or blocks, such as 203.0.113.7 or 2001:db8::/32',
    nothing: 'Without any, every request is refused.',
  },
}

function ListField({ member, form, ceiling }: FieldProps & { member: ListMember }) {
  const { label, none, hint, nothing } = LISTS[member]
  const above = ceiling?.[member]
  const [typed, setTyped] = useState('')
  return (
    <MemberField
      member={member}
      label={label}
      none={none}
      form={form}
      above={above && (above.length === 0 ? 'none' : above.join(', '))}
    >
      <ChipsInput
        aria-label={LABELS[member]}
        description={hint}
        placeholder="Type one, then Enter"
        splitChars={[',', ' ', '\n']}
        struckBecause={(each) => (allowanceOf(member, each, above) === 'none' ? NOT_ALLOWED : undefined)}
        {...form.getInputProps(member)}
        value={form.values[member]}
        searchValue={typed}
        onSearchChange={setTyped}
      />
      {!form.errors[member] && <Struck list={form.values[member]} member={member} ceiling={above} />}
      {/* Gone before what is typed becomes a chip, with the mouse already down on a button below. */}
      {form.values[member].length === 0 && typed === '' && <Warning>{nothing}</Warning>}
    </MemberField>
  )
}

interface StruckProps {
  readonly list: readonly string[]
  readonly member: ListMember
  readonly ceiling: readonly string[] | undefined
}

/** Says what the line through a chip means. */
function Struck({ list, member, ceiling }: StruckProps) {
  const struck = list.filter((each) => allowanceOf(member, each, ceiling) === 'none')
  if (struck.length === 0) return null
  return (
    <Text size="xs" c="var(--color-warning)" role="status">
      {capitalized(NOT_ALLOWED)}, and without effect: {struck.join(', ')}
    </Text>
  )
}

/** A sentence with fields in it, and one line for what is wrong with them. */
function Words({ member, form, children }: { member: Member; form: Form; children: (errorId: string) => ReactNode }) {
  const id = useId()
  return (
    <>
      <Group gap={8}>{children(id)}</Group>
      {form.errors[member] && (
        <Input.Error id={id} role="alert">
          {form.errors[member]}
        </Input.Error>
      )}
    </>
  )
}

interface NumberFieldProps {
  readonly form: Form
  readonly member: Member
  readonly path: string
  readonly label: string
  readonly errorId: string
}

function NumberField({ form, member, path, label, errorId }: NumberFieldProps) {
  const { onChange, ...input } = form.getInputProps(path)
  const isWrong = form.errors[member] !== undefined
  return (
    <Input
      w="8rem"
      inputMode="numeric"
      autoComplete="off"
      // Its own would leave out the line below, which is about all fields of the sentence.
      withAria={false}
      aria-label={label}
      aria-invalid={isWrong}
      aria-describedby={isWrong ? errorId : undefined}
      {...input}
      onChange={(event) => {
        form.clearFieldError(member)
        onChange(event)
      }}
      error={isWrong}
    />
  )
}

interface UnitFieldProps {
  readonly form: Form
  readonly path: string
  readonly label: string
  readonly units: readonly DurationUnit[]
}

function UnitField({ form, path, label, units }: UnitFieldProps) {
  return <NativeSelect w="7.5rem" aria-label={label} data={[...units]} {...form.getInputProps(path)} />
}

const UNITS = Object.keys(DURATION_UNITS) as DurationUnit[]

function RateField({ form, ceiling }: FieldProps) {
  return (
    <MemberField
      member="rate"
      label="Limit the rate"
      none="as often as it likes"
      form={form}
      above={ceiling?.rate && `${rateWords(ceiling.rate)}, for all its tokens together`}
    >
      <Words member="rate" form={form}>
        {(errorId) => (
          <>
            At most
            <NumberField form={form} member="rate" path="rate.limit" label="Rate: verifications" errorId={errorId} />
            verifications in
            <NumberField form={form} member="rate" path="rate.count" label="Rate: time" errorId={errorId} />
            <UnitField form={form} path="rate.unit" label="Rate: unit of time" units={UNITS.slice(1)} />
          </>
        )}
      </Words>
    </MemberField>
  )
}

function QuotaField({ form, ceiling }: FieldProps) {
  return (
    <MemberField
      member="quota"
      label="Set a quota"
      none="no quota"
      form={form}
      above={ceiling?.quota && `${quotaWords(ceiling.quota)}, for all its tokens together`}
    >
      <Words member="quota" form={form}>
        {(errorId) => (
          <>
            At most
            <NumberField form={form} member="quota" path="quota.limit" label="Quota: verifications" errorId={errorId} />
            verifications
            <NativeSelect
              w="7.5rem"
              aria-label="Quota: period"
              data={Object.entries(PERIOD_WORDS).map(([value, label]) => ({ value, label }))}
              {...form.getInputProps('quota.per')}
            />
          </>
        )}
      </Words>
    </MemberField>
  )
}

function LifetimeField({ form }: FieldProps) {
  const member = 'maxLifetimeSeconds'
  return (
    <MemberField
      member={member}
      label="Limit the lifetime of its tokens"
      none="as each token's expiry says"
      form={form}
    >
      <Words member={member} form={form}>
        {(errorId) => (
          <>
            No token works longer than
            <NumberField
              form={form}
              member={member}
              path={`${member}.count`}
              label="Lifetime: time"
              errorId={errorId}
            />
            <UnitField form={form} path={`${member}.unit`} label="Lifetime: unit of time" units={UNITS} />
            after its creation
          </>
        )}
      </Words>
      <Text size="xs" c="dimmed">
        Tokens that are older stop the moment this is saved.
      </Text>
    </MemberField>
  )
}
