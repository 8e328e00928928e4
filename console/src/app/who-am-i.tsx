// Who is signed in and what they may do, in words: at the account's name in the header.
import { Box, Button, Text } from '@mantine/core'
import { type ToggleEvent, useId, useState } from 'react'
import type { WhoAmI as Who } from '../../../client/latchkey-client.ts'
import { ROLES, SubAccountNames } from '../keys/rights.tsx'
import chip from '../ui/chip.module.css'
import { Facts } from '../ui/facts.tsx'
import { Name } from '../ui/name.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'

/** A native popover, which the browser keeps on top and closes on Escape or a click elsewhere. */
export function WhoAmI({ who }: { who: Who }) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const { account, caller, permissions } = who
  return (
    <>
      <Button
        popoverTarget={id}
        variant="subtle"
        color="gray"
        size="xs"
        px={8}
        justify="flex-start"
        miw={0}
        maw="40ch"
        flex="0 1 auto"
        c="dimmed"
        fz="sm"
        fw={400}
        styles={{ section: { flex: 'none' } }}
        rightSection={
          <span className={text.onlyWide}>
            <span className={chip.chip}>{ROLES[permissions.role].label}</span>
          </span>
        }
        title="The account you are signed in to, and what you may do"
      >
        <Text component="bdi" inherit truncate style={{ whiteSpace: 'pre' }}>
          {account.name}
          {caller.kind === 'oidc' && <span className={text.onlyWide}> · {caller.name}</span>}
        </Text>
      </Button>
      <Box
        component="section"
        id={id}
        popover="auto"
        aria-label="Who you are and what you may do"
        className={surface.popover}
        style={{ inset: '56px 16px auto auto' }}
        w="min(420px, calc(100vw - 32px))"
        p={12}
        onToggle={({ newState }: ToggleEvent) => setOpen(newState === 'open')}
      >
        {isOpen && <AboutMe who={who} />}
      </Box>
    </>
  )
}

function AboutMe({ who: { account, caller, permissions } }: { who: Who }) {
  const { role, reveal, subAccounts } = permissions
  const { label, may } = ROLES[role]
  return (
    <Facts
      facts={[
        ['Account', <Name key="account">{account.name}</Name>],
        [
          'You are',
          <span key="caller">
            {caller.kind === 'key' && 'Account key '}
            <Name>{caller.name}</Name>
          </span>,
        ],
        [
          'Role',
          <span key="role" className={text.twoLines}>
            {label}
            <span className={text.dim}>{may}</span>
          </span>,
        ],
        ['Credentials', reveal ? 'Shown when you ask for one' : 'Not shown to you, except new ones, once'],
        ['Sub-accounts', <SubAccountNames key="sub-accounts" ids={subAccounts} />],
      ]}
    />
  )
}
