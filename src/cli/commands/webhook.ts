// Webhooks of an account, and what was sent to them.
import { type Command, Option } from 'commander'
import { STATUSES, type Status } from '../../tokens/model/token.ts'
import { ORDERS, type Ordering } from '../../tokens/webhooks/webhook.ts'
import { addAccount, addPaging, type OnTarget, show, showPage } from '../command.ts'
import { UsageError } from '../terminal/exit-codes.ts'
import { toRow } from '../terminal/views.ts'

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

export function addWebhookCommands(program: Command, onTarget: OnTarget): void {
  const webhook = program.command('webhook').description('webhooks: addresses to which events are sent')
  onTarget(
    addPaging(addAccount(webhook.command('list')).description('the webhooks of an account, newest first')),
    async (target, paging, output) =>
      showPage(output, await target.call('listWebhooks', { ...paging }), 'webhook', toRow),
  )
  onTarget<Fields & { url: string }>(
    addFields(
      addAccount(webhook.command('create'), 'the account whose events it gets')
        .description('create a webhook; its secret is shown only this once')
        .requiredOption('--url <url>', 'where events are sent'),
    ),
    async (target, { url, ...fields }, output) =>
      show(output, await target.call('createWebhook', { body: { ...fieldsOf(fields), url } })),
  )
  onTarget<Fields & { status?: Status }>(
    addFields(
      ofOne(webhook.command('update'))
        .description('change a webhook; what is not named stays as it is')
        .option('--url <url>', 'where events are sent')
        .option('--all-events', 'all events')
        .addOption(new Option('--status <status>', 'whether events are sent').choices(STATUSES)),
    ),
    async (target, { status, ...fields }, output, id) =>
      show(output, await target.call('patchWebhook', { id, body: { ...fieldsOf(fields), ...(status && { status }) } })),
  )
  onTarget(
    ofOne(webhook.command('delete')).description('delete a webhook, and what is known of its deliveries'),
    async (target, _options, output, id) => show(output, await target.call('deleteWebhook', { id })),
  )
  onTarget(
    ofOne(webhook.command('rotate')).description('give a webhook a new secret; the former one signs too for 24 hours'),
    async (target, _options, output, id) => show(output, await target.call('rotateWebhook', { id })),
  )
  onTarget(
    ofOne(webhook.command('test')).description('send an event of the type webhook.test, at once and once'),
    async (target, _options, output, id) => show(output, await target.call('testWebhook', { id })),
  )
  addDeliveryCommands(webhook, onTarget)
}

const ofOne = (command: Command) => command.argument('<id>', 'the webhook')

function addDeliveryCommands(webhook: Command, onTarget: OnTarget): void {
  onTarget(
    addPaging(ofOne(webhook.command('deliveries')).description('what was sent to a webhook, newest event first')),
    async (target, paging, output, id) =>
      showPage(output, await target.call('listDeliveries', { ...paging, id }), 'delivery', toRow),
  )
  onTarget(
    webhook
      .command('redeliver')
      .description('have an event sent again by the servers of the store, at once')
      .argument('<id>', 'the delivery'),
    async (target, _options, output, id) => show(output, await target.call('redeliver', ofDelivery(id))),
  )
  onTarget(
    webhook.command('skip').description('do not send an event that waits').argument('<id>', 'the delivery'),
    async (target, _options, output, id) => show(output, await target.call('skipDelivery', ofDelivery(id))),
  )
}

/** The id of a delivery begins with that of its webhook. */
function ofDelivery(deliveryId: string) {
  return { id: deliveryId.slice(0, Math.max(0, deliveryId.lastIndexOf('_'))), deliveryId }
}
