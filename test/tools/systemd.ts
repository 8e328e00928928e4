// The unit file for systemd, rated by systemd's own tool.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from './programs.ts'

const UNIT = 'deploy/systemd/latchkey.service'
/** From 0, which is safest, to 10. */
const MAX_EXPOSURE = 3

test('systemd-analyze rates the exposure of the unit at 3.0 at most, and a bare unit as worse', async () => {
  const exposureOf = async (unit: string) => {
    const { output } = await run('systemd-analyze', ['security', '--offline=true', unit], 'apt-get install systemd')
    return Number(/Overall exposure level for \S+: ([\d.]+)/.exec(output)?.[1])
  }
  assert.ok((await exposureOf(UNIT)) <= MAX_EXPOSURE)
  assert.ok((await exposureOf('test/tools/bare.service')) > MAX_EXPOSURE)
})
