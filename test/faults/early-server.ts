// The positive control of every test that looks for lost changes: an answer that does not wait for its commit.
import { applyUpdate } from '../../src/tokens/model/update.ts'
import { serveAltered } from '../support/altered-server.ts'

await serveAltered((store) => ({
  async changeToken(accountId, id, change, origin) {
    if (change.kind !== 'update') return store.changeToken(accountId, id, change, origin)
    const row = await store.findToken(accountId, id)
    if (row === undefined) throw new Error(`no token ${id}`)
    store.changeToken(accountId, id, change, origin).catch(() => {})
    return { ...row, token: applyUpdate(row.token, change.update) }
  },
}))
