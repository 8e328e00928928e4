import { test } from 'node:test'
import { explore, requireNothingWrong, withCrash, withRestore } from '../support/orders.ts'
import { REAL, RealStore } from './journal-orders.ts'

for (const [what, limits, atLeast] of [
  ['three events with a restore', { ...REAL, events: 3, wants: withRestore }, 140],
  ['two events with a crash', { ...REAL, events: 2, wants: withCrash }, 700],
] as const) {
  test(`after every sequence of up to ${what}, the store accepts exactly what the last changes left`, async (t) => {
    const store = new RealStore()
    try {
      const found = await explore(store, await store.start(), limits)
      t.diagnostic(`${found.sequences} sequences`)
      requireNothingWrong(found, atLeast)
    } finally {
      store.dispose()
    }
  })
}
