// Asks what verification would say of a token, and says it in words. Uses nothing up.
import { Box, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Explanation } from '../../../client/latchkey-client.ts'
import { parseAddress } from '../../../src/tokens/verify/addresses.ts'
import { coversScope } from '../../../src/tokens/verify/policy.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { ChipsInput } from '../ui/chips-input.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { Icon } from '../ui/icon.tsx'
import surface from '../ui/surface.module.css'
import { scopeProblem } from './policy-fields.ts'
import { capitalized, leftWords, quotaWords, rateWords } from './words.ts'

interface Asked {
  readonly scopes: readonly string[]
  readonly address: string
}

export function TryIt({ tokenId }: { tokenId: string }) {
  const titleId = useId()
  const [asked, setAsked] = useState<Asked & { readonly turn: number }>()
  const form = useForm<Asked>({
    initialValues: { scopes: [], address: '' },
    validate: { scopes: problemOfScopes, address: problemOfAddress },
    validateInputOnChange: ['scopes'],
  })
  const answer = useQuery({
    ...queries.explanation(useClient(), tokenId, asked ?? NOTHING),
    enabled: asked !== undefined,
  })
  const ask = (values: Asked) =>
    setAsked((before) => ({ ...values, address: values.address.trim(), turn: (before?.turn ?? 0) + 1 }))
  return (
    <section aria-labelledby={titleId}>
      <Title order={2} size="h4" id={titleId} mb={4}>
        Try it
      </Title>
      <Text size="sm" c="dimmed" mb={10}>
        What a gateway would be told if this token were used now. Nothing is used up.
      </Text>
      <form onSubmit={form.onSubmit(ask)} noValidate>
        <Group gap="10px 14px" align="flex-start">
          <ChipsInput
            label="Scopes that are needed"
            placeholder="None: scopes are not checked"
            flex="1 1 260px"
            splitChars={[',', ' ', '\n']}
            {...form.getInputProps('scopes')}
            value={form.values.scopes}
          />
          <TextInput
            label="Address it is used from"
            placeholder="Such as 203.0.113.7"
            flex="1 1 260px"
            autoComplete="off"
            {...form.getInputProps('address')}
          />
          <BusyButton type="submit" variant="default" busy={answer.isFetching} style={{ alignSelf: 'flex-end' }}>
            Try it
          </BusyButton>
        </Group>
      </form>
      {answer.error !== null && (
        <ErrorAlert error={answer.error} kind="read" retry={() => void answer.refetch()} busy={answer.isFetching} />
      )}
      {asked !== undefined && answer.data !== undefined && <Answer asked={asked} answer={answer.data} />}
    </section>
  )
}

const NOTHING: Asked = { scopes: [], address: '' }

function problemOfScopes(scopes: readonly string[]): string | undefined {
  const pattern = scopes.find((scope) => scope.includes('*'))
  if (pattern !== undefined) return `“${pattern}” is a pattern: name the scopes that a request needs`
  const wrong = scopes.find((scope) => scopeProblem(scope) !== undefined)
  return wrong && `“${wrong}” ${scopeProblem(wrong)}`
}

function problemOfAddress(address: string): string | undefined {
  const isAddress = address.trim() === '' || parseAddress(address.trim()) !== undefined
  return isAddress ? undefined : 'The address must be one address, such as 203.0.113.7 or 2001:db8::1'
}

function Answer({ asked, answer }: { asked: Asked; answer: Explanation }) {
  const { accepted, effective } = answer
  const color = accepted ? 'var(--color-active)' : 'var(--mantine-color-error)'
  return (
    <Group
      role="status"
      data-accepted={accepted}
      gap={12}
      wrap="nowrap"
      align="flex-start"
      mt={12}
      px={14}
      py={12}
      className={surface.inset}
      style={{ borderLeft: `4px solid ${color}` }}
    >
      <Box c={color} flex="none" h={22}>
        <Icon name={accepted ? 'check' : 'close'} size={22} />
      </Box>
      <Stack gap={4}>
        <Text inherit fw={600}>
          {accepted ? 'Accepted' : 'Refused'}
        </Text>
        <p>{accepted ? acceptedWords(asked) : refusedWords(asked, answer)}</p>
        {answersPolicy(answer) && <p>{scopesWords(effective.scopes)}</p>}
        {effective.rate !== null && (
          <p>
            Rate: {leftWords(effective.rate.left, effective.rate.limit)} now ({OWNERS[effective.rate.from]}{' '}
            {rateWords(effective.rate)}).
          </p>
        )}
        {effective.quota !== null && (
          <p>
            Quota: {leftWords(effective.quota.left, effective.quota.limit)} ({OWNERS[effective.quota.from]}{' '}
            {quotaWords(effective.quota)}).
          </p>
        )}
      </Stack>
    </Group>
  )
}

const OWNERS = { token: 'the token has', 'sub-account': 'all tokens of the sub-account together have' }

/** A token that does not authenticate is refused before any policy is asked. */
const answersPolicy = ({ accepted, reason }: Explanation): boolean =>
  accepted || ['address', 'scope', 'rate', 'quota'].includes(reason ?? '')

function scopesWords(scopes: readonly string[] | null): string {
  if (scopes === null) return 'It has every scope.'
  return scopes.length === 0 ? 'No scope is in effect.' : `Scopes in effect: ${scopes.join(', ')}.`
}

function acceptedWords({ scopes, address }: Asked): string {
  const from = address === '' ? '' : ` from ${address}`
  const needing = scopes.length === 0 ? '' : ` that needs ${scopes.join(' and ')}`
  return `A request${from}${needing} would be let in.`
}

const NOT_AUTHENTICATED: Readonly<Record<string, string>> = {
  inactive: 'The token is disabled.',
  expired: 'The token has expired, or is older than its sub-account allows.',
  suspended: 'Its sub-account is suspended.',
  unknown: 'Its credential is not one that the service accepts.',
}

function refusedWords({ scopes, address }: Asked, { reason, decidedBy, effective }: Explanation): string {
  const whose = decidedBy === 'sub-account' ? "the sub-account's policy" : "the token's policy"
  switch (reason) {
    case 'address':
      return address === ''
        ? `${capitalized(whose)} allows certain addresses only: enter the one it is used from.`
        : `${address} is not among the addresses that ${whose} allows.`
    case 'scope': {
      const missing = scopes.filter((scope) => !effective.scopes?.some((wide) => coversScope(wide, scope)))
      return `${capitalized(whose)} does not allow ${missing.join(' and ')}${missing.length > 1 ? ' together' : ''}.`
    }
    case 'rate':
      return `The rate that ${whose} allows is used up for the moment: ${effective.rate ? rateWords(effective.rate) : ''}.`
    case 'quota':
      return `The quota that ${whose} allows is used up: ${effective.quota ? quotaWords(effective.quota) : ''}.`
    default:
      return NOT_AUTHENTICATED[reason ?? ''] ?? `The reason is “${reason}”.`
  }
}
