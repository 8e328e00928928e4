// By which grants people enter the account, what each one gives, and which of them match the claims of a person.
import { Stack, Text, Textarea, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import type { Grant, TestedClaims } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { ROLES, type Role, SubAccountNames } from '../keys/rights.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { type Column, List } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import { Warning } from '../ui/warning.tsx'
import { type Claims, readClaims } from './entered-claims.ts'

export function GrantsSection() {
  const titleId = useId()
  const grants = useQuery(queries.grants(useClient()))
  return (
    <section aria-labelledby={titleId}>
      <Stack gap="md" mt="xl">
        <div>
          <Title order={2} size="h4" id={titleId}>
            Grants
          </Title>
          <Text size="sm" c="dimmed">
            Who may enter this account, by what the identity provider says of a person. The first grant that matches
            decides. The operator of the service changes them, in a file.
          </Text>
        </div>
        <QueryResult query={grants} what="grants" rows={2}>
          {({ grants: all }) =>
            all.length === 0 ? <Text>No grant is for this account.</Text> : <GrantList label="Grants" grants={all} />
          }
        </QueryResult>
        <ClaimsTest />
      </Stack>
    </section>
  )
}

const NO_CLAIMS = 'Enter a JSON object, or lines such as groups: support'

function ClaimsTest() {
  const titleId = useId()
  const client = useClient()
  const test = useMutation({ mutationFn: (claims: Claims) => client.testGrants({ body: { claims } }), gcTime: 0 })
  const form = useForm({
    initialValues: { text: '' },
    validate: { text: (text) => (readClaims(text) === undefined ? NO_CLAIMS : null) },
  })
  const submit = () => test.mutate(readClaims(form.values.text) ?? {})
  return (
    <section aria-labelledby={titleId}>
      <Title order={3} size="h5" id={titleId} mb={8}>
        Test these claims
      </Title>
      <form onSubmit={form.onSubmit(submit)} noValidate>
        <Stack gap="sm" maw={880} align="flex-start">
          <Textarea
            label="Claims"
            description="JSON, or a claim and its value on each line. Sent to the service, and stored nowhere"
            placeholder={'groups: support\nemail: alice@example.com\nemail_verified: true'}
            rows={4}
            w="100%"
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps('text')}
          />
          <BusyButton type="submit" variant="default" busy={test.isPending}>
            Test claims
          </BusyButton>
        </Stack>
      </form>
      {test.error !== null && <ErrorAlert error={test.error} kind="change" retry={submit} busy={test.isPending} />}
      {test.data !== undefined && <Result tested={test.data} />}
    </section>
  )
}

function Result({ tested: { isAdmitted, ignored, grants } }: { tested: TestedClaims }) {
  const matching = grants.filter(({ matches }) => matches)
  const deciding = matching.find(({ decides }) => decides)
  return (
    <Stack gap="sm" mt="md">
      {ignored.map((claim) => (
        <Warning key={claim}>{ignoredWords(claim)}</Warning>
      ))}
      <Text role="status" data-admitted={isAdmitted} fw={600}>
        {deciding === undefined
          ? 'A person with these claims cannot enter this account: no grant matches.'
          : `A person with these claims enters as ${ROLES[deciding.role as Role].label.toLowerCase()}.`}
      </Text>
      {matching.length > 0 && <GrantList label="Grants that match" grants={matching} />}
    </Stack>
  )
}

const ignoredWords = (claim: string): string =>
  claim === 'email'
    ? 'The e-mail address does not count: the provider has to say email_verified: true as well.'
    : `The claim ${claim} does not count: it is about the sign-in itself, or neither a text nor a list of texts.`

function GrantList({ label, grants }: { label: string; grants: readonly (Grant & { readonly decides?: boolean })[] }) {
  // A file may have the same grant twice.
  const items = grants.map((grant, index) => ({ ...grant, _id: String(index) }))
  return <List label={label} items={items} columns={COLUMNS} cardsBelow="48em" />
}

type Row = Grant & { readonly _id: string; readonly decides?: boolean }

const COLUMNS: readonly Column<Row>[] = [
  {
    header: 'Claim and value',
    role: 'name',
    card: 'head',
    cell: ({ claim, value, decides }) => (
      <>
        <Name>{`${claim}: ${value}`}</Name>
        {decides === false && ' (an earlier grant decides)'}
      </>
    ),
  },
  {
    header: 'Role',
    card: 'fact',
    cell: ({ role }) => <span title={ROLES[role as Role].may}>{ROLES[role as Role].label}</span>,
  },
  { header: 'Sees credentials', card: 'fact', cell: ({ reveal }) => (reveal ? 'Yes' : 'No') },
  { header: 'Sub-accounts', card: 'fact', cell: ({ subAccounts }) => <SubAccountNames ids={subAccounts} /> },
]
