// The sub-accounts that a new account key sees: all, or some that are picked one after the other.
import { Fieldset, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { SubAccountPicker } from '../sub-accounts/sub-account-picker.tsx'
import { Name } from '../ui/name.tsx'
import { IconButton } from '../ui/row-buttons.tsx'
import { ChoiceCard } from './choices.tsx'

interface SubAccountChoiceProps {
  /** Null for all. */
  readonly ids: readonly string[] | null
  readonly canChooseAll: boolean
  readonly onChange: (ids: readonly string[] | null) => void
  readonly error: ReactNode
}

export function SubAccountChoice({ ids, canChooseAll, onChange, error }: SubAccountChoiceProps) {
  const add = (id: string | undefined) => {
    if (id !== undefined) onChange([...new Set([...(ids ?? []), id])])
  }
  return (
    <Fieldset variant="unstyled" p={0} legend="Which sub-accounts does it see?">
      <Stack gap={8}>
        {canChooseAll && (
          <>
            <ChoiceCard
              label="All sub-accounts"
              description="Those that are created later too"
              name="sub-accounts"
              checked={ids === null}
              onChange={() => onChange(null)}
            />
            <ChoiceCard
              label="Only some"
              description="Everything else looks as if it were not there"
              name="sub-accounts"
              checked={ids !== null}
              onChange={() => onChange([])}
            />
          </>
        )}
        {ids !== null && (
          <SubAccountPicker
            label={canChooseAll ? 'Add a sub-account' : 'Add one of the sub-accounts that you see'}
            placeholder="Search by name, e-mail or company"
            value={undefined}
            onChange={add}
            error={error}
          />
        )}
        {ids !== null && ids.length > 0 && (
          <Group component="ul" gap={6} aria-label="Chosen sub-accounts">
            {ids.map((id) => (
              <Chosen key={id} id={id} remove={() => onChange(ids.filter((each) => each !== id))} />
            ))}
          </Group>
        )}
        {ids?.length === 0 && (
          <Text size="xs" c="dimmed">
            Choose at least one.
          </Text>
        )}
      </Stack>
    </Fieldset>
  )
}

function Chosen({ id, remove }: { id: string; remove: () => void }) {
  const { data } = useQuery(queries.subAccount(useClient(), id))
  const name = data?.name ?? id
  return (
    <Group component="li" gap={2} wrap="nowrap" maw="100%" pl={10} bd="1px solid var(--color-line)" bdrs={8}>
      <Name>{name}</Name>
      <IconButton icon="close" label={`Remove ${name}`} onClick={remove} />
    </Group>
  )
}
