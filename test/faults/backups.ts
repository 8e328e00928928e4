// Backups made under load and put back elsewhere: they hold what had been answered, revive nobody, and are whole or not
// there at all, whenever the process that makes or restores one is killed.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Latchkey } from '../../src/compose.ts'
import type { Cli, Process } from '../support/cli.ts'
import { BackedUp, opened } from '../support/restored.ts'
import { chances } from '../support/seed.ts'
import { makeTargets, type Targets } from '../support/targets.ts'
import { inspect } from './inspect.ts'
import { Ledger, writeAtOnce } from './ledger.ts'
import { record } from './report.ts'

const TOKENS = 200
const WRITERS = 8

const accepts = async ({ registry }: Latchkey, credential: string) =>
  (await registry.verification.verify(credential)).accepted

/** What each token was last known to be at: it may have come further, and never falls back. */
function versionsIn(ledger: Ledger, { tokens }: Targets): ReadonlyMap<string, number> {
  const known = tokens.map(({ id }) => [id, ledger.known(id)] as const)
  return new Map(known.flatMap(([id, state]) => (typeof state === 'object' ? [[id, state.version] as const] : [])))
}

function countMissing(
  folder: Cli,
  wanted: ReadonlyMap<string, number>,
): { missing: number; problems: readonly string[] } {
  const { tokens, problems } = inspect(folder.dataDir)
  // By its name: of what was switched off and on since, the journal has brought the version too.
  const stored = new Map(tokens.map(({ id, name }) => [id, Number(/^N(\d+) of /.exec(name)?.[1] ?? 1)]))
  return { missing: [...wanted].filter(([id, version]) => (stored.get(id) ?? 0) < version).length, problems }
}

async function restoreElsewhere(world: BackedUp, file: string): Promise<Cli> {
  const folder = world.emptyFolder()
  const ran = await folder.run('restore', file, '--json')
  assert.equal(ran.code, 0, ran.stderr)
  return folder
}

async function backUpUnderLoad(rounds: number) {
  const world = new BackedUp()
  try {
    const targets = await world.living((it) => makeTargets(it, TOKENS))
    const ledger = new Ledger(targets)
    const server = world.cli.spawn(['serve'], { PORT: '0', LOG_LEVEL: 'fatal' })
    const url = await server.ready()
    let going = true
    const chance = chances('backups')
    const start = performance.now()
    const writing = writeAtOnce(WRITERS, { url, targets, ledger, chance, makes: false }, () => going)
    const backups: { file: string; before: ReadonlyMap<string, number> }[] = []
    for (let round = 0; round < rounds; round++) {
      const file = world.temporaryFile(`${round}.lkb`)
      backups.push({ file, before: versionsIn(ledger, targets) })
      const made = world.cli.spawn(['backup', file])
      assert.equal(await made.exited, 0, made.stderr)
    }
    const afterwards = ledger.counts.acknowledged + WRITERS
    while (ledger.counts.acknowledged < afterwards) await pause(5)
    going = false
    await writing
    const perSecond = Math.round(ledger.counts.acknowledged / ((performance.now() - start) / 1000))
    server.kill('SIGTERM')
    await server.exited
    const found = { acknowledged: ledger.counts.acknowledged, perSecond, missing: 0, unopened: 0, later: 0 }
    for (const { file, before } of backups) {
      const folder = await restoreElsewhere(world, file)
      const { missing, problems } = countMissing(folder, before)
      assert.deepEqual(problems, [])
      found.missing += missing
      found.later += countMissing(folder, versionsIn(ledger, targets)).missing
      await opened(folder.dataDir, async ({ registry, operator }) => {
        for (const { id, credential } of targets.tokens) {
          const token = await registry.getToken(operator.actFor(targets.accountId), id)
          if (token.credential !== credential) found.unopened++
        }
      })
      folder.dispose()
    }
    return found
  } finally {
    world.dispose()
  }
}

export function describeBackups(rounds: number): void {
  test(`${rounds} backups under load hold all that was answered before, and every credential opens`, async (t) => {
    const found = await backUpUnderLoad(rounds)
    assert.equal(found.missing, 0)
    assert.equal(found.unopened, 0)
    assert.ok(found.later > 0)
    record(t, {
      promise: 'A backup holds all that was answered before it began, and opens with the master key',
      fault: 'backup under load',
      how: `${WRITERS} writers while \`latchkey backup\` runs; each backup restored into an empty folder, its files checked, every credential opened`,
      count: `${rounds} backups, ${found.acknowledged} acknowledged changes (${found.perSecond} a second)`,
      figure: `${rounds} of ${rounds} whole; 0 changes missing, ${rounds * TOKENS} of ${rounds * TOKENS} credentials opened`,
      control: `held against what was answered by the end: ${found.later} changes missing`,
    })
  })
}

export function describeRevocations(count: number): void {
  test(`${count} tokens switched off after the backup: none authenticates after a restore`, async (t) => {
    const world = new BackedUp()
    try {
      const targets = await world.living((it) => makeTargets(it, count))
      await world.backUp()
      await world.living(async (it) => {
        const caller = it.operator.actFor(targets.accountId)
        const switchOff = ({ id }: { id: string }) =>
          it.registry.updateToken(caller, id, { status: 'inactive' }, it.operator.origin())
        await Promise.all(targets.tokens.map(switchOff))
      })
      const countLive = (folder: Cli) =>
        opened(folder.dataDir, async (it) => {
          let live = 0
          for (const { credential } of targets.tokens) if (await accepts(it, credential)) live++
          return live
        })
      const folder = await restoreElsewhere(world, world.file)
      assert.equal(await countLive(folder), 0)
      const without = world.emptyFolder('/nowhere')
      assert.equal((await without.run('restore', world.file)).code, 1)
      await assert.rejects(countLive(without), { code: 'revocations-unknown' })
      assert.equal((await without.run('restore', '--accept-revocation-loss')).code, 0)
      const revived = await countLive(without)
      assert.equal(revived, count)
      record(t, {
        promise: 'A restore revives nothing that was revoked',
        fault: 'restore of an older backup',
        how: 'tokens switched off after the backup; restored into an empty folder with the revocation journal, and without it',
        count: `${count} tokens`,
        figure: `0 of ${count} authenticate; without the journal 0 of ${count} until the operator accepts the loss`,
        control: `the loss accepted: ${revived} of ${count} revived`,
      })
    } finally {
      world.dispose()
    }
  })
}

async function killWithin(started: Process, ms: number): Promise<void> {
  await Promise.race([pause(ms), started.exited])
  started.kill('SIGKILL')
  await started.exited
}

/** In parts of the time that it takes. The first is killed before it has done anything. */
const momentOf = (kill: number, chance: () => number) => (kill === 0 ? 0 : chance() * 1.2)

async function timeOf(started: Process): Promise<number> {
  const start = performance.now()
  assert.equal(await started.exited, 0, started.stderr)
  return performance.now() - start
}

export function describeKilledRestores(kills: number): void {
  test(`${kills} times kill -9 of a backup and of a restore: the old or the new, never between`, async (t) => {
    const world = new BackedUp()
    const chance = chances('killed restores')
    const outcomes = { unmade: 0, made: 0, old: 0, restored: 0 }
    try {
      const targets = await world.living((it) => makeTargets(it, 1_000))
      const length = await timeOf(world.cli.spawn(['backup', world.file]))
      for (let kill = 0; kill < kills; kill++) {
        const file = world.temporaryFile('b.lkb')
        await killWithin(world.cli.spawn(['backup', file]), momentOf(kill, chance) * length)
        if (!existsSync(file)) outcomes.unmade++
        else {
          outcomes.made++
          ;(await restoreElsewhere(world, file)).dispose()
        }
      }
      const folder = await restoreElsewhere(world, world.file)
      const off = targets.tokens[0] ?? { id: '', credential: '' }
      await folder.run('token', 'disable', off.id)
      const restoring = await timeOf(folder.spawn(['restore', world.file, '--replace']))
      for (let kill = 0; kill < kills; kill++) {
        // Only the old store has it.
        const { code, stderr } = await folder.run('account', 'create', '--name', `Mark ${kill}`)
        assert.equal(code, 0, stderr)
        await killWithin(folder.spawn(['restore', world.file, '--replace']), momentOf(kill, chance) * restoring)
        assert.deepEqual(inspect(folder.dataDir).problems, [])
        await opened(folder.dataDir, async (it) => {
          const accounts = await it.operator.listAccounts()
          const marked = accounts.some(({ name }) => name === `Mark ${kill}`)
          assert.ok(marked || accounts.length === 1)
          outcomes[marked ? 'old' : 'restored']++
          assert.equal(await accepts(it, off.credential), false)
          assert.equal(await accepts(it, targets.tokens[1]?.credential ?? ''), true)
        })
      }
      folder.dispose()
      const { unmade, made, old, restored } = outcomes
      assert.ok(unmade > 0 && old > 0)
      record(t, {
        promise: 'A backup and a restore are whole, or have not happened',
        fault: 'kill -9 of a backup, and of a restore',
        how: 'killed at any moment of the time that they take; a backup that is there is restored, a store that is there is checked, and a token revoked since stays so',
        count: `${kills} backups (${made} were made), ${kills} restores (${restored} were done)`,
        figure: `0 half made, 0 half done, 0 revived`,
        control: `${unmade} backups and ${old} restores were cut off before they had happened`,
      })
    } finally {
      world.dispose()
    }
  })
}
