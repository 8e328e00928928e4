// What a change makes out of date is read again after it, whenever the change comes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { invalidate } from '../../console/src/api/queries.ts'

/** A list of tokens on screen, each read of which is answered when the test says so. */
function shownTokens(cache: QueryClient) {
  const reads: PromiseWithResolvers<string>[] = []
  const observer = new QueryObserver(cache, {
    queryKey: ['tokens', 'list', {}],
    queryFn: () => {
      const read = Promise.withResolvers<string>()
      reads.push(read)
      return read.promise
    },
  })
  const stop = observer.subscribe(() => undefined)
  const isShown = (expected: string) =>
    new Promise<void>((resolve) => {
      const look = () => observer.getCurrentResult().data === expected && resolve()
      observer.subscribe(look)
      look()
    })
  return { reads, stop, isShown, isFetching: () => observer.getCurrentResult().isFetching }
}

test('a change during a read is followed by another read, also where it is the first one of its kind', async () => {
  const cache = new QueryClient()
  cache.mount()
  const { reads, isShown, isFetching } = shownTokens(cache)
  assert.equal(reads.length, 1)
  invalidate(cache, 'token')
  assert.equal(reads.length, 2, 'the first read, which may have been answered before the change, is not the last')
  reads[0]?.resolve('before the change')
  reads[1]?.resolve('after the change')
  await isShown('after the change')

  invalidate(cache, 'token')
  invalidate(cache, 'token')
  assert.equal(reads.length, 4, 'nor is a later one')
  reads[2]?.resolve('before the second change')
  reads[3]?.resolve('after the second change')
  await isShown('after the second change')
  assert.ok(!isFetching())
  cache.clear()
  cache.unmount()
})
