// Backup of the embedded store into one file, and restore.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { acceptLoss, backUp, openLatchkey, type RestoreOptions, requireEmbeddedStore, restore } from '../../compose.ts'
import { type Config, readProcessConfig } from '../../config.ts'
import { nameSome, OperatorError } from '../../tokens/model/errors.ts'
import type { Manifest } from '../../tokens/upkeep/backup.ts'
import { findSealedWithOthers } from '../../tokens/upkeep/examination.ts'
import type { Revocations } from '../../tokens/upkeep/ports.ts'
import { JSON_OPTION } from '../command.ts'
import { Output, type Streams } from '../terminal/output.ts'
import { showBytes } from '../terminal/progress.ts'

const NO_FILE =
  'Name the backup to restore: latchkey restore FILE [--replace]. To accept instead that revocations of the present store are ' +
  'lost: latchkey restore --accept-revocation-loss'

type Options = Partial<RestoreOptions> & { readonly json?: boolean }

export function addBackupCommands(program: Command, streams: Streams): void {
  program
    .command('backup')
    .description('write the embedded store into one new file, while it is in use')
    .argument('<file>', 'a file that does not exist yet')
    .option(...JSON_OPTION)
    .action((file: string, { json }: { json?: boolean }) =>
      makeBackup(readProcessConfig(), resolve(file), new Output(streams, json === true)),
    )
  program
    .command('restore')
    .description('replace the embedded store, which must be stopped, by a backup, and replay revocations')
    .argument('[file]', 'a file that `latchkey backup` wrote; without it, only accept the loss for the present store')
    .option('--replace', 'move an existing store aside')
    .option(
      '--accept-revocation-loss',
      'continue without an intact revocation journal, or on a restored PostgreSQL: revoked tokens may become active again',
    )
    .option(...JSON_OPTION)
    .action((file: string | undefined, options: Options) =>
      restoreStore(readProcessConfig(), file, options, new Output(streams, options.json === true)),
    )
}

async function makeBackup(config: Config, file: string, output: Output): Promise<void> {
  const started = performance.now()
  const manifest = await showBytes(output, 'Backing up', (onBytes) => backUp(config, file, onBytes))
  const seconds = secondsSince(started)
  const title = `${file}: ${describe(manifest)}, in ${seconds} s. The master key is not in it.`
  output.result({ file, seconds, ...manifest }, { title })
}

async function restoreStore(
  config: Config,
  file: string | undefined,
  { replace = false, acceptRevocationLoss = false }: Options,
  output: Output,
): Promise<void> {
  if (file === undefined && !acceptRevocationLoss) throw new OperatorError(NO_FILE)
  const { databaseUrl } = config
  if (file === undefined && databaseUrl !== undefined) return acceptOnPostgres({ ...config, databaseUrl }, output)
  if (file === undefined) requireEmbeddedStore(config)
  const started = performance.now()
  const restored =
    file === undefined
      ? undefined
      : await showBytes(output, 'Restoring', (onBytes) =>
          restore(config, resolve(file), { replace, acceptRevocationLoss }, onBytes),
        )
  const latchkey = await openLatchkey(config, { acceptRevocationLoss })
  const { store, revocations, replayed, verifiers } = latchkey
  const examine = async () => {
    const [obstacle = null, unreadable] = await Promise.all([
      revocations.findObstacle(),
      replayed === 0 ? [] : findSealedWithOthers(latchkey),
    ])
    const isOpen = restored !== undefined && obstacle === null
    if (isOpen) await verifiers.confirmation.untilRunOut((ms) => sayWaiting(ms, output))
    return { obstacle, unreadable }
  }
  const { obstacle, unreadable } = await examine().finally(() => store.close())
  const seconds = secondsSince(started)
  const { manifest = null, movedAside = null } = restored ?? {}
  const sentences = [
    ...(manifest === null ? [] : [`Restored ${describe(manifest)}, as of ${manifest.madeAt}, in ${seconds} s.`]),
    ...(movedAside === null ? [] : [`The previous store is now ${movedAside}.`]),
    `${replayed} revocations were replayed from the journal.`,
    ...(unreadable.length === 0 ? [] : [unreadableMessage(unreadable)]),
  ]
  output.result({ seconds, replayed, obstacle, unreadable, movedAside, manifest }, { title: sentences.join(' ') })
  if (obstacle !== null) throw new OperatorError(obstacleMessage(obstacle, revocations))
}

/** Once the command is over, nobody decides by what was before. If it is ended before that, changes wait for as long. */
function sayWaiting(ms: number, output: Output): void {
  output.stderr(
    `Waiting ${Math.ceil(ms / 1000)} s, until no verifier can decide by what it remembers of the previous store.`,
  )
}

async function acceptOnPostgres(config: Config & { databaseUrl: string }, output: Output): Promise<void> {
  const accepted = await acceptLoss(config)
  const { found, dataFrom, knownUntil, endedSessions } = accepted
  const sentences = [
    found === null ? 'Nothing shows that the database was restored.' : `Accepted: ${found}.`,
    dataFrom === null ? 'No instance had used the data before.' : `The data are those of ${dataFrom}.`,
    ...(knownUntil === null ? [] : [`Changes are known to have been made until ${knownUntil}.`]),
    ...(found === null
      ? []
      : ['What was revoked in between is active again: revoke it before you start the instances.']),
    `${endedSessions} sessions of people were ended, and those of the portal.`,
    'Changes wait for verifiers that may hold a lease, for a minute after the first instance has started.',
  ]
  output.result(accepted, { title: sentences.join(' ') })
}

function unreadableMessage(ids: readonly string[]): string {
  return (
    `${ids.length} credential(s) made since the backup are sealed with a later master key, which was not given: they are ` +
    'accepted, but cannot be shown. Set LATCHKEY_MASTER_KEY to that key and LATCHKEY_PREVIOUS_MASTER_KEY to the one of the ' +
    `backup, or rotate these tokens again: ${nameSome(ids)}.`
  )
}

/** What to do about a store that refuses all requests. */
export function obstacleMessage(obstacle: string, { remedy }: Pick<Revocations, 'remedy'>): string {
  return (
    `A server that starts now refuses all requests: ${obstacle}, so tokens that were revoked since the backup would be ` +
    `active again. ${remedy}, or accept that with \`latchkey restore --accept-revocation-loss\`.`
  )
}

function describe({ counts, databaseBytes }: Manifest): string {
  const tokens = (counts.activeTokens ?? 0) + (counts.inactiveTokens ?? 0)
  return `${counts.accounts} accounts and ${tokens} tokens in ${Math.ceil(databaseBytes / 1e6)} MB`
}

function secondsSince(started: number): number {
  return Math.round(performance.now() - started) / 1000
}
