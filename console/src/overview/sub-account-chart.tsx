// The sub-accounts with the most tokens.
import { Box, Group, VisuallyHidden } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../client/latchkey-client.ts'
import { cx } from '../ui/cx.ts'
import { number, plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import { SubAccountStatus } from '../ui/status.tsx'
import surface from '../ui/surface.module.css'
import classes from './overview.module.css'
import { Panel } from './panel.tsx'

export function SubAccountChart({ subAccounts }: { subAccounts: Overview['subAccounts'] }) {
  const { largest, total, suspended } = subAccounts
  const most = Math.max(1, ...largest.map(({ tokens }) => tokens.active + tokens.inactive))
  const note = `${plural(total, 'sub-account')}${suspended > 0 ? `, ${number(suspended)} suspended` : ''}`
  return (
    <Panel title="By sub-account" note={largest.length < total ? `The largest of ${note}` : note}>
      <ul className={classes.subAccounts}>
        {largest.map((subAccount) => {
          const { _id, name, status, tokens } = subAccount
          const count = tokens.active + tokens.inactive
          return (
            <li key={_id}>
              <Link to="/tokens" search={{ subAccount: _id }} className={cx(surface.choice, classes.subAccount)}>
                <Group component="span" gap={12} wrap="nowrap" miw={0}>
                  <Name clip>{name}</Name>
                  {status === 'suspended' && <SubAccountStatus subAccount={subAccount} />}
                </Group>
                <b>
                  {number(count)}
                  <VisuallyHidden>
                    {' '}
                    {count === 1 ? 'token' : 'tokens'}: {number(tokens.active)} active, {number(tokens.inactive)}{' '}
                    inactive
                  </VisuallyHidden>
                </b>
                <Group
                  component="span"
                  gap={2}
                  wrap="nowrap"
                  align="stretch"
                  w={`${(count / most) * 100}%`}
                  h={8}
                  bdrs={4}
                  style={{ gridColumn: '1 / -1', overflow: 'hidden' }}
                >
                  <Box component="span" flex={tokens.active} bg={`var(--color-${status})`} />
                  <Box component="span" flex={tokens.inactive} bg="var(--color-inactive)" />
                </Group>
              </Link>
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}
