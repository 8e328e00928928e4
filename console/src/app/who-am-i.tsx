// Who is signed in and what they may do, in words: at the account's name in the header.
import { useId, useState } from 'react'
import type { WhoAmI as Who } from '../../../client/latchkey-client.ts'
import { ROLES, SubAccountNames } from '../keys/rights.tsx'
import { Facts } from '../ui/facts.tsx'
import { Name } from '../ui/name.tsx'
import text from '../ui/text.module.css'
import classes from './who-am-i.module.css'

/** A native popover, which the browser keeps on top and closes on Escape or a click elsewhere. */
export function WhoAmI({ who }: { who: Who }) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const { account, permissions } = who
  return (
    <>
      <button
        type="button"
        popoverTarget={id}
        className={classes.button}
        title="The account you are signed in to, and what you may do"
      >
        <span className={classes.account}>
          <Name>{account.name}</Name>
        </span>
        <span className={classes.role}>{ROLES[permissions.role].label}</span>
      </button>
      <section
        id={id}
        popover="auto"
        aria-label="Who you are and what you may do"
        className={classes.panel}
        onToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {isOpen && <AboutMe who={who} />}
      </section>
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
