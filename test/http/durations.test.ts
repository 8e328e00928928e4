// Our histograms read exactly like those of prom-client.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AggregatorRegistry, Histogram, type Metric, Registry } from 'prom-client'
import { Durations } from '../../src/http/observe/durations.ts'
import { chances } from '../support/seed.ts'

const BOUNDS = [0.001, 0.01, 0.5]
const [NAME, HELP] = ['a_duration_seconds', 'How long it took']

/** The same durations, taken by prom-client and by Durations. */
function both(durations: Readonly<Record<string, readonly number[]>>): [Registry, Registry] {
  const [theirs, ours] = [new Registry(), new Registry()]
  const histogram = new Histogram({
    name: NAME,
    help: HELP,
    labelNames: ['route', 'status'],
    buckets: BOUNDS,
    registers: [theirs],
  })
  const counted = new Durations(NAME, HELP, BOUNDS)
  ours.registerMetric(counted as unknown as Metric)
  for (const [route, list] of Object.entries(durations)) {
    const take = counted.observer({ route, status: '200' })
    histogram.zero({ route, status: '200' })
    for (const seconds of list) {
      histogram.observe({ route, status: '200' }, seconds)
      take(seconds)
    }
  }
  return [theirs, ours]
}

const chance = chances('durations')
const random = Array.from({ length: 500 }, () => chance() ** 4)
const durations = { '/on/the/bounds': [0, ...BOUNDS], '/above': [0.51, 60], '/"any"': random }

test('a scrape reads as if prom-client had counted', async () => {
  const [theirs, ours] = both(durations)
  assert.equal(await ours.metrics(), await theirs.metrics())
})

test('labels are there before the first duration, so that it is seen as an increase', async () => {
  const [theirs, ours] = both({ '/never': [] })
  assert.match(await ours.metrics(), /_count\{route="\/never",status="200"\} 0\n/)
  assert.equal(await ours.metrics(), await theirs.metrics())
})

test('those of several processes add up', async () => {
  const [theirs, ours] = both(durations)
  const [sumOfTheirs, sumOfOurs] = await Promise.all(
    [theirs, ours].map(async (registry) => {
      const snapshot = JSON.parse(JSON.stringify(await registry.getMetricsAsJSON()))
      return AggregatorRegistry.aggregate([snapshot, snapshot]).metrics()
    }),
  )
  assert.equal(sumOfOurs, sumOfTheirs)
  assert.match(sumOfOurs ?? '', /_count\{route="\/above",status="200"\} 4\n/)
})
