// The day a credential leaks: a text is searched for credentials of the account, and what it has of them is switched off together. The text is
// in the memory of this view and nowhere else, until its credentials are switched off.
import { Button, Group, Progress, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Empty } from '../ui/empty-page.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { keepFocusOnRemoval } from '../ui/focus.ts'
import { plural } from '../ui/format.ts'
import { List } from '../ui/list.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { Warning } from '../ui/warning.tsx'
import { leakColumns } from './leak-columns.tsx'
import { takePasted } from './pasted-text.ts'
import { type Searched, searchText } from './search-text.ts'
import { type Ended, isOn, SwitchOffDialog } from './switch-off-dialog.tsx'
import { TextForm } from './text-form.tsx'
import { UndoButton } from './undo-button.tsx'

const TITLE = 'Leaked credentials'

export function LeakView() {
  const whoami = useQuery(queries.whoami(useClient()))
  const { change } = usePermissions()
  return (
    <>
      <ViewTitle title={TITLE} />
      {whoami.data === undefined || change ? (
        <LeakSearch />
      ) : (
        <Empty title="You may not switch tokens off" description="Only owners and managers can do this." />
      )}
    </>
  )
}

function LeakSearch() {
  const [blob, setBlob] = useState<Blob | undefined>(() => {
    const pasted = takePasted()
    return pasted === undefined ? undefined : new Blob([pasted])
  })
  const [ended, setEnded] = useState<readonly Ended[]>()
  const [isAsking, setAsking] = useState(false)
  const search = useSearch(blob)
  const found = search.data?.found ?? []
  const on = found.filter(isOn)
  const startAgain = () => {
    setBlob(undefined)
    setEnded(undefined)
    search.reset()
  }
  if (blob === undefined && ended === undefined) return <TextForm onText={setBlob} />
  return (
    <Stack gap="md">
      {search.isPending && <Searching share={search.share} />}
      {search.error !== null && (
        <ErrorAlert error={search.error} kind="change" retry={search.run} busy={search.isPending} />
      )}
      {search.data !== undefined && <Found searched={search.data} ended={ended} />}
      <Group gap="sm">
        {on.length > 0 && ended === undefined && (
          <Button ref={keepFocusOnRemoval} color="red" onClick={() => setAsking(true)}>
            Switch off {plural(on.length, 'token')}…
          </Button>
        )}
        {ended !== undefined && <UndoButton ended={ended} />}
        <Button ref={keepFocusOnRemoval} variant="default" onClick={startAgain}>
          {search.isPending ? 'Stop' : 'Search another text'}
        </Button>
      </Group>
      <Dialog
        shown={isAsking && blob !== undefined ? { blob, on } : undefined}
        titleOf={({ on: tokens }) => `Switch off ${plural(tokens.length, 'token')}?`}
        close={() => setAsking(false)}
      >
        {(shown) => (
          <SwitchOffDialog
            text={shown.blob}
            tokens={shown.on}
            onDone={(tokens) => {
              setEnded(tokens)
              setBlob(undefined)
              setAsking(false)
            }}
          />
        )}
      </Dialog>
    </Stack>
  )
}

/** A dry run as soon as there is a text. Not a query: what asked must not stay in the cache. */
function useSearch(blob: Blob | undefined) {
  const client = useClient()
  const [share, setShare] = useState(0)
  const stop = useRef<AbortController>(undefined)
  const { mutate, ...search } = useMutation({
    mutationFn: (text: Blob): Promise<Searched> => {
      stop.current?.abort()
      stop.current = new AbortController()
      return searchText(client, { text, dryRun: true, signal: stop.current.signal, onProgress: setShare })
    },
    gcTime: 0,
  })
  useEffect(() => {
    if (blob !== undefined) mutate(blob)
  }, [blob, mutate])
  useEffect(() => () => stop.current?.abort(), [])
  return {
    ...search,
    share,
    run: () => blob && mutate(blob),
    reset() {
      stop.current?.abort()
      search.reset()
    },
  }
}

function Searching({ share }: { share: number }) {
  const percent = Math.round(share * 100)
  return (
    <>
      <Progress value={percent} aria-label="Searched" size="lg" />
      <Text size="sm" role="status">
        Searching … {percent > 0 && `${percent}%`}
      </Text>
    </>
  )
}

function Found({ searched, ended }: { searched: Searched; ended: readonly Ended[] | undefined }) {
  const { found, hasKey } = searched
  return (
    <>
      {found.length === 0 ? (
        <Empty
          title="No credential of this account stands in it"
          description="Those of other accounts are not looked for. What is compressed or encrypted must be unpacked first."
        />
      ) : (
        <>
          <Title order={2} size="h4" role="status">
            {ended ? `${plural(ended.length, 'token')} switched off` : summaryOf(searched)}
          </Title>
          {ended && (
            <Text size="sm">
              Their credentials are refused from now on, and the text is no longer held here. The history says “leaked”
              as the reason.
            </Text>
          )}
          <List label="Tokens in the text" items={found} columns={leakColumns(ended)} cardsBelow="48em" />
        </>
      )}
      {hasKey && (
        <Warning>
          It also has what looks like an account key. Keys are not switched off here: revoke it under{' '}
          <Link to="/keys" style={{ textDecoration: 'underline' }}>
            Keys
          </Link>
          .
        </Warning>
      )}
    </>
  )
}

function summaryOf({ found }: Searched): string {
  const working = found.filter(({ wasActive }) => wasActive).length
  const all = `Credentials of ${plural(found.length, 'token')}`
  if (working === 0) return `${all}: none of them opens anything now`
  if (working === found.length) return `${all}, which ${working === 1 ? 'works' : 'all work'} now`
  return `${all}: ${working} of them ${working === 1 ? 'works' : 'work'} now`
}
