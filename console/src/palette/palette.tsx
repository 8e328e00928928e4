// The command palette: one box for every view, action, token and sub-account.
import { Combobox, Modal, Text, TextInput, useCombobox } from '@mantine/core'
import { useEffect, useState } from 'react'
import { CreateSubAccount } from '../sub-accounts/sub-account-form.tsx'
import { CreateDialog } from '../tokens/create-dialog.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { useFocusReturn } from '../ui/focus.ts'
import { Name } from '../ui/name.tsx'
import { useLast } from '../ui/use-last.ts'
import { type PaletteDialog, useCommands } from './commands.tsx'

const TITLES: Readonly<Record<PaletteDialog, string>> = {
  'create-token': 'Create a token',
  'create-sub-account': 'Create a sub-account',
}

export function Palette({ isOpen, close }: { isOpen: boolean; close: () => void }) {
  const [dialog, setDialog] = useState<PaletteDialog>()
  const { turn } = useLast(isOpen || undefined)
  const closeDialog = () => setDialog(undefined)
  return (
    <>
      <Modal
        opened={isOpen}
        onClose={close}
        {...useFocusReturn(isOpen)}
        title="Search and commands"
        closeButtonProps={{ 'aria-label': 'Close' }}
        yOffset="12vh"
      >
        <Commands key={turn} turn={turn} close={close} open={setDialog} />
      </Modal>
      <Dialog shown={dialog} titleOf={(kind) => TITLES[kind]} close={closeDialog}>
        {(kind) =>
          kind === 'create-token' ? (
            <CreateDialog subAccountId={undefined} close={closeDialog} />
          ) : (
            <CreateSubAccount close={closeDialog} />
          )
        }
      </Dialog>
    </>
  )
}

interface CommandsProps {
  readonly turn: number
  readonly close: () => void
  readonly open: (dialog: PaletteDialog) => void
}

function Commands({ turn, close, open }: CommandsProps) {
  const [typed, setTyped] = useState('')
  const combobox = useCombobox({ opened: true })
  const { commands, isSearching, nothing } = useCommands(typed, turn, open)
  const ids = commands.map(({ id }) => id).join()
  const { selectFirstOption } = combobox
  // Enter chooses the first one at once.
  // biome-ignore lint/correctness/useExhaustiveDependencies: other options begin again
  useEffect(() => void selectFirstOption(), [ids, selectFirstOption])
  const choose = (chosen: string) => {
    close()
    commands.find(({ id }) => id === chosen)?.run()
  }
  return (
    <Combobox store={combobox} onOptionSubmit={choose}>
      <Combobox.EventsTarget withExpandedAttribute>
        <TextInput
          aria-label="What to look for"
          placeholder="A view, an action, a token, a sub-account or a credential"
          data-autofocus
          autoComplete="off"
          maxLength={255}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          // A list that is always open keeps the dialog from getting it.
          onKeyDown={({ key }) => key === 'Escape' && close()}
        />
      </Combobox.EventsTarget>
      {commands.length === 0 && <Combobox.Empty>{isSearching ? 'Searching …' : nothing}</Combobox.Empty>}
      {commands.length > 0 && (
        <Combobox.Options aria-label="What is found" mah="50vh" mt={8} style={{ overflowY: 'auto' }}>
          {commands.map(({ id, name, detail }) => (
            <Combobox.Option key={id} value={id}>
              <Name>{name}</Name>
              <Text size="xs" c="dimmed" component="div">
                {detail}
              </Text>
            </Combobox.Option>
          ))}
        </Combobox.Options>
      )}
    </Combobox>
  )
}
