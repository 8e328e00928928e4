// The order in which long questions are answered, and which are not answered at all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReaderQueue, type WaitingQuestion } from '../../src/storage/sqlite/reader-queue.ts'

interface Asked extends WaitingQuestion {
  readonly name: string
}

const ROOM = { inAll: 100, perAccount: 100 }
const asked = (name: string, isWanted = () => true): Asked => ({ name, accountId: name.slice(0, 1), isWanted })

function queueOf(names: readonly string[], limits = ROOM): ReaderQueue<Asked> {
  const queue = new ReaderQueue<Asked>(limits)
  for (const name of names) assert.ok(queue.add(asked(name)), name)
  return queue
}

/** One after the other, as a single thread would. */
function answerAll(queue: ReaderQueue<Asked>): string[] {
  const order: string[] = []
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    order.push(next.name)
    queue.done(next)
  }
  return order
}

test('accounts take turns, and the questions of one account keep their order', () => {
  const queue = queueOf(['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'])
  assert.deepEqual(answerAll(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
})

test('an account that asks again after its turn waits for those who were there before', () => {
  const queue = queueOf(['a1', 'b1', 'c1'])
  const first = queue.next()
  assert.equal(first?.name, 'a1')
  if (first !== undefined) queue.done(first)
  queue.add(asked('a2'))
  assert.deepEqual(answerAll(queue), ['b1', 'c1', 'a2'])
})

test('however many threads there are, an account has one question answered at a time', () => {
  const queue = queueOf(['a1', 'a2', 'b1'])
  const [first, second] = [queue.next(), queue.next()]
  assert.deepEqual([first?.name, second?.name, queue.next()], ['a1', 'b1', undefined])
  if (first !== undefined) queue.done(first)
  assert.equal(queue.next()?.name, 'a2')
})

test('a question that nobody waits for any more is dropped, and costs nobody a turn', () => {
  const queue = new ReaderQueue<Asked>(ROOM)
  let wanted = true
  for (const name of ['a1', 'a2', 'b1']) queue.add(asked(name, () => wanted))
  queue.add(asked('a3'))
  queue.add(asked('c1'))
  wanted = false
  assert.deepEqual(answerAll(queue), ['a3', 'c1'])
})

test('an account with a full queue is refused, and the others are not', () => {
  const queue = queueOf(['a1', 'a2'], { inAll: 10, perAccount: 2 })
  assert.equal(queue.add(asked('a3')), false)
  assert.equal(queue.add(asked('b1')), true)
  assert.deepEqual(answerAll(queue), ['a1', 'b1', 'a2'])
  assert.equal(queue.add(asked('a4')), true)
})

test('all accounts together have room for so many, and there is room again when some are answered', () => {
  const queue = queueOf(['a1', 'b1', 'c1'], { inAll: 3, perAccount: 2 })
  assert.equal(queue.add(asked('d1')), false)
  assert.equal(queue.next()?.name, 'a1')
  assert.equal(queue.add(asked('d1')), true)
})

test('what nobody waits for any more takes up no room', () => {
  const queue = new ReaderQueue<Asked>({ inAll: 3, perAccount: 2 })
  let wanted = true
  for (const name of ['a1', 'a2', 'b1']) queue.add(asked(name, () => wanted))
  wanted = false
  assert.ok(queue.add(asked('a3')))
  assert.ok(queue.add(asked('c1')))
  assert.ok(queue.add(asked('d1')))
  assert.deepEqual(answerAll(queue), ['a3', 'c1', 'd1'])
})

test('a queue that is emptied has room, and nothing to answer', () => {
  const queue = queueOf(['a1', 'b1', 'a2'], { inAll: 3, perAccount: 2 })
  const names = queue.takeAll().map(({ name }) => name)
  assert.deepEqual(names.sort(), ['a1', 'a2', 'b1'])
  assert.equal(queue.next(), undefined)
  assert.ok(queue.add(asked('a3')))
})
