// Webhooks of an account, and what was sent to them.
import { type Command, Option } from 'commander'
import { STATUSES, type Status } from '../tokens/model/token.ts'
import { ORDERS, type Ordering } from '../tokens/model/webhook.ts'
import { addAccount, addPaging, type Manage, show, showPage } from './command.ts'
import { UsageError } from './management.ts'
import { toRow } from './views.ts'

interface Fields {
  readonly url?: string
  readonly event?: readonly string[]
  readonly allEvents?: boolean
  readonly order?: Ordering
}

const addFields = (command: Command) =>
  command
    .option('--event <name...>', 'only these events, such as token.update or token.*; can be repeated')
    .addOption(new Option('--order <order>', 'whether an event waits for those before it').choices(ORDERS))

function fieldsOf({ url, event, allEvents, order }: Fields) {
  if (allEvents && event !== undefined) throw new UsageError('Name --event or --all-events, not both.')
  const events = allEvents ? null : event
  return {
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events: events && [...events] }),
    ...(order !== undefined && { order }),
  }
}

export function addWebhookCommands(program: Command, manage: Manage): void {
  const webhook = program.command('webhook').description('webhooks: addresses to which events are sent')
  manage(
    addPaging(addAccount(webhook.command('list')).description('the webhooks of an account, newest first')),
    async (management, paging, output) =>
      showPage(output, await management.listWebhooks({ ...paging }), 'webhook', toRow),
  )
  manage<Fields & { url: string }>(
    addFields(
      addAccount(webhook.command('create'), 'the account whose events it gets')
        .description('create a webhook; its secret is shown only this once')
        .requiredOption('--url <url>', 'where events are sent'),
    ),
    async (management, { url, ...fields }, output) =>
      show(output, await management.createWebhook({ ...fieldsOf(fields), url })),
  )
  manage<Fields & { status?: Status }>(
    addFields(
      ofOne(webhook.command('update'))
        .description('change a webhook; what is not named stays as it is')
        .option('--url <url>', 'where events are sent')
        .option('--all-events', 'all events')
        .addOption(new Option('--status <status>', 'whether events are sent').choices(STATUSES)),
    ),
    async (management, { status, ...fields }, output, id) =>
      show(output, await management.patchWebhook(id, { ...fieldsOf(fields), ...(status && { status }) })),
  )
  manage(
    ofOne(webhook.command('delete')).description('delete a webhook, and what is known of its deliveries'),
    async (management, _options, output, id) => show(output, await management.deleteWebhook(id)),
  )
  manage(
    ofOne(webhook.command('rotate')).description('give a webhook a new secret; the former one signs too for 24 hours'),
    async (management, _options, output, id) => show(output, await management.rotateWebhook(id)),
  )
  manage(
    ofOne(webhook.command('test')).description('send an event of the type webhook.test, at once and once'),
    async (management, _options, output, id) => show(output, await management.testWebhook(id)),
  )
  addDeliveryCommands(webhook, manage)
}

const ofOne = (command: Command) => command.argument('<id>', 'the webhook')

function addDeliveryCommands(webhook: Command, manage: Manage): void {
  manage(
    addPaging(ofOne(webhook.command('deliveries')).description('what was sent to a webhook, newest event first')),
    async (management, paging, output, id) =>
      showPage(output, await management.listDeliveries(id, { ...paging }), 'delivery', toRow),
  )
  manage(
    webhook
      .command('redeliver')
      .description('have an event sent again by the servers of the store, at once')
      .argument('<id>', 'the delivery'),
    async (management, _options, output, id) => show(output, await management.redeliver(webhookOf(id), id)),
  )
  manage(
    webhook.command('skip').description('do not send an event that waits').argument('<id>', 'the delivery'),
    async (management, _options, output, id) => show(output, await management.skipDelivery(webhookOf(id), id)),
  )
}

/** The id of a delivery begins with that of its webhook. */
const webhookOf = (deliveryId: string) => deliveryId.slice(0, Math.max(0, deliveryId.lastIndexOf('_')))
