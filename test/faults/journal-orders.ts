// The long form of test/storage/journal-orders.test.ts.
import { test } from 'node:test'
import { REAL, RealStore } from '../storage/journal-orders.ts'
import { explore, requireNothingWrong, withCrash, withRestore } from '../support/orders.ts'
import { record } from './report.ts'

test('after every sequence of up to four events, the store accepts exactly what the last changes left', async (t) => {
  const store = new RealStore()
  try {
    const root = await store.start()
    const restored = await explore(store, root, { ...REAL, events: 4, wants: withRestore })
    requireNothingWrong(restored, 3_000)
    const crashed = await explore(store, root, { ...REAL, events: 3, wants: withCrash })
    requireNothingWrong(crashed, 10_000)
    record(t, {
      promise: 'What was switched off stays off, whatever is restored',
      fault: 'every order of changes, crashes, copies, backups and restores',
      how: 'changes of each kind to two tokens and their sub-account, killed without its line in the journal or with half of it, clean stops, copies of the file put back, backups restored; compared with a model',
      count: `${restored.sequences} sequences of up to four events with a restore, ${crashed.sequences} of up to three with a crash`,
      figure: `0 accept anything else than the last changes left; ${restored.refused} refuse, all where half a line follows others and a copy is put back before a start`,
      control:
        'the deciding part with the former rule, in test/tokens/journal-orders.test.ts: a token is accepted again',
    })
  } finally {
    store.dispose()
  }
})
