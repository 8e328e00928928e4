// Work of one account at a time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turns } from '../../src/tokens/usage/turns.ts'

/** Work that ends when the test says so. */
function held() {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const work = () => {
    begin()
    return ended
  }
  return { begun, work, end: resolve, fail: reject }
}

test('an account has one piece of work at a time, in the order of arrival, whatever becomes of each; others do not wait', async () => {
  const turns = new Turns(10)
  const order: string[] = []
  const note = (name: string) => async () => void order.push(name)
  const [first, other] = [held(), held()]
  const failing = turns.take('acc_1', 1, first.work)
  const second = turns.take('acc_1', 1, note('second'))
  const third = turns.take('acc_1', 1, note('third'))
  const elsewhere = turns.take('acc_2', 1, other.work)
  await Promise.all([first.begun, other.begun])
  assert.deepEqual(order, [])
  first.fail(new Error('lost'))
  await assert.rejects(failing, /lost/)
  await Promise.all([second, third])
  assert.deepEqual(order, ['second', 'third'])
  other.end()
  await elsewhere
})

test('more than may wait is refused, also while others go on, and not once there is room again', async () => {
  const turns = new Turns(10)
  const first = held()
  const running = turns.take('acc_1', 6, first.work)
  await first.begun
  await assert.rejects(turns.take('acc_1', 5, first.work), { code: 'unavailable' })
  const fits = turns.take('acc_1', 4, async () => {})
  await turns.take('acc_2', 50, async () => {})
  first.end()
  await Promise.all([running, fits])
  await turns.take('acc_1', 50, async () => {})
})
