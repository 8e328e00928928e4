// What a token may do, or all tokens of a sub-account, and the way to change it.
import { Button, Group, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useId, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { keepFocus } from '../ui/focus.ts'
import { PolicyForm, type PolicyOwner } from './policy-form.tsx'
import { type Ceiling, PolicyTable } from './policy-table.tsx'

interface PolicySectionProps {
  readonly owner: PolicyOwner
  readonly ceiling?: Ceiling | undefined
  /** Says what else holds. */
  readonly children: ReactNode
}

const NO_POLICY = {}

export function PolicySection({ owner, ceiling, children }: PolicySectionProps) {
  const [isChanging, setChanging] = useState(false)
  const { change } = usePermissions()
  const titleId = useId()
  const buttonId = useId()
  useEffect(() => {
    if (isChanging) return () => keepFocus(buttonId)
  }, [isChanging, buttonId])
  return (
    <section aria-labelledby={titleId}>
      <Group justify="space-between" mb={8} mih={36}>
        <Title order={2} size="h4" id={titleId}>
          Policy
        </Title>
        {change && !isChanging && (
          <Button id={buttonId} variant="default" size="xs" onClick={() => setChanging(true)}>
            Change policy
          </Button>
        )}
      </Group>
      <Text size="sm" c="dimmed" component="div" mb={10}>
        {children}
      </Text>
      {isChanging ? (
        <PolicyForm owner={owner} ceiling={ceiling?.policy} onDone={() => setChanging(false)} />
      ) : (
        <PolicyTable policy={owner.policy ?? NO_POLICY} withLifetime={owner.kind === 'sub-account'} ceiling={ceiling} />
      )}
    </section>
  )
}
