// Asks before an unsaved form is left, by a link, by going back, or by closing the tab.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'

/** `unsaved`: whether something was typed that has not been sent. */
export function UnsavedChanges({ unsaved }: { unsaved: boolean }) {
  const { status, proceed, reset } = useBlocker({
    // A change within the same view, such as another filter, leaves the form where it is.
    shouldBlockFn: ({ current, next }) => unsaved && current.pathname !== next.pathname,
    enableBeforeUnload: unsaved,
    withResolver: true,
  })
  return (
    <Modal
      opened={status === 'blocked'}
      onClose={() => reset?.()}
      title="Leave without saving?"
      zIndex={300}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <Text size="sm">What you have typed is not saved.</Text>
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={reset} data-autofocus>
            Stay
          </Button>
          <Button color="red" onClick={proceed}>
            Leave
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
