// The views that are loaded when the first of them is needed, as one piece: forms, and what chooses from lists and makes chips,
// are a tenth of all the code.
import './later-styles.ts'
import { HistoryView } from './history/history-view.tsx'
import { KeysView } from './keys/keys-view.tsx'
import { LeakView } from './leaks/leak-view.tsx'
import { OperationView } from './operations/operation-view.tsx'
import { OperationsView } from './operations/operations-view.tsx'
import { PeopleView } from './people/people-view.tsx'
import { SubAccountView } from './sub-accounts/sub-account-view.tsx'
import { SubAccountsView } from './sub-accounts/sub-accounts-view.tsx'
import { TokenView } from './tokens/token-view.tsx'
import { VerifiersView } from './verifiers/verifiers-view.tsx'
import { WebhookView } from './webhooks/webhook-view.tsx'
import { WebhooksView } from './webhooks/webhooks-view.tsx'

export const laterViews = {
  HistoryView,
  KeysView,
  LeakView,
  OperationsView,
  OperationView,
  PeopleView,
  SubAccountView,
  SubAccountsView,
  TokenView,
  VerifiersView,
  WebhookView,
  WebhooksView,
}
