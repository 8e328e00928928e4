// The tokens whose credential ends as the text of the search, above those that it finds by name.
import { Box, Text, Title } from '@mantine/core'
import type { Token, TokenPage } from '../../../client/latchkey-client.ts'
import { type Column, List } from '../ui/list.tsx'

interface CredentialEndProps {
  readonly end: string
  readonly page: TokenPage
  readonly columns: readonly Column<Token>[]
}

export function CredentialEndMatches({ end, page, columns }: CredentialEndProps) {
  const { items, total } = page
  return (
    <Box component="section" mb="lg" aria-label={`By the end of the credential, ${end}`}>
      <Title order={2} size="h5" mb="xs">
        Credential ends with {end}
      </Title>
      <List label={`Tokens whose credential ends with ${end}`} items={items} columns={columns} cardsBelow="68em" />
      {total > items.length && (
        <Text size="sm" mt="xs">
          The newest {items.length} of {total}.
        </Text>
      )}
    </Box>
  )
}
