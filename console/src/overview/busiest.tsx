// The tokens that were used most in the last days.
import { Box, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../client/latchkey-client.ts'
import { cx } from '../ui/cx.ts'
import { number } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'
import classes from './overview.module.css'
import { Panel } from './panel.tsx'

export function Busiest({ busiest }: Pick<Overview, 'busiest'>) {
  const most = Math.max(1, ...busiest.map(({ accepted }) => accepted))
  return (
    <Panel title="Used most" note="Accepted verifications of the last 7 days">
      {busiest.length === 0 && <Text size="sm">Nothing was used in these days.</Text>}
      <ul className={classes.subAccounts}>
        {busiest.map(({ _id, name, subAccount, accepted }) => (
          <li key={_id}>
            <Link
              to="/tokens/$tokenId"
              params={{ tokenId: _id }}
              className={cx(surface.choice, classes.subAccount)}
              aria-label={`${name} of ${subAccount.name}: ${number(accepted)} accepted verifications`}
            >
              <span>
                <Name>{name}</Name>{' '}
                <span className={text.dim}>
                  <Name>{subAccount.name}</Name>
                </span>
              </span>
              <b>{number(accepted)}</b>
              <Box
                component="span"
                w={`${(accepted / most) * 100}%`}
                h={8}
                bdrs={4}
                bg="var(--color-accent)"
                style={{ gridColumn: '1 / -1' }}
              />
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
